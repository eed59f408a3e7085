import type { FinishReason } from '../../domain/chunks.ts';
import { GatewayError } from '../../domain/errors.ts';
import {
  completeCounts,
  hasCounts,
  readCount,
  readUpstreamCost,
  type SpecialCounts,
  type Usage,
  usage,
} from '../../domain/usage.ts';
import type { ChatResponse } from './wire.ts';

/** Names that servers use for the same count, the most reliable first. */
const names = {
  input: ['prompt_tokens', 'input_tokens'], // the second of each: MLX
  output: ['completion_tokens', 'output_tokens'],
  total: ['total_tokens'],
  // DeepSeek, Moonshot and gateways for Claude report the cached tokens beside the sum.
  cached: [
    'prompt_tokens_details.cached_tokens',
    'prompt_cache_hit_tokens',
    'cached_tokens',
    'num_cached_tokens', // Mistral
    'cache_read_input_tokens',
    'timings.cache_n', // llama.cpp, beside `usage`: ggml-org/llama.cpp#15827
  ],
  cacheWrite: [
    'prompt_tokens_details.cache_write_tokens',
    'prompt_tokens_details.cache_creation_tokens',
    'prompt_tokens_details.cache_creation_input_tokens', // Alibaba
    'cache_creation_input_tokens',
  ],
  reasoning: ['completion_tokens_details.reasoning_tokens', 'reasoning_tokens'],
  // Counts with a separate price
  cacheWrite1hTokens: [
    'prompt_tokens_details.cache_creation.ephemeral_1h_input_tokens',
    'cache_creation.ephemeral_1h_input_tokens',
  ],
  inputAudioTokens: ['prompt_tokens_details.audio_tokens'],
  inputImageTokens: ['prompt_tokens_details.image_tokens'],
  outputAudioTokens: ['completion_tokens_details.audio_tokens'],
  outputImageTokens: ['completion_tokens_details.image_tokens'],
  webSearches: [
    'num_search_queries', // Perplexity
    'server_side_tool_usage_details.web_search_calls', // xAI
    'server_tool_use.web_search_requests', // gateways
  ],
  citations: ['citation_tokens'],
  // The provider's own cost: xAI in 10⁻¹⁰ dollars, gateways as one number, Perplexity by parts.
  costTicks: ['cost_in_usd_ticks'],
  cost: ['cost'],
  totalCost: ['cost.total_cost'],
  citationCost: ['cost.citation_tokens_cost'],
  reasoningCost: ['cost.reasoning_tokens_cost'],
  // The remainder of a sum whose other parts are read, and names that say nothing about tokens
  ignored: [
    'prompt_cache_miss_tokens',
    'prompt_tokens_details.text_tokens',
    'completion_tokens_details.text_tokens',
    'cache_creation.ephemeral_5m_input_tokens',
    'prompt_tokens_details.cache_creation.ephemeral_5m_input_tokens',
    'prompt_tokens_details.cache_type',
    'is_byok',
    'search_context_size',
  ],
};
type Count = keyof typeof names;
const specialNames = [
  ...(['cacheWrite1hTokens', 'inputAudioTokens', 'inputImageTokens'] as const),
  ...(['outputAudioTokens', 'outputImageTokens', 'webSearches'] as const),
] as const satisfies readonly (Count & keyof SpecialCounts)[];
const isPrice = (name: string): boolean => name.startsWith('cost.') || name.startsWith('cost_details.');

/** A known name at one level of a `usage` object. */
interface KnownName {
  /** Place of its count in the list of values. Undefined: it has only names below it. */
  place: number | undefined;
  readonly below: Map<string, KnownName>;
}

const root: KnownName = { place: undefined, below: new Map() };
const allNames = Object.values(names).flat();
for (const [place, path] of allNames.entries()) {
  let known = root;
  for (const name of path.split('.')) {
    const next = known.below.get(name) ?? { place: undefined, below: new Map() };
    known.below.set(name, next);
    known = next;
  }
  known.place = place;
}
/** Count → places of its values, the most reliable first. */
const places = Object.fromEntries(
  Object.entries(names).map(([count, paths]) => [count, paths.map((path) => allNames.indexOf(path))]),
) as unknown as Record<Count, readonly number[]>; // it has the keys of `names`

/** The counts of one `usage` object. */
class Counts {
  /** Names that are not known, of counts that are not zero. */
  readonly unknown: string[] = [];
  /** By place. */
  private readonly values = new Array<unknown>(allNames.length);

  constructor(wire: object) {
    this.add(wire, root, '');
  }

  /** @param prefix of the names: `prompt_tokens_details.` */
  private add(wire: object, known: KnownName | undefined, prefix: string): void {
    for (const name in wire) {
      const value: unknown = wire[name as keyof typeof wire];
      const found = known?.below.get(name);
      if (typeof value === 'object' && value !== null && prefix.length < 100)
        this.add(value, found, `${prefix}${name}.`);
      else if (found?.place !== undefined) this.values[found.place] = value;
      else if (value !== 0 && value !== null) this.addUnknown(prefix + name);
    }
  }

  private addUnknown(name: string): void {
    if (!isPrice(name)) this.unknown.push(name);
  }

  /** Returns the value of the most reliable name that has a number. */
  find(count: Count): number | undefined {
    for (const place of places[count]) {
      const count = readCount(this.values[place]);
      if (count !== undefined) return count;
    }
    return undefined;
  }

  /** Like `find`, but a name with 0 does not hide one with more. */
  findMore(count: Count): number | undefined {
    for (const place of places[count]) {
      const value = readCount(this.values[place]);
      if (value) return value;
    }
    return undefined;
  }

  /** Returns the value of a count with a single name. */
  read(count: Count): unknown {
    return this.values[places[count][0]!];
  }
}

/**
 * Reads a `usage` object. Adds the names of unknown counts that are not zero to `dropped`.
 *
 * @returns undefined if it counts neither input nor output
 */
export function readUsage(wire: unknown, dropped: Set<string>): Usage | undefined {
  if (typeof wire !== 'object' || wire === null) return undefined;
  const counts = new Counts(wire);
  const foundInput = counts.find('input');
  const foundOutput = counts.find('output');
  if (foundInput === undefined && foundOutput === undefined) return undefined;
  for (const name of counts.unknown) dropped.add(`usage.${name}`);
  const totalTokens = counts.find('total');
  const reasoningTokens = counts.find('reasoning') ?? 0;
  const citations = countCitations(counts);
  const { inputTokens, outputTokens: output, missing } = completeCounts(foundInput, foundOutput, totalTokens);
  const input = inputTokens + citations;
  const isBeside = isReasoningBeside(counts, { input, output, reasoning: reasoningTokens, total: totalTokens });
  const read: Usage = usage({
    inputTokens: input,
    outputTokens: isBeside ? output + reasoningTokens : output,
    totalTokens,
    cachedTokens: counts.find('cached'),
    cacheWriteTokens: counts.find('cacheWrite'),
    reasoningTokens,
  });
  if (citations > 0 || isBeside) read.totalTokens = Math.max(read.totalTokens, input + read.outputTokens);
  if (missing) read.missing = missing;
  const special = readSpecial(counts);
  if (special) read.special = special;
  const cost = readCost(counts);
  if (cost !== undefined) read.upstreamCostNanoUsd = cost;
  return read;
}

function readSpecial(counts: Counts): SpecialCounts | undefined {
  let special: SpecialCounts | undefined;
  for (const name of specialNames) {
    const count = counts.findMore(name);
    if (count === undefined) continue;
    special ??= {};
    special[name] = count;
  }
  return special;
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
  return total === input + output + reasoning || counts.find('reasoningCost') !== undefined;
}

/**
 * Returns the tokens of citations. Perplexity charges them like input, in addition to the prompt, if it reports their
 * cost.
 */
function countCitations(counts: Counts): number {
  const count = counts.find('citations');
  return count !== undefined && (counts.find('citationCost') ?? 0) > 0 ? count : 0;
}

/** Reads the provider's own cost. */
const readCost = (counts: Counts): number | undefined =>
  readUpstreamCost(counts.read('costTicks'), 1e10) ??
  readUpstreamCost(counts.read('cost')) ??
  readUpstreamCost(counts.read('totalCost'));

/** Returns the usage of a response, with the cached tokens that llama.cpp has beside it. */
export function findUsage({ usage: counts, timings }: ChatResponse): unknown {
  const cached = isFields(timings) ? readCount(timings['cache_n']) : undefined;
  return cached !== undefined && hasCounts(counts) ? { ...counts, timings: { cache_n: cached } } : counts;
}

/**
 * Adds the usage of a later chunk. Some servers send the details of a count only once, and null in the chunks after it:
 * BerriAI/litellm#33054, co-l/openfox#236.
 */
export function mergeUsage(before: unknown, after: unknown, depth = 0): unknown {
  if (!isFields(before) || !isFields(after) || depth > MAX_DEPTH) return after;
  const merged = { ...before };
  for (const name in after) {
    const value = after[name];
    if (value !== null && value !== undefined) merged[name] = mergeUsage(before[name], value, depth + 1);
  }
  return merged;
}

/** Levels of details in a usage. */
const MAX_DEPTH = 4;
const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Translates `finish_reason`. An unknown one is a regular end and is added to `dropped`: choice 57.
 *
 * @throws {GatewayError} if it means that the server failed
 */
export function readFinishReason(reason: string, dropped: Set<string>): FinishReason {
  switch (reason.toLowerCase().replaceAll('-', '_')) {
    case 'stop':
    case 'eos':
    case 'eos_token':
    case 'end_turn':
    case 'stop_sequence':
    case 'complete':
    case 'completed':
    case 'done':
      return 'stop';
    case 'tool_calls':
    case 'function_call':
    case 'tool_use':
    case 'tool_call':
      return 'tool_calls';
    case 'length':
    case 'max_tokens':
    case 'max_output_tokens':
    case 'token_limit':
    case 'model_length': // Mistral: the context is full
    case 'model_context_window_exceeded': // Z.ai: earendil-works/pi#1868
      return 'length';
    case 'content_filter':
    case 'safety':
    case 'sensitive': // Zhipu
    case 'refusal':
    case 'recitation': // the other names of Gemini and Bedrock, which proxies send unchanged
    case 'blocklist':
    case 'prohibited_content':
    case 'spii':
    case 'content_filtered':
    case 'guardrail_intervened':
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
