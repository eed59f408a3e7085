import type { Pricing } from '../domain/endpoint.ts';
import type { Cost, Usage, WireUsage } from '../domain/usage.ts';
import { pricesFor } from './price.ts';

const MILLION = 1_000_000n;

/**
 * Prices an answer, exact to the nano-dollar: sums of tokens times integer prices, rounded half up once per side.
 *
 * @param known undefined when the catalogue knows no price: the cost is then 0 and marked as not priced
 */
export function costOf(known: Pricing | undefined, usage: Usage): Cost {
  if (!known) return { inputNanoUsd: 0n, outputNanoUsd: 0n, priced: false };
  const pricing = pricesFor(known, usage.inputTokens);
  const cached = Math.min(usage.cachedTokens, usage.inputTokens);
  const written = Math.min(usage.cacheWriteTokens ?? 0, usage.inputTokens - cached);
  const plain = usage.inputTokens - cached - written;
  const prompt = pricing.promptNanoUsdPerMillion;
  const input =
    times(plain, prompt) +
    times(cached, pricing.cacheReadNanoUsdPerMillion ?? prompt) +
    times(written, pricing.cacheWriteNanoUsdPerMillion ?? prompt);
  const completion = pricing.completionNanoUsdPerMillion;
  const reasoning = Math.min(usage.reasoningTokens, usage.outputTokens);
  const output =
    times(usage.outputTokens - reasoning, completion) +
    times(reasoning, pricing.reasoningNanoUsdPerMillion ?? completion);
  return {
    inputNanoUsd: roundMillionth(input) + BigInt(pricing.requestNanoUsd ?? 0),
    outputNanoUsd: roundMillionth(output),
    priced: true,
  };
}

const times = (tokens: number, price: number): bigint => BigInt(tokens) * BigInt(price);
const roundMillionth = (value: bigint): bigint => (value + MILLION / 2n) / MILLION;

/** Dollars as the number JSON can carry; exact up to 9 million dollars. */
export const usdOf = (nanoUsd: bigint): number => Number(nanoUsd) / 1e9;

/**
 * `usage` of the response object. `cost` is null when no price is known: never a silent zero.
 *
 * @param isByok an own key of the workspace was used
 */
export function writeUsage(usage: Usage, cost: Cost, isByok = false): WireUsage {
  const input: WireUsage['input_tokens_details'] = { cached_tokens: usage.cachedTokens };
  if (usage.cacheWriteTokens !== undefined) input.cache_write_tokens = usage.cacheWriteTokens;
  const wire: WireUsage = {
    input_tokens: usage.inputTokens,
    input_tokens_details: input,
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.totalTokens,
    cost: cost.priced ? usdOf(cost.inputNanoUsd + cost.outputNanoUsd) : null,
    is_byok: isByok,
  };
  if (cost.priced) {
    wire.cost_details = {
      upstream_inference_input_cost: usdOf(cost.inputNanoUsd),
      upstream_inference_output_cost: usdOf(cost.outputNanoUsd),
    };
  }
  return wire;
}

/**
 * What an answer without a report probably used: four UTF-16 units a token, the rule that most tokenizers come near to
 * on English text.
 */
export function estimateUsage(requestLength: number, producedLength: number): Usage {
  const inputTokens = Math.ceil(requestLength / 4);
  const outputTokens = Math.ceil(producedLength / 4);
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: true,
  };
}
