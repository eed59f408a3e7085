import { readCount, type WireUsage } from '../../domain/usage.ts';
import type { MessageUsage } from './wire.ts';

/** Counts that the public schema requires, and that a provider of another format does not have. */
export const translatedUsage = {
  cache_creation: null,
  inference_geo: null,
  output_tokens_details: null,
  server_tool_use: null,
  service_tier: null,
  speed: null,
} as const;

/**
 * Writes the usage of a response in the terms of the format: its input tokens exclude those of the cache.
 *
 * @param native the counts of the provider, if it has the same format
 * @param tier the tier that served, in the terms of the interface
 * @see docs/reference/messages.md#usage
 */
export function writeMessageUsage(
  usage: WireUsage | null,
  native: Readonly<Record<string, unknown>> | undefined,
  tier: string | null,
): MessageUsage {
  const { input_tokens: input = 0, input_tokens_details: details, output_tokens: output = 0 } = usage ?? {};
  const read = details?.cached_tokens ?? 0;
  const stored = details?.cache_write_tokens ?? 0;
  const reasoning = usage?.output_tokens_details.reasoning_tokens ?? 0;
  const searches = usage?.server_tool_use_details?.web_search_requests ?? 0;
  const written: MessageUsage = {
    ...(native ? withoutCost(native) : translatedUsage),
    input_tokens: Math.max(0, input - read - stored),
    cache_creation_input_tokens: stored,
    cache_read_input_tokens: read,
    output_tokens: output,
  };
  for (const compaction of listCompactions(native)) {
    for (const name of countNames) written[name] = Math.max(0, written[name] - (readCount(compaction[name]) ?? 0));
  }
  if (details?.cache_creation) written['cache_creation'] ??= details.cache_creation;
  if (searches > 0) written['server_tool_use'] ??= { web_search_requests: searches, web_fetch_requests: 0 };
  if (reasoning > 0) written['output_tokens_details'] ??= { thinking_tokens: reasoning };
  if (tier) written['service_tier'] = tier === 'default' ? 'standard' : tier;
  if (usage) {
    written['cost'] = usage.cost;
    if (usage.cost_details) written['cost_details'] = usage.cost_details;
    written['is_byok'] = usage.is_byok;
  }
  return written;
}

const countNames = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'] as const;

/** Lists the counts of compactions. The other counts of this format do not include them, so clients add them. */
const listCompactions = (native: Readonly<Record<string, unknown>> | undefined): Readonly<Record<string, unknown>>[] =>
  Array.isArray(native?.['iterations']) ? native['iterations'].filter((each) => each?.type === 'compaction') : [];

/** Removes the cost that a gateway behind this one reports. */
export function withoutCost(counts: Readonly<Record<string, unknown>> | undefined): Record<string, unknown> {
  const { cost: _, cost_details: __, is_byok: ___, ...rest } = counts ?? {};
  return rest;
}
