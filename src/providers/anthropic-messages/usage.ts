import type { FinishReason } from '../../domain/chunks.ts';
import { completeCounts, readCount, readUpstreamCost, special, type Usage, usage } from '../../domain/usage.ts';

/** Counts of the provider. A stream sends them in two parts. The later value of a field applies. */
export type Counts = Record<string, unknown>;

const known = new Set([
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'cache_creation',
  'server_tool_use',
  'service_tier',
  'inference_geo',
  'output_tokens_details',
  'speed',
  'iterations',
  // A server that is a gateway reports its cost.
  'cost',
  'cost_details',
  'is_byok',
]);

/**
 * Reads token counts. `input_tokens` of this wire excludes tokens that the cache served or stored. Ours includes them.
 *
 * @param dropped receives the names of counts that the interface does not have
 * @returns undefined if nothing was reported
 * @see docs/reference/wires.md
 */
export function readUsage(counts: Counts, dropped: Set<string>): Usage | undefined {
  const ownInput = readCount(counts.input_tokens);
  const ownOutput = readCount(counts.output_tokens);
  if (ownInput === undefined && ownOutput === undefined) return undefined;
  for (const name in counts) if (!known.has(name) && counts[name]) dropped.add(`usage.${name}`);
  const own = readCache(counts);
  const compactions = listCompactions(counts);
  const add = (start: number, of: (each: Counts) => number): number =>
    compactions.reduce((sum, each) => sum + of(each), start);
  const input = ownInput === undefined ? undefined : add(ownInput, (each) => count(each.input_tokens));
  const output = ownOutput === undefined ? undefined : add(ownOutput, (each) => count(each.output_tokens));
  const read = add(own.read, (each) => readCache(each).read);
  const written = add(own.written, (each) => readCache(each).written);
  const long = add(own.long, (each) => readCache(each).long);
  const tools = record(counts.server_tool_use);
  for (const name in tools) {
    if (name !== 'web_search_requests' && tools[name]) dropped.add(`usage.server_tool_use.${name}`);
  }
  const cost = readUpstreamCost(counts.cost);
  const { inputTokens, outputTokens, missing } = completeCounts(input, output);
  return usage({
    ...(missing && { missing }),
    ...(cost !== undefined && { upstreamCostNanoUsd: cost }),
    inputTokens: inputTokens + read + written,
    outputTokens,
    cachedTokens: read,
    reasoningTokens: count(record(counts.output_tokens_details).thinking_tokens),
    special: special({ cacheWrite1hTokens: long, webSearches: count(tools.web_search_requests) }),
    ...(written === 0 && (counts.cache_creation_input_tokens ?? undefined) === undefined
      ? undefined
      : { cacheWriteTokens: written }),
  });
}

/** The tokens that the cache served, stored, and stored for an hour. */
function readCache(counts: Counts): { read: number; written: number; long: number } {
  const { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long } = record(counts.cache_creation);
  const written = count(counts.cache_creation_input_tokens ?? count(short) + count(long));
  return { read: count(counts.cache_read_input_tokens), written, long: count(long) };
}

/**
 * Returns the counts of compactions, which the provider bills and does not include in the other counts. Sources:
 * https://github.com/pydantic/pydantic-ai/issues/5065, https://github.com/maximhq/bifrost/pull/6500
 */
const listCompactions = ({ iterations }: Counts): Counts[] =>
  Array.isArray(iterations) ? iterations.map(record).filter(({ type }) => type === 'compaction') : [];

const record = (value: unknown): Counts => (typeof value === 'object' && value !== null ? (value as Counts) : nothing);
const nothing: Counts = {};
const count = (value: unknown): number => readCount(value) ?? 0;

/** Reads the service tier. `standard` is the interface's `default`, and the fast mode is the interface's `priority`. */
export function readServiceTier(counts: Counts): string | undefined {
  if (counts.speed === 'fast') return 'priority';
  const tier = counts.service_tier;
  if (typeof tier !== 'string') return counts.speed === 'standard' ? 'default' : undefined; // fast mode was not granted
  return tier === 'standard' ? 'default' : tier;
}

/** @param dropped receives the reason if the interface has no value for it */
export function readStopReason(reason: string, dropped: Set<string>): FinishReason {
  switch (reason) {
    case 'end_turn':
    case 'stop_sequence':
      return 'stop';
    case 'tool_use':
      return 'tool_calls';
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length';
    case 'refusal':
      return 'content_filter';
    case 'pause_turn': // the tools of the provider ran long; the caller may send the output back to continue
      dropped.add(`stop_reason (${reason})`);
      return 'length';
    default:
      dropped.add(`stop_reason (${reason})`);
      return 'stop';
  }
}

/**
 * Reads the details of the stop reason.
 *
 * @param dropped receives the names of details that the interface does not have
 * @returns the explanation of a refusal, if there is one
 */
export function readStopDetails(details: unknown, dropped: Set<string>): string | undefined {
  const { type, explanation, ...rest } = record(details);
  if (type !== 'refusal') {
    if (details) dropped.add('stop_details');
    return undefined;
  }
  for (const name in rest) if (rest[name]) dropped.add(`stop_details.${name}`);
  return typeof explanation === 'string' && explanation !== '' ? explanation : undefined;
}
