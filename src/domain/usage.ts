/** What one answer used, in the words of no provider. All counts are tokens. */
export interface Usage {
  /** All input, cached or not. */
  inputTokens: number;
  /** All output, reasoning included. */
  outputTokens: number;
  /** What the provider says the sum is; ours when it does not say. */
  totalTokens: number;
  /** The part of `inputTokens` read from the provider's prompt cache. */
  cachedTokens: number;
  /** The part of `inputTokens` written to that cache; undefined when the provider does not say. */
  cacheWriteTokens?: number;
  /** The part of `outputTokens` spent on reasoning. */
  reasoningTokens: number;
  /** Counts that few answers have; absent where all of them are 0. */
  special?: SpecialCounts;
  /** What the provider itself says that it asks for the answer, in nano-dollars; noted, and never booked as ours. */
  upstreamCostNanoUsd?: number;
  /** True when the provider reported nothing and the counts come from the length of the texts. */
  estimated?: boolean;
}

/** What is priced apart from plain tokens. Absent is 0. */
export interface SpecialCounts {
  /** The part of `cacheWriteTokens` that is kept for an hour, not for five minutes. */
  cacheWrite1hTokens?: number;
  /** The part of `inputTokens` that is sound. */
  inputAudioTokens?: number;
  /** The part of `inputAudioTokens` that is among `cachedTokens`. */
  cachedAudioTokens?: number;
  /** The part of `inputTokens` that is pictures. */
  inputImageTokens?: number;
  /** The part of `outputTokens` that is sound. */
  outputAudioTokens?: number;
  /** The part of `outputTokens` that is pictures. */
  outputImageTokens?: number;
  /** Pictures that were read, where the endpoint asks for each of them. */
  inputImages?: number;
  /** Searches of the web that the provider made. */
  webSearches?: number;
}

/** All of `SpecialCounts`, in the order in which they are kept. */
export const specialCounts = [
  ...['cacheWrite1hTokens', 'inputAudioTokens', 'cachedAudioTokens', 'inputImageTokens'],
  ...['outputAudioTokens', 'outputImageTokens', 'inputImages', 'webSearches'],
] as readonly (keyof SpecialCounts)[];

/** Those that are not 0. @returns undefined when none is left, so that the plain answer carries nothing */
export function special(counts: { [Name in keyof SpecialCounts]: number | undefined }): SpecialCounts | undefined {
  let kept: SpecialCounts | undefined;
  for (const name of specialCounts) {
    const count = counts[name];
    if (!count) continue;
    kept ??= {};
    kept[name] = count;
  }
  return kept;
}

export function usage(counts: Partial<Usage> & Pick<Usage, 'inputTokens' | 'outputTokens'>): Usage {
  const all: Usage = {
    inputTokens: counts.inputTokens,
    outputTokens: counts.outputTokens,
    totalTokens: counts.totalTokens ?? counts.inputTokens + counts.outputTokens,
    cachedTokens: counts.cachedTokens ?? 0,
    reasoningTokens: counts.reasoningTokens ?? 0,
  };
  if (counts.cacheWriteTokens !== undefined) all.cacheWriteTokens = counts.cacheWriteTokens;
  if (counts.special) all.special = counts.special;
  if (counts.upstreamCostNanoUsd !== undefined) all.upstreamCostNanoUsd = counts.upstreamCostNanoUsd;
  if (counts.estimated) all.estimated = true;
  return all;
}

/** Adds up what two model calls used. */
export function addUsage(a: Usage, b: Usage): Usage {
  const add = (x: number | undefined, y: number | undefined): number | undefined =>
    x === undefined && y === undefined ? undefined : (x ?? 0) + (y ?? 0);
  const names = specialCounts.map((name) => [name, add(a.special?.[name], b.special?.[name])]);
  const cacheWriteTokens = add(a.cacheWriteTokens, b.cacheWriteTokens);
  const specialSums = special(Object.fromEntries(names));
  const upstreamCostNanoUsd = add(a.upstreamCostNanoUsd, b.upstreamCostNanoUsd);
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    ...(specialSums && { special: specialSums }),
    ...(upstreamCostNanoUsd !== undefined && { upstreamCostNanoUsd }),
    ...((a.estimated || b.estimated) && { estimated: true }),
  };
}

/** More tokens than any one answer can have. */
const MAX_TOKENS = 1_000_000_000;

/** Whether a provider's report can be true: whole numbers, none below zero or beyond all measure. */
export function isCredible(reported: Usage): boolean {
  const { inputTokens, outputTokens, totalTokens, cachedTokens, cacheWriteTokens = 0, reasoningTokens } = reported;
  const counts = [inputTokens, outputTokens, totalTokens, cachedTokens, cacheWriteTokens, reasoningTokens];
  return counts.every(isCount) && (!reported.special || Object.values(reported.special).every(isCount));
}

const isCount = (count: number): boolean => Number.isInteger(count) && count >= 0 && count <= MAX_TOKENS;

/**
 * What a provider says that it asks, as nano-dollars.
 *
 * @param unitsPerUsd 1 when it says dollars
 * @returns undefined when it is no amount that can be true
 */
export function readUpstreamCost(amount: unknown, unitsPerUsd = 1): number | undefined {
  if (typeof amount !== 'number') return undefined;
  const nanoUsd = Math.round((amount / unitsPerUsd) * 1e9);
  return Number.isSafeInteger(nanoUsd) && nanoUsd >= 0 ? nanoUsd : undefined;
}

/** What an answer cost. Money is integer nano-dollars: 1 USD = 1,000,000,000. */
export interface Cost {
  inputNanoUsd: bigint;
  outputNanoUsd: bigint;
  /** Fees of the provider's own tools; absent when there are none. */
  toolsNanoUsd?: bigint;
  /** False when the catalogue knows no price: the sums are then 0 and say nothing. */
  priced: boolean;
}

/** `usage` of the response object. @see docs/reference/responses.md#result */
export interface WireUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number; cache_write_tokens?: number };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
  cost: number | null;
  cost_details?: {
    upstream_inference_input_cost: number;
    upstream_inference_output_cost: number;
    upstream_inference_cost?: number;
    server_tool_cost?: number;
  };
  is_byok: boolean;
  server_tool_use_details?: { web_search_requests: number };
}
