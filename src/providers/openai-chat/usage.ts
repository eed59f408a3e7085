import type { FinishReason } from '../../domain/chunks.ts';
import { GatewayError } from '../../domain/errors.ts';
import { type Usage, usage } from '../../domain/usage.ts';

type Counts = Record<string, unknown>;

/** Names under which servers report the same count, in the order in which we believe them. */
const names = {
  input: ['prompt_tokens'],
  output: ['completion_tokens'],
  total: ['total_tokens'],
  // DeepSeek, Moonshot, and gateways in front of Claude say the cached part beside the sum.
  cached: [
    'prompt_tokens_details.cached_tokens',
    'prompt_cache_hit_tokens',
    'cached_tokens',
    'cache_read_input_tokens',
  ],
  cacheWrite: [
    'prompt_tokens_details.cache_write_tokens',
    'prompt_tokens_details.cache_creation_tokens',
    'cache_creation_input_tokens',
  ],
  reasoning: ['completion_tokens_details.reasoning_tokens', 'reasoning_tokens'],
};
const known = new Set([...Object.values(names).flat(), 'prompt_cache_miss_tokens']); // a miss is the rest of the input

/**
 * Reads a `usage` object. Other counts in it that are not zero are named in `dropped`.
 *
 * @returns undefined when it counts neither input nor output
 */
export function readUsage(wire: unknown, dropped: Set<string>): Usage | undefined {
  if (typeof wire !== 'object' || wire === null) return undefined;
  const counts = flatten(wire as Counts);
  const find = (among: readonly string[]): number | undefined => {
    for (const name of among) if (typeof counts[name] === 'number') return counts[name];
    return undefined;
  };
  const inputTokens = find(names.input);
  const outputTokens = find(names.output);
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  for (const name in counts) {
    if (!known.has(name) && counts[name] !== 0 && counts[name] !== null) dropped.add(`usage.${name}`);
  }
  const totalTokens = find(names.total);
  const reasoningTokens = find(names.reasoning) ?? 0;
  const input = inputTokens ?? 0;
  const output = outputTokens ?? 0;
  // xAI counts reasoning beside the output, and adds it to the total: 32 + 9 + 110 = 151.
  const isBeside = reasoningTokens > 0 && totalTokens === input + output + reasoningTokens;
  return usage({
    inputTokens: input,
    outputTokens: isBeside ? output + reasoningTokens : output,
    totalTokens,
    cachedTokens: find(names.cached),
    cacheWriteTokens: find(names.cacheWrite),
    reasoningTokens,
  });
}

/** One level of details becomes `prompt_tokens_details.cached_tokens`. */
function flatten(wire: Counts): Counts {
  const flat: Counts = {};
  for (const name in wire) {
    const value = wire[name];
    if (typeof value !== 'object' || value === null) flat[name] = value;
    else for (const detail in value) flat[`${name}.${detail}`] = (value as Counts)[detail];
  }
  return flat;
}

/**
 * Translates `finish_reason`. A word that we do not know is a regular end, and named in `dropped` (choice).
 *
 * @throws {GatewayError} when it says that the server gave up
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
      throw new GatewayError('upstream_overloaded', 'The provider ran out of resources and broke off its answer.', {
        providerCode: reason,
        retryable: true,
      });
    case 'error':
    case 'abort': // vLLM and SGLang, when the server drops a request
    case 'network_error': // Zhipu
      throw new GatewayError('upstream_failed', `The provider broke off its answer (finish reason ${reason}).`, {
        providerCode: reason,
        retryable: true,
      });
    default:
      dropped.add(`finish_reason (${reason.slice(0, 60)})`);
      return 'stop';
  }
}

/** The words of the interface; providers have names of their own for the base tier. */
export const readServiceTier = (tier: string): string =>
  tier === 'standard' || tier === 'on_demand' ? 'default' : tier;
