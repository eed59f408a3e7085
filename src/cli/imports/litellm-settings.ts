import type { ForeignSection } from './foreign-section.ts';
import type { KeyVariables } from './key-variables.ts';

const strategies: Readonly<Record<string, string>> = {
  'simple-shuffle': 'weighted',
  'least-busy': 'least-busy',
  'latency-based-routing': 'latency',
  'cost-based-routing': 'price',
};

const callbackReason = 'use telemetry.otlp_endpoint, GET /metrics and the log';
const cacheReason = 'there is no cache of responses';

/** Why settings are not carried. */
const reasons: Readonly<Record<string, string>> = {
  success_callback: callbackReason,
  failure_callback: callbackReason,
  callbacks: callbackReason,
  service_callbacks: callbackReason,
  callback_settings: callbackReason,
  cache: cacheReason,
  cache_params: cacheReason,
  cache_responses: cacheReason,
  redis_host: 'set counters.url, so that hosts share counters',
  redis_port: 'set counters.url, so that hosts share counters',
  redis_password: 'set counters.url, so that hosts share counters',
  redis_url: 'set counters.url, so that hosts share counters',
  database_url: 'set storage.url to a database of its own',
  content_policy_fallbacks: 'a refused request goes to the next model of `models` in the request',
  allowed_fails: 'health decides; see routing',
  allowed_fails_policy: 'health decides; see routing',
  cooldown_time: 'health decides; see routing.outage_ms',
  disable_cooldowns: 'health decides; see routing',
  retry_policy: 'retry applies to all kinds of failures',
  completion_model: 'set default_text_model of the workspace',
  alerting: 'alert on the log or the metrics',
  alerting_threshold: 'alert on the log or the metrics',
  set_verbose: 'set log.level',
  guardrails: 'add content filters to bootstrap.guardrails',
  default_key_generate_params: 'keys are created with headgate keys create',
  upperbound_key_generate_params: 'keys are created with headgate keys create',
  pass_through_endpoints: 'there are none',
};

/** Settings whose behavior the gateway always has. */
const always: Readonly<Record<string, string>> = {
  drop_params: 'is always on: unsupported fields are left out and named in X-Router-Dropped-Fields',
  enable_pre_call_checks: 'is always on: an endpoint whose context is too small is left out',
  store_model_in_db: 'is not needed: models are in the file',
};

/** The foreign sections that have settings of the whole server. */
export interface SettingSections {
  router: ForeignSection;
  litellm: ForeignSection;
  general: ForeignSection;
}

/** Reads settings of the whole server, except fallbacks and aliases. @returns sections of the new configuration */
export function importSettings(
  { router, litellm, general }: SettingSections,
  keys: KeyVariables,
): Record<string, unknown> {
  const strategy = router.takeText('routing_strategy') ?? 'simple-shuffle';
  const ours = strategies[strategy];
  if (ours === undefined) router.drop('routing_strategy', `there is no ${strategy}; weighted is used`);
  const [ownRetries, sharedRetries] = [router.takeNumber('num_retries'), litellm.takeNumber('num_retries')];
  const retries = ownRetries ?? sharedRetries;
  const [ownTimeout, sharedTimeout] = [router.takeNumber('timeout'), litellm.takeNumber('request_timeout')];
  const seconds = ownTimeout ?? sharedTimeout;
  const budgets = readBudgets(litellm);
  const master = general.takeText('master_key');
  const masterKey = master && keys.refer(master, 'LITELLM_MASTER_KEY', general.place('master_key'));
  // choice 638
  if (masterKey) {
    general.change(
      'master_key',
      'calls models as before, but cannot administer the gateway; create a key for that with headgate keys create --management',
    );
  }
  const logsJson = litellm.takeFlag('json_logs');
  for (const section of [router, litellm, general]) {
    for (const name of section.names) {
      if (!Object.hasOwn(always, name)) continue;
      section.take(name);
      section.change(name, always[name]!);
    }
    section.finish(reasons);
  }
  return {
    ...(logsJson && { log: { format: 'json' } }),
    ...(seconds && { timeouts: { total_ms: Math.round(seconds * 1000) } }),
    ...(retries !== undefined && { retry: { attempts: Math.min(Math.floor(retries) + 1, MAX_ATTEMPTS) } }),
    routing: { strategy: ours ?? 'weighted' },
    ...(budgets && { budgets }),
    ...(masterKey && {
      bootstrap: {
        workspaces: [{ name: WORKSPACE }],
        keys: [{ key: masterKey, name: 'litellm-master', workspace: WORKSPACE, acts_as: 'organization' }],
      },
    }),
  };
}

/** The workspace of keys without a team. */
export const WORKSPACE = 'main';
const MAX_ATTEMPTS = 10;

function readBudgets(section: ForeignSection): Record<string, unknown> | undefined {
  const read = (amount: string, duration: string): Record<string, number> | undefined => {
    const usd = section.takeNumber(amount);
    const length = section.takeText(duration);
    if (usd === undefined) return undefined;
    const window = findWindow(length);
    if (window !== undefined) return { [window]: usd };
    section.drop(amount, `there is no window of ${length}; the windows are 1d, 7d, 30d and none`);
    return undefined;
  };
  const organization = read('max_budget', 'budget_duration');
  const member = read('max_internal_user_budget', 'internal_user_budget_duration');
  return organization || member ? { ...(organization && { organization }), ...(member && { member }) } : undefined;
}

/** Returns the window of a duration such as `30d`. Undefined if there is none of that length. */
export function findWindow(duration: string | undefined): 'daily' | 'weekly' | 'monthly' | 'lifetime' | undefined {
  switch (duration) {
    case undefined:
      return 'lifetime';
    case '1d':
    case '24h':
      return 'daily';
    case '7d':
      return 'weekly';
    case '30d':
    case '31d':
    case '1mo':
      return 'monthly';
    default:
      return undefined;
  }
}
