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
  /** True when the provider reported nothing and the counts come from the length of the texts. */
  estimated?: boolean;
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
  if (counts.estimated) all.estimated = true;
  return all;
}

/** More tokens than any one answer can have. */
const MOST_TOKENS = 1_000_000_000;

/** Whether a provider's report can be true: whole numbers, none below zero or beyond all measure. */
export function isCredible(reported: Usage): boolean {
  const { inputTokens, outputTokens, totalTokens, cachedTokens, cacheWriteTokens = 0, reasoningTokens } = reported;
  return [inputTokens, outputTokens, totalTokens, cachedTokens, cacheWriteTokens, reasoningTokens].every(
    (count) => Number.isInteger(count) && count >= 0 && count <= MOST_TOKENS,
  );
}

/** What an answer cost. Money is integer nano-dollars: 1 USD = 1,000,000,000. */
export interface Cost {
  inputNanoUsd: bigint;
  outputNanoUsd: bigint;
  /** False when the catalogue knows no price: the sums are then 0 and say nothing. */
  priced: boolean;
}

/** `usage` of the response object. @see responses.md 4.4 */
export interface WireUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number; cache_write_tokens?: number };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
  cost: number | null;
  cost_details?: { upstream_inference_input_cost: number; upstream_inference_output_cost: number };
  is_byok: boolean;
}
