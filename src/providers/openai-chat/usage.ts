import type { FinishReason } from '../../domain/chunks.ts';
import { GatewayError } from '../../domain/errors.ts';
import { readUpstreamCost, type SpecialCounts, type Usage, usage } from '../../domain/usage.ts';

type Counts = Record<string, unknown>;

/** Names that servers use for the same count, the most reliable first. */
const names = {
  input: ['prompt_tokens'],
  output: ['completion_tokens'],
  total: ['total_tokens'],
  // DeepSeek, Moonshot and gateways for Claude report the cached tokens beside the sum.
  cached: [
    'prompt_tokens_details.cached_tokens',
    'prompt_cache_hit_tokens',
    'cached_tokens',
    'num_cached_tokens', // Mistral
    'cache_read_input_tokens',
  ],
  cacheWrite: [
    'prompt_tokens_details.cache_write_tokens',
    'prompt_tokens_details.cache_creation_tokens',
    'prompt_tokens_details.cache_creation_input_tokens', // Alibaba
    'cache_creation_input_tokens',
  ],
  reasoning: ['completion_tokens_details.reasoning_tokens', 'reasoning_tokens'],
};
/** Counts with a separate price. */
const specialNames: Readonly<Record<string, keyof SpecialCounts>> = {
  'prompt_tokens_details.cache_creation.ephemeral_1h_input_tokens': 'cacheWrite1hTokens',
  'cache_creation.ephemeral_1h_input_tokens': 'cacheWrite1hTokens',
  'prompt_tokens_details.audio_tokens': 'inputAudioTokens',
  'prompt_tokens_details.image_tokens': 'inputImageTokens',
  'completion_tokens_details.audio_tokens': 'outputAudioTokens',
  'completion_tokens_details.image_tokens': 'outputImageTokens',
  num_search_queries: 'webSearches', // Perplexity
  'server_side_tool_usage_details.web_search_calls': 'webSearches', // xAI
  'server_tool_use.web_search_requests': 'webSearches', // gateways
};
const known = new Set([
  ...Object.values(names).flat(),
  ...Object.keys(specialNames),
  // The remainder of a sum whose other parts are read.
  'prompt_cache_miss_tokens',
  'prompt_tokens_details.text_tokens',
  'completion_tokens_details.text_tokens',
  'cache_creation.ephemeral_5m_input_tokens',
  'prompt_tokens_details.cache_creation.ephemeral_5m_input_tokens',
  'prompt_tokens_details.cache_type',
  // The provider's own cost, and its details.
  'cost',
  'cost_in_usd_ticks',
  'is_byok',
  'citation_tokens',
  'search_context_size',
]);
const isPrice = (name: string): boolean => name.startsWith('cost.') || name.startsWith('cost_details.');

/**
 * Reads a `usage` object. Adds the names of unknown counts that are not zero to `dropped`.
 *
 * @returns undefined if it counts neither input nor output
 */
export function readUsage(wire: unknown, dropped: Set<string>): Usage | undefined {
  if (typeof wire !== 'object' || wire === null) return undefined;
  const counts: Counts = {};
  flatten(wire as Counts, '', counts);
  const find = (among: readonly string[]): number | undefined => {
    for (const name of among) if (typeof counts[name] === 'number') return counts[name];
    return undefined;
  };
  const inputTokens = find(names.input);
  const outputTokens = find(names.output);
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  let apart: SpecialCounts | undefined;
  for (const name in counts) {
    const count = counts[name];
    if (count === 0 || count === null) continue;
    const place = Object.hasOwn(specialNames, name) ? specialNames[name] : undefined;
    if (place !== undefined && typeof count === 'number') {
      apart ??= {};
      apart[place] ??= count;
    } else if (!known.has(name) && !isPrice(name)) dropped.add(`usage.${name}`);
  }
  const totalTokens = find(names.total);
  const reasoningTokens = find(names.reasoning) ?? 0;
  const citations = countCitations(counts);
  const input = (inputTokens ?? 0) + citations;
  const output = outputTokens ?? 0;
  const isBeside = isReasoningBeside(counts, { input, output, reasoning: reasoningTokens, total: totalTokens });
  const read: Usage = usage({
    inputTokens: input,
    outputTokens: isBeside ? output + reasoningTokens : output,
    totalTokens,
    cachedTokens: find(names.cached),
    cacheWriteTokens: find(names.cacheWrite),
    reasoningTokens,
  });
  if (citations > 0 || isBeside) read.totalTokens = Math.max(read.totalTokens, input + read.outputTokens);
  if (apart) read.special = apart;
  const cost = readCost(counts);
  if (cost !== undefined) read.upstreamCostNanoUsd = cost;
  return read;
}

/**
 * Whether the output count excludes reasoning. xAI adds it to the total (32 + 9 + 110 = 151). Perplexity reports a
 * separate price for it.
 */
function isReasoningBeside(
  counts: Counts,
  { input, output, reasoning, total }: { input: number; output: number; reasoning: number; total: number | undefined },
): boolean {
  if (reasoning === 0) return false;
  return total === input + output + reasoning || typeof counts['cost.reasoning_tokens_cost'] === 'number';
}

/**
 * Returns the tokens of citations. Perplexity charges them like input, in addition to the prompt, if it reports their
 * cost.
 */
function countCitations(counts: Counts): number {
  const { citation_tokens: count, 'cost.citation_tokens_cost': cost } = counts;
  return typeof count === 'number' && typeof cost === 'number' && cost > 0 ? count : 0;
}

/** Reads the provider's own cost: xAI in 10⁻¹⁰ dollars, Perplexity by parts, gateways as one number. */
function readCost(counts: Counts): number | undefined {
  const { cost_in_usd_ticks: ticks, cost, 'cost.total_cost': total } = counts;
  return readUpstreamCost(ticks, 1e10) ?? readUpstreamCost(cost) ?? readUpstreamCost(total);
}

/** Flattens nested counts: `prompt_tokens_details.cached_tokens`. */
function flatten(wire: Counts, prefix: string, flat: Counts): void {
  for (const name in wire) {
    const value = wire[name];
    if (typeof value === 'object' && value !== null && prefix.length < 100)
      flatten(value as Counts, `${prefix}${name}.`, flat);
    else flat[prefix + name] = value;
  }
}

/**
 * Translates `finish_reason`. An unknown one is a regular end and is added to `dropped`: choice 57.
 *
 * @throws {GatewayError} if it means that the server failed
 */
export function readFinishReason(reason: string, dropped: Set<string>): FinishReason {
  switch (reason.toLowerCase()) {
    case 'stop':
    case 'eos':
    case 'eos_token':
    case 'end_turn':
    case 'stop_sequence':
    case 'complete':
      return 'stop';
    case 'tool_calls':
    case 'function_call':
    case 'tool_use':
      return 'tool_calls';
    case 'length':
    case 'max_tokens':
    case 'model_length': // Mistral: the context is full
      return 'length';
    case 'content_filter':
    case 'safety':
    case 'sensitive': // Zhipu
    case 'refusal':
      return 'content_filter';
    case 'insufficient_system_resource': // DeepSeek
      throw new GatewayError('upstream_overloaded', 'The provider ran out of resources and interrupted its response.', {
        providerCode: reason,
        retryable: true,
        isTransient: true,
      });
    case 'error':
    case 'abort': // vLLM and SGLang, when the server drops a request
    case 'network_error': // Zhipu
      throw new GatewayError('upstream_failed', `The provider interrupted its response (finish reason ${reason}).`, {
        providerCode: reason,
        retryable: true,
        isTransient: true,
      });
    default:
      dropped.add(`finish_reason (${reason.slice(0, 60)})`);
      return 'stop';
  }
}

/** Returns the tier by its name in the interface. Some providers have other names for the base tier. */
export const readServiceTier = (tier: string): string =>
  tier === 'standard' || tier === 'on_demand' ? 'default' : tier;
