import { isIP } from 'node:net';
import { MAX_PHRASE_BYTES } from '../domain/content-filter.ts';
import { encodeUserinfo } from '../domain/encode-userinfo.ts';
import { listUrls } from '../domain/list-urls.ts';
import { MAX_USD_PER_PIECE, MAX_USD_PER_TOKEN } from '../domain/endpoint.ts';
import { findFusionSlug } from '../domain/fusion.ts';
import { rateLimitNames } from '../domain/rate-limits.ts';
import { readEntry } from '../platform/outbound/rules.ts';
import type { Problem } from './interpolate.ts';
import { formatPath, type Path } from './path.ts';
import type { BootstrapConfig, Config, McpConfig, ModelConfig, ProviderConfig } from './schema.ts';

/** A problem that involves several values. */
export interface RelationProblem extends Problem {
  /** Other values it depends on. If one of them is invalid, this problem may not exist. */
  dependsOn?: readonly Path[];
}

/** Checks what the schema cannot express: names that must exist or be unique, and rules between two keys. */
export function checkRelations(config: Config): RelationProblem[] {
  return [
    ...checkProviders(config.providers),
    ...checkBootstrap(config.bootstrap),
    ...checkStorage(config.storage.url),
    ...listUrls(config.counters.url).flatMap((url) => checkServerUrl(url, ['counters', 'url'])),
    ...checkFileUrl(config.files.url, ['files', 'url']),
    ...checkModels(config),
    ...checkBudgets(config.budgets),
    ...checkTagBudgets(config),
    ...checkUnpriced(config.limits.unpriced_models),
    ...findDuplicates(config.alerts.webhooks, ({ id }) => id, ['alerts', 'webhooks'], 'id'),
    ...checkHosts(config.outbound),
    ...checkMcp(config.mcp),
    ...checkRuntime(config.interns),
    ...checkPodEgress(config.tools.sandbox.kubernetes.egress),
    ...checkMasterKeys(config.secrets),
    ...checkPhrases(config.guardrails.injection_allowlist),
    ...checkContents(config.io_logging),
  ];
}

/** A longer window needs a higher limit, or it has no effect. @see docs/reference/management.md#budgets */
function checkBudgets({ organization, member, tags }: Config['budgets']): RelationProblem[] {
  return [
    ...checkWindows(organization, ['budgets', 'organization']),
    ...checkWindows(member, ['budgets', 'member']),
    ...tags.flatMap((own, at) => checkWindows(own, ['budgets', 'tags', at])),
  ];
}

function checkWindows(own: Config['budgets']['member'], path: Path): RelationProblem[] {
  const windows = (['lifetime', 'monthly', 'weekly', 'daily'] as const).filter((window) => own[window] !== undefined);
  return windows.slice(1).flatMap((window, at) => {
    const broader = windows[at]!;
    if (own[window]! < own[broader]!) return [];
    const message = `must be below ${broader}, which is ${own[broader]}`;
    return [{ path: [...path, window], message, dependsOn: [[...path, broader]] }];
  });
}

function checkTagBudgets({ budgets, tags }: Config): RelationProblem[] {
  const unknown = budgets.tags.flatMap(({ tag }, at): RelationProblem[] => {
    const key = tag.slice(0, tag.indexOf(':'));
    if (tags.includes(key)) return [];
    return [{ path: ['budgets', 'tags', at, 'tag'], message: `names the key "${key}", which \`tags\` does not list` }];
  });
  return [...unknown, ...findDuplicates(budgets.tags, ({ tag }) => tag, ['budgets', 'tags'], 'tag')];
}

function checkUnpriced(prices: Config['limits']['unpriced_models']): RelationProblem[] {
  if (typeof prices === 'string') return [];
  return (['prompt', 'completion'] as const).flatMap((name) => {
    if (Number(prices[name]) <= MAX_USD_PER_TOKEN) return [];
    const message = `must be at most ${MAX_USD_PER_TOKEN} USD per token, not ${prices[name]}; prices are per token, not per million`;
    return [{ path: ['limits', 'unpriced_models', name], message }];
  });
}

/** A master key has one source. */
function checkMasterKeys(secrets: Config['secrets']): RelationProblem[] {
  const names = ['master_key', 'previous_master_key'] as const;
  return names.flatMap((name) => {
    const sources = [name, `${name}_file`, `${name}_command`] as const;
    const [first, second] = sources.filter((source) => secrets[source] !== undefined);
    if (second === undefined) return [];
    return [{ path: ['secrets', second], message: `cannot be set beside ${first}; keep one of them` }];
  });
}

/** Pods connect to an address, because they have no DNS. A policy names pods by their labels. */
function checkPodEgress(egress: Config['tools']['sandbox']['kubernetes']['egress']): RelationProblem[] {
  const path = ['tools', 'sandbox', 'kubernetes', 'egress'];
  const { address = '::', gateway_namespace: namespace, gateway_labels: labels } = egress ?? {};
  return [
    ...(isIP(address) === 0 ? [{ path: [...path, 'address'], message: 'must be an IP address' }] : []),
    ...(namespace !== undefined && labels === undefined
      ? [{ path: [...path, 'gateway_namespace'], message: 'needs gateway_labels' }]
      : []),
  ];
}

/** The agent of interns must be one of the configured ones. */
function checkRuntime({ runtime, runtimes }: Config['interns']): RelationProblem[] {
  if (runtime === 'builtin' || Object.hasOwn(runtimes, runtime)) return [];
  const known = ['builtin', ...Object.keys(runtimes)].join(', ');
  const path = ['interns', 'runtime'];
  return [{ path, message: `names no agent; use one of ${known}`, dependsOn: [['interns', 'runtimes']] }];
}

/** The queue must have room for one content of the maximum size. */
function checkContents({ max_bytes, max_pending_bytes }: Config['io_logging']): RelationProblem[] {
  if (max_pending_bytes >= max_bytes) return [];
  const message = `must not be below max_bytes, which is ${max_bytes}`;
  return [{ path: ['io_logging', 'max_pending_bytes'], message, dependsOn: [['io_logging', 'max_bytes']] }];
}

/** The gateway's own requests must not use a router. */
function checkModels({ routers: { auto, bodybuilder, fusion }, plugins: { moderation } }: Config): Problem[] {
  const panels = Object.entries(fusion.panels).flatMap(([name, panel]) =>
    [...panel.models, ...(panel.model === undefined ? [] : [panel.model])].map((model) => ({ name, model })),
  );
  const nested = panels.find(({ model }) => findFusionSlug({ model }) !== undefined);
  if (nested) {
    const message = `names ${nested.model}, which runs a panel itself; use a model`;
    return [{ path: ['routers', 'fusion', 'panels', nested.name], message }];
  }
  const named: [Path, string | undefined][] = [
    [['routers', 'auto', 'classifier', 'model'], auto.classifier?.model],
    [['routers', 'bodybuilder', 'model'], bodybuilder.model],
    [['plugins', 'moderation', 'model'], moderation.url === undefined ? moderation.model : undefined],
  ];
  return named.flatMap(([path, model]) =>
    typeof model === 'string' && /^(?:router\/|~)/i.test(model)
      ? [{ path, message: `is ${model}, which is a router; use a model` }]
      : [],
  );
}

function checkPhrases(phrases: readonly string[]): Problem[] {
  return phrases.flatMap((phrase, index) => {
    const bytes = Buffer.byteLength(phrase);
    if (bytes <= MAX_PHRASE_BYTES) return [];
    const message = `has ${bytes} bytes; at most ${MAX_PHRASE_BYTES} are allowed`;
    return [{ path: ['guardrails', 'injection_allowlist', index], message }];
  });
}

function checkHosts(outbound: Config['outbound']): Problem[] {
  return (['allow', 'deny'] as const).flatMap((key) =>
    outbound[key].flatMap((entry, index) => {
      try {
        readEntry(entry);
        return [];
      } catch (error) {
        return [{ path: ['outbound', key, index], message: (error as Error).message }]; // it throws Errors
      }
    }),
  );
}

/** A server is a URL or a program, and has the settings of only one of them. */
function checkMcp({ servers }: McpConfig): Problem[] {
  return Object.entries(servers).flatMap(([name, server]): Problem[] => {
    const path = ['mcp', 'servers', name];
    const { url, command } = server;
    if (url === undefined && command === undefined) return [{ path, message: 'needs `url` or `command`' }];
    if (url !== undefined && command !== undefined) return [{ path, message: 'has `url` and `command`; remove one' }];
    const foreign = (url === undefined ? (['headers'] as const) : (['args', 'env', 'cwd'] as const)).filter(
      (key) => server[key] !== undefined,
    );
    const needed = url === undefined ? 'url' : 'command';
    return foreign.map((key) => ({
      path: [...path, key],
      message: `has an effect only with \`${needed}\`; remove it`,
    }));
  });
}

const checkFileUrl = (url: string, path: Path): Problem[] =>
  url.startsWith('file://') && !url.startsWith('file:///')
    ? [{ path, message: 'must be file:PATH or file:///PATH' }]
    : [];

function checkStorage(url: string): Problem[] {
  const path = ['storage', 'url'];
  if (url.startsWith('file:')) return checkFileUrl(url, path);
  return checkServerUrl(url, path);
}

/** The message has no part of the URL, because it may be one of the password. */
const checkServerUrl = (url: string, path: Path): Problem[] =>
  !url.includes('://') || URL.canParse(encodeUserinfo(url))
    ? []
    : [
        {
          path,
          message:
            'is not a valid URL with one host; percent-encode characters like @ and / in the user and the password',
        },
      ];

function checkProviders(providers: readonly ProviderConfig[]): RelationProblem[] {
  const problems: RelationProblem[] = findDuplicates(providers, (provider) => provider.id, ['providers'], 'id');
  for (const [index, provider] of providers.entries()) {
    const path = ['providers', index];
    problems.push(...checkBaseUrl(provider, [...path, 'base_url']), ...checkProxy(provider, [...path, 'proxy']));
    problems.push(...checkPackage(provider, path), ...checkKeyNames(provider, [...path, 'key_names']));
    problems.push(...findDuplicateModels(provider.models, [...path, 'models']));
    for (const [at, entry] of provider.models.entries()) {
      const { model, upstream_model: upstream = '' } = entry;
      const place = [...path, 'models', at];
      problems.push(...checkPrices(entry, place));
      if (countStars(model) > 1) problems.push({ path: [...place, 'model'], message: 'may contain at most one *' });
      if (countStars(upstream) > 1)
        problems.push({ path: [...place, 'upstream_model'], message: 'may contain at most one *' });
      if (upstream.includes('*') && !model.includes('*')) {
        problems.push({
          path: [...place, 'upstream_model'],
          message: 'contains a *, but model does not',
          dependsOn: [[...place, 'model']],
        });
      }
    }
  }
  return problems;
}

const piecePrices = ['request', 'image', 'web_search', 'searched_request'] as const;

/** An excessive price would overflow the costs in the ledger. */
function checkPrices({ pricing, image }: ModelConfig, path: Path): RelationProblem[] {
  const problems: RelationProblem[] = [];
  const check = (price: unknown, unit: string, place: Path, dependsOn: Path[] = []): void => {
    const max = unit === 'token' ? MAX_USD_PER_TOKEN : MAX_USD_PER_PIECE;
    if (price === undefined || Number(price) <= max) return;
    const hint = unit === 'token' ? '; prices are per token, not per million' : '';
    problems.push({ path: place, message: `must be at most ${max} USD per ${unit}, not ${price}${hint}`, dependsOn });
  };
  const checkAll = (prices: object, place: Path): void => {
    for (const [key, price] of Object.entries(prices)) {
      if (key === 'above' || key === 'prompt_tokens') continue;
      check(price, piecePrices.find((piece) => piece === key) ? 'piece' : 'token', [...place, key]);
    }
  };
  if (pricing) checkAll(pricing, [...path, 'pricing']);
  for (const [at, prices] of (pricing?.above ?? []).entries()) checkAll(prices, [...path, 'pricing', 'above', at]);
  for (const [at, { unit, cost_usd: price }] of (image?.pricing ?? []).entries()) {
    const place = [...path, 'image', 'pricing', at];
    check(price, unit, [...place, 'cost_usd'], [[...place, 'unit']]);
  }
  return problems;
}

/** A higher price is probably per million tokens instead of per token. */
const MAX_PLAUSIBLE_TOKEN_USD = 0.01;

/** Returns warnings about prices that are valid but implausible. */
export function findSuspiciousPrices(providers: readonly ProviderConfig[]): string[] {
  return providers.flatMap(({ models }, index) =>
    models.flatMap(({ pricing }, at) =>
      (['prompt', 'completion', 'cache_read', 'cache_write'] as const).flatMap((key) => {
        const price = Number(pricing?.[key] ?? 0);
        if (price <= MAX_PLAUSIBLE_TOKEN_USD) return [];
        const place = formatPath(['providers', index, 'models', at, 'pricing', key]);
        return [
          `${place} is ${price} USD per token, which is ${price * 1e6} USD per million tokens. Prices are per token.`,
        ];
      }),
    ),
  );
}

/** Endpoints of one model at one provider differ by their tier or tag. */
const nameOfEndpoint = ({ model, tier, tag }: ProviderConfig['models'][number]) =>
  [model, tier, tag].filter((part) => part !== undefined).join(' ');

/** Two endpoints may differ only in an invalid or misspelled part of the name. */
const findDuplicateModels = (models: ProviderConfig['models'], path: Path): RelationProblem[] =>
  findDuplicates(models, nameOfEndpoint, path, 'model').map((problem) => ({ ...problem, dependsOn: [path] }));

/** The wire ai-sdk requires a package. No other wire has one. */
function checkPackage(provider: ProviderConfig, path: Path): RelationProblem[] {
  if (provider.wire === 'ai-sdk') {
    return provider.package === undefined
      ? [
          {
            path: [...path, 'package'],
            message: 'is missing: the npm package of the provider, for example @ai-sdk/cohere',
          },
        ]
      : [];
  }
  return (['package', 'factory', 'settings'] as const)
    .filter((key) => provider[key] !== undefined)
    .map((key) => ({
      path: [...path, key],
      message: 'is allowed only with the wire ai-sdk',
      dependsOn: [[...path, 'wire']],
    }));
}

function checkKeyNames({ api_key: keys = [], key_names: names }: ProviderConfig, path: Path): RelationProblem[] {
  const count = [keys].flat().length;
  if (names === undefined || names.length === count) return [];
  return [{ path, message: `must name each key in api_key: ${count}, not ${names.length}` }];
}

const countStars = (text: string) => text.split('*').length - 1;

function checkBaseUrl({ wire, base_url: text }: ProviderConfig, path: Path): Problem[] {
  if (text === undefined)
    return wire === 'simulator' || wire === 'ai-sdk'
      ? []
      : [{ path, message: 'is missing; only the simulator needs none' }];
  const url = URL.parse(text);
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return [{ path, message: 'must be an http or https URL' }];
  }
  const problems: Problem[] = [];
  if (url.username !== '' || url.password !== '') {
    problems.push({ path, message: 'must not contain credentials; set api_key or headers instead' });
  }
  if (url.search !== '' || url.hash !== '') problems.push({ path, message: 'must have no query and no fragment' });
  return problems;
}

function checkProxy({ wire, proxy }: ProviderConfig, path: Path): Problem[] {
  if (typeof proxy !== 'string') return [];
  if (wire === 'ai-sdk' || wire === 'simulator') return [{ path, message: `is not available with the wire ${wire}` }];
  const protocol = URL.parse(proxy)?.protocol;
  if (protocol !== 'http:' && protocol !== 'https:') return [{ path, message: 'must be an http or https URL' }];
  try {
    const { username, password } = new URL(proxy);
    decodeURIComponent(username + password);
    return [];
  } catch {
    return [{ path, message: 'must have percent-encoded credentials' }];
  }
}

function checkBootstrap({ workspaces, members, keys, guardrails }: BootstrapConfig): RelationProblem[] {
  const problems: RelationProblem[] = [
    ...findDuplicates(workspaces, (workspace) => workspace.name, ['bootstrap', 'workspaces'], 'name'),
    ...findDuplicates(workspaces, (workspace) => workspace.id, ['bootstrap', 'workspaces'], 'id'),
    ...findDuplicates(members, (member) => member.id, ['bootstrap', 'members'], 'id'),
    ...findDuplicates(keys, (key) => key.key, ['bootstrap', 'keys'], 'key'),
  ];
  const known = new Set(workspaces.flatMap(({ id, name }) => (id === undefined ? [name] : [id, name])));
  const memberIds = new Set(members.map((member) => member.id));
  /** An empty list may be under a misspelled key. */
  const dependOn = (list: 'workspaces' | 'members' | 'keys', { length }: readonly unknown[]): Path[] =>
    length === 0 ? [['bootstrap']] : [['bootstrap', list]];
  const checkWorkspace = (name: string, path: Path) => {
    if (known.has(name)) return;
    const dependsOn = dependOn('workspaces', workspaces);
    problems.push({ path, message: 'is not in bootstrap.workspaces', dependsOn });
  };

  for (const [index, member] of members.entries()) {
    for (const [at, name] of member.workspaces.entries()) {
      checkWorkspace(name, ['bootstrap', 'members', index, 'workspaces', at]);
    }
  }
  const nameOf = (wanted = '') => workspaces.find(({ id }) => id === wanted)?.name ?? wanted;
  const keyPlaces = new Set(keys.map(({ name, workspace }) => `${nameOf(workspace)} ${name}`));
  const seen = new Set<string>();
  for (const [index, guardrail] of guardrails.entries()) {
    const path = ['bootstrap', 'guardrails', index];
    const { workspace, name } = guardrail;
    checkWorkspace(workspace, [...path, 'workspace']);
    const own = `${nameOf(workspace)} ${guardrail.default ? 'default' : `named ${name}`}`;
    if (seen.has(own)) problems.push({ path: [...path, 'name'], message: 'is in its workspace twice' });
    seen.add(own);
    if (guardrail.default && (guardrail.keys ?? guardrail.members)) {
      problems.push({ path: [...path, 'default'], message: 'applies to all keys, so keys and members must be absent' });
    }
    for (const [at, key] of (guardrail.keys ?? []).entries()) {
      if (keyPlaces.has(`${nameOf(workspace)} ${key}`)) continue;
      const dependsOn = dependOn('keys', keys);
      problems.push({ path: [...path, 'keys', at], message: `is no key of ${workspace} in bootstrap.keys`, dependsOn });
    }
    for (const [at, member] of (guardrail.members ?? []).entries()) {
      if (memberIds.has(member)) continue;
      const dependsOn = dependOn('members', members);
      problems.push({ path: [...path, 'members', at], message: 'is not in bootstrap.members', dependsOn });
    }
  }
  for (const [index, key] of keys.entries()) {
    const path = ['bootstrap', 'keys', index];
    if (key.workspace !== undefined) checkWorkspace(key.workspace, [...path, 'workspace']);
    if (key.kind === 'management') {
      for (const field of ['member', 'acts_as', 'credit_usd', ...rateLimitNames] as const) {
        if (key[field] !== undefined)
          problems.push({ path: [...path, field], message: 'is not allowed with kind: management' });
      }
      continue;
    }
    if (key.workspace === undefined) problems.push({ path: [...path, 'workspace'], message: 'is missing' });
    if (key.member !== undefined && !memberIds.has(key.member)) {
      const dependsOn = dependOn('members', members);
      problems.push({ path: [...path, 'member'], message: 'is not in bootstrap.members', dependsOn });
    }
    if ((key.member === undefined) === (key.acts_as === undefined)) {
      problems.push({ path, message: 'needs either member, or acts_as: organization, or kind: management' });
    }
  }
  return problems;
}

/** Finds duplicates. The message has the index of the first one, never the value, because it may be a key. */
function findDuplicates<Item>(
  items: readonly Item[],
  read: (item: Item) => string | undefined,
  path: Path,
  field: string,
): Problem[] {
  const seen = new Map<string, number>();
  return items.flatMap((item, index) => {
    const value = read(item);
    if (value === undefined) return [];
    const first = seen.get(value);
    if (first === undefined) seen.set(value, index);
    return first === undefined ? [] : [{ path: [...path, index, field], message: `is the same as in entry ${first}` }];
  });
}
