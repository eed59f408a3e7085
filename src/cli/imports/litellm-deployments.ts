import { ForeignSection } from './foreign-section.ts';
import type { ImportReport } from './import-report.ts';
import type { KeyVariables } from './key-variables.ts';
import { type Account, readAccount } from './litellm-accounts.ts';
import list from './litellm-providers.json' with { type: 'json' };

/** An entry of `model_list`: a model at an account. */
export interface Deployment {
  /** `model_list[0]` */
  path: string;
  /** The name that callers use. */
  group: string;
  account: Account;
  /** The name at the provider. */
  upstream: string;
  /** What Headgate knows of it: prices, limits, capabilities. */
  facts: Record<string, unknown>;
  weight: number | undefined;
  requestsPerMinute: number | undefined;
  tokensPerMinute: number | undefined;
}

export interface ForeignProvider {
  id?: string;
  /** Whether an `api_base` means another server with the same protocol. */
  isCompatible?: boolean;
  version?: string;
  reason?: string;
}

const providers: Readonly<Record<string, ForeignProvider>> = list.providers;

/** Why fields of `litellm_params` are not carried. Others are defaults of requests. */
const reasons: Readonly<Record<string, string>> = {
  api_version: 'is not needed: the gateway uses the v1 API',
  order: 'endpoints have weights, no order',
  max_parallel_requests: 'limits.models[].concurrent_requests limits a model, not a deployment',
  tags: 'there are no tags; use guardrails, or provider.only in requests',
  region_name: 'is not needed',
  drop_params: 'is not needed: unsupported fields are left out and named in X-Router-Dropped-Fields',
  stream_timeout: 'use timeouts.first_byte_ms or timeouts.idle_ms of the provider',
  max_budget: 'deployments have no budgets; use guardrails or budgets',
  budget_duration: 'deployments have no budgets; use guardrails or budgets',
  mock_response: 'use the simulator',
};
const defaultReason = 'endpoints have no defaults for requests; save them as a preset';

/** Modes of deployments that the gateway serves → the output that its entry names. */
const modes: Readonly<Record<string, string | undefined>> = {
  chat: undefined,
  completion: undefined,
  responses: undefined,
  embedding: 'embeddings',
  rerank: 'rerank',
};

/** Returns a deployment. Undefined if it cannot be carried, which is reported. */
export function readDeployment(
  value: unknown,
  path: string,
  parts: { report: ImportReport; keys: KeyVariables; env: Readonly<Record<string, string | undefined>> },
): Deployment | undefined {
  const { report } = parts;
  const entry = new ForeignSection(value, path, report);
  const group = entry.takeText('model_name');
  const params = entry.takeSection('litellm_params');
  const info = entry.takeSection('model_info');
  const model = params.takeText('model');
  if (group === undefined || model === undefined) {
    report.drop(path, 'it needs model_name and litellm_params.model');
    return undefined;
  }
  const mode = info.takeText('mode') ?? 'chat';
  if (!Object.hasOwn(modes, mode)) {
    report.drop(path, `${group}: models of the mode ${mode} are not imported`);
    return undefined;
  }
  const found = findProvider(model, params.takeText('custom_llm_provider'));
  const stars = (text: string) => text.split('*').length - 1;
  const problem =
    found.problem ??
    (model === '*'
      ? 'any provider: those with a key in the environment are found with catalog.auto_discover'
      : undefined) ??
    (stars(group) > 1 || stars(found.upstream) > 1 || stars(found.upstream) > stars(group)
      ? 'a wildcard of the provider needs one * in the name, too'
      : undefined);
  if (problem !== undefined) {
    report.drop(path, `${group} (${model}): ${problem}`);
    return undefined;
  }
  const account = readAccount(params, found, parts);
  if (!account) return undefined;
  const deployment: Deployment = {
    path,
    group,
    account,
    upstream: found.upstream,
    facts: readFacts(params, info, modes[mode]),
    weight: params.takeNumber('weight'),
    requestsPerMinute: params.takeNumber('rpm'),
    tokensPerMinute: params.takeNumber('tpm'),
  };
  for (const name of params.names) params.drop(name, reasons[name] ?? defaultReason);
  info.finish({ id: 'endpoints have ids of their own', base_model: 'give the prices in pricing' });
  entry.finish();
  return deployment;
}

interface FoundProvider {
  prefix: string;
  provider: ForeignProvider;
  upstream: string;
  problem?: string;
}

/** Splits `groq/llama-3.3-70b` into the provider and its name there. */
function findProvider(model: string, custom: string | undefined): FoundProvider {
  const slash = model.indexOf('/');
  const first = slash === -1 ? '' : model.slice(0, slash);
  const prefix = custom ?? (Object.hasOwn(providers, first) ? first : guessPrefix(model));
  const upstream = first !== '' && first === prefix ? model.slice(slash + 1) : model;
  const provider = prefix === undefined ? undefined : providers[prefix];
  if (prefix === undefined || !provider) {
    const name = custom ?? (first || model);
    // an address makes it a server with the common protocol
    const rest = first === '' ? model : model.slice(slash + 1);
    return { prefix: name, provider: { isCompatible: true }, upstream: rest };
  }
  return { prefix, provider, upstream, ...(provider.reason === undefined ? undefined : { problem: provider.reason }) };
}

/** LiteLLM knows the provider of some names without a prefix. */
function guessPrefix(model: string): string | undefined {
  if (model.includes('/')) return undefined;
  if (/^(?:gpt-|chatgpt-|o\d|text-embedding-)/.test(model)) return 'openai';
  if (model.startsWith('claude-')) return 'anthropic';
  if (model.startsWith('gemini-')) return 'vertex_ai';
  return undefined;
}

const prices = {
  input_cost_per_token: 'prompt',
  output_cost_per_token: 'completion',
  cache_read_input_token_cost: 'cache_read',
  cache_creation_input_token_cost: 'cache_write',
} as const;

/** Reads what LiteLLM accepts in both places. */
function readFacts(params: ForeignSection, info: ForeignSection, output: string | undefined): Record<string, unknown> {
  const pricing: Record<string, number> = {};
  for (const [name, ours] of Object.entries(prices)) {
    const [own, shared] = [params.takeNumber(name), info.takeNumber(name)];
    const price = own ?? shared;
    if (price !== undefined) pricing[ours] = price;
  }
  const [maxInput, maxOutput, max] = ['max_input_tokens', 'max_output_tokens', 'max_tokens'].map((name) =>
    info.takeNumber(name),
  );
  const flags = {
    tools: info.takeFlag('supports_function_calling'),
    structured_outputs: info.takeFlag('supports_response_schema'),
    reasoning: info.takeFlag('supports_reasoning'),
  };
  const isSeeing = info.takeFlag('supports_vision');
  const capabilities = {
    ...Object.fromEntries(Object.entries(flags).filter(([, flag]) => flag !== undefined)),
    ...(isSeeing !== undefined && { input: isSeeing ? ['text', 'image'] : ['text'] }),
    ...(output !== undefined && { output: [output] }),
  };
  return {
    ...(Object.keys(pricing).length > 0 && { pricing }),
    ...(maxInput && { max_prompt_tokens: maxInput }),
    ...((maxOutput ?? max) && { max_output_tokens: maxOutput ?? max }),
    ...(Object.keys(capabilities).length > 0 && { capabilities }),
  };
}
