import { assert, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { usage } from '../domain/usage.ts';
import { costOf, estimateUsage, usdOf, writeUsage } from './cost.ts';

const pricing = { promptNanoUsdPerMillion: 250_000_000, completionNanoUsdPerMillion: 2_000_000_000 };

describe('the cost of an answer', () => {
  it('is tokens times price, input and output apart', () => {
    const cost = costOf(pricing, usage({ inputTokens: 1000, outputTokens: 100 }));
    expect(cost).toEqual({ inputNanoUsd: 250_000n, outputNanoUsd: 200_000n, priced: true });
  });

  it('takes cached and written tokens at their own prices, the rest at the price of input', () => {
    const prices = { ...pricing, cacheReadNanoUsdPerMillion: 25_000_000, cacheWriteNanoUsdPerMillion: 300_000_000 };
    const counts = usage({ inputTokens: 1000, cachedTokens: 600, cacheWriteTokens: 100, outputTokens: 0 });
    expect(costOf(prices, counts).inputNanoUsd).toBe(BigInt(300 * 250 + 600 * 25 + 100 * 300));
  });

  it('takes cached tokens at the price of input when they have none of their own', () => {
    const counts = usage({ inputTokens: 1000, cachedTokens: 600, cacheWriteTokens: 100, outputTokens: 0 });
    expect(costOf(pricing, counts).inputNanoUsd).toBe(250_000n);
  });

  it('adds the price of the request to the input', () => {
    const cost = costOf({ ...pricing, requestNanoUsd: 7 }, usage({ inputTokens: 0, outputTokens: 0 }));
    expect(cost).toEqual({ inputNanoUsd: 7n, outputNanoUsd: 0n, priced: true });
  });

  it('never counts a token twice when a provider says that more was cached than there was', () => {
    const prices = { ...pricing, cacheReadNanoUsdPerMillion: 25_000_000, cacheWriteNanoUsdPerMillion: 300_000_000 };
    const counts = usage({ inputTokens: 10, cachedTokens: 999, cacheWriteTokens: 999, outputTokens: 0 });
    expect(costOf(prices, counts).inputNanoUsd).toBe(250n);
  });

  it('is 0 and not priced when no price is known', () => {
    const cost = costOf(undefined, usage({ inputTokens: 1000, outputTokens: 100 }));
    expect(cost).toEqual({ inputNanoUsd: 0n, outputNanoUsd: 0n, priced: false });
  });

  it('is rounded half up, once per side', () => {
    const half = { promptNanoUsdPerMillion: 500_000, completionNanoUsdPerMillion: 499_999 };
    const cost = costOf(half, usage({ inputTokens: 1, outputTokens: 1 }));
    expect(cost).toMatchObject({ inputNanoUsd: 1n, outputNanoUsd: 0n });
    expect(costOf(half, usage({ inputTokens: 3, outputTokens: 3 }))).toMatchObject({
      inputNanoUsd: 2n,
      outputNanoUsd: 1n,
    });
  });

  it('is exact for every price and count, within half a nano-dollar a side', () => {
    const count = integer({ min: 0, max: 2_000_000 });
    const price = integer({ min: 0, max: 1_000_000_000_000_000 });
    assert(
      property(record({ inputTokens: count, outputTokens: count }), price, price, (counts, prompt, completion) => {
        const prices = { promptNanoUsdPerMillion: prompt, completionNanoUsdPerMillion: completion };
        const { inputNanoUsd, outputNanoUsd } = costOf(prices, usage(counts));
        for (const [cost, tokens, each] of [
          [inputNanoUsd, counts.inputTokens, prompt],
          [outputNanoUsd, counts.outputTokens, completion],
        ] as const) {
          const off = cost * 1_000_000n - BigInt(tokens) * BigInt(each);
          expect(off <= 500_000n && off > -500_000n).toBe(true);
        }
      }),
    );
  });
});

describe('usage on the wire', () => {
  const counts = usage({ inputTokens: 10, cachedTokens: 4, outputTokens: 6, reasoningTokens: 2 });

  it('tells the cost in dollars, in all and by side', () => {
    expect(writeUsage(counts, { inputNanoUsd: 35_500n, outputNanoUsd: 4_500n, priced: true })).toEqual({
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 6,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 16,
      cost: 0.00004,
      cost_details: { upstream_inference_input_cost: 0.0000355, upstream_inference_output_cost: 0.0000045 },
      is_byok: false,
    });
  });

  it('says null where no price is known', () => {
    const wire = writeUsage(counts, { inputNanoUsd: 0n, outputNanoUsd: 0n, priced: false });
    expect(wire.cost).toBeNull();
    expect(wire).not.toHaveProperty('cost_details');
  });

  it('names written cache tokens when the provider counts them', () => {
    const written = writeUsage({ ...counts, cacheWriteTokens: 0 }, costOf(undefined, counts));
    expect(written.input_tokens_details).toEqual({ cached_tokens: 4, cache_write_tokens: 0 });
  });
});

it('gives dollars that are the number one would write', () => {
  expect(usdOf(1n)).toBe(0.000000001);
  expect(usdOf(123_456_789_012n)).toBe(123.456789012);
});

it('estimates a token for every four characters, and says that it does', () => {
  expect(estimateUsage(9, 5)).toEqual({
    inputTokens: 3,
    outputTokens: 2,
    totalTokens: 5,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: true,
  });
});
