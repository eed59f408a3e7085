import type { FinishReason } from '../../domain/chunks.ts';
import { type Usage, usage } from '../../domain/usage.ts';

/** Counts of the provider. In a stream they come in two parts, and the later word on a field counts. */
export type Counts = Record<string, unknown>;

const known = new Set([
  ...['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'cache_creation'],
  ...['server_tool_use', 'service_tier', 'inference_geo'],
]);

/**
 * `input_tokens` of this wire leaves out what the cache had or took; ours is all of it.
 *
 * @param dropped gets the names of counts that have no place
 * @returns undefined when nothing was reported
 * @see responses.md section 6.2
 */
export function readUsage(counts: Counts, dropped: Set<string>): Usage | undefined {
  if (typeof counts.input_tokens !== 'number' && typeof counts.output_tokens !== 'number') return undefined;
  for (const name in counts) if (!known.has(name) && counts[name]) dropped.add(`usage.${name}`);
  const read = count(counts.cache_read_input_tokens);
  const written = count(counts.cache_creation_input_tokens);
  const tools = counts.server_tool_use;
  if (typeof tools === 'object' && tools !== null) {
    for (const [name, value] of Object.entries(tools)) if (value) dropped.add(`usage.server_tool_use.${name}`);
  }
  return usage({
    inputTokens: count(counts.input_tokens) + read + written,
    outputTokens: count(counts.output_tokens),
    cachedTokens: read,
    ...(counts.cache_creation_input_tokens === undefined || counts.cache_creation_input_tokens === null
      ? undefined
      : { cacheWriteTokens: written }),
  });
}

const count = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** The provider's `standard` is the interface's `default`. */
export function readServiceTier(counts: Counts): string | undefined {
  const tier = counts.service_tier;
  if (typeof tier !== 'string') return undefined;
  return tier === 'standard' ? 'default' : tier;
}

/** @param dropped gets the reason when the interface has no word for it */
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
    default: // `pause_turn`: a search at the provider took long, and the caller may send the answer back to go on
      dropped.add(`stop_reason (${reason})`);
      return 'stop';
  }
}
