import { array, assert, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { usage } from '../domain/usage.ts';
import { costOf, estimateUsage, MAX_COST_NANO_USD, totalOf, usdOf, writeUsage } from './cost.ts';

const pricing = { promptNanoUsdPerMillion: 250_000_000, completionNanoUsdPerMillion: 2_000_000_000 };

describe('the cost of a response', () => {
  it('is tokens times price, with input and output separate', () => {
    const cost = costOf(pricing, usage({ inputTokens: 1000, outputTokens: 100 }));
    expect(cost).toEqual({ inputNanoUsd: 250_000n, outputNanoUsd: 200_000n, priced: true });
  });

  it('is capped and unknown if counts or prices are impossible', () => {
    const dear = { promptNanoUsdPerMillion: 1e15, completionNanoUsdPerMillion: 1e15, webSearchNanoUsd: 1e13 };
    for (const [counts, inputNanoUsd] of [
      [{ inputTokens: 1e9, outputTokens: 1e9 }, MAX_COST_NANO_USD],
      [{ inputTokens: 5, outputTokens: 1e9 }, 5_000_000_000n],
      [{ inputTokens: 5, outputTokens: 5, special: { webSearches: 1e9 } }, 5_000_000_000n],
    ] as const) {
      const cost = costOf(dear, usage(counts));
      expect(cost).toMatchObject({ inputNanoUsd, priced: false });
      expect(totalOf(cost)).toBe(MAX_COST_NANO_USD);
    }
    const max = costOf(dear, usage({ inputTokens: 4_500_000, outputTokens: 4_500_000 }));
    expect(max).toEqual({
      inputNanoUsd: MAX_COST_NANO_USD / 2n,
      outputNanoUsd: MAX_COST_NANO_USD / 2n,
      priced: true,
    });
  });

  it('prices cached and written tokens separately, and the rest as input', () => {
    const prices = { ...pricing, cacheReadNanoUsdPerMillion: 25_000_000, cacheWriteNanoUsdPerMillion: 300_000_000 };
    const counts = usage({ inputTokens: 1000, cachedTokens: 600, cacheWriteTokens: 100, outputTokens: 0 });
    expect(costOf(prices, counts).inputNanoUsd).toBe(BigInt(300 * 250 + 600 * 25 + 100 * 300));
  });

  it('prices cached tokens as input if they have no price', () => {
    const counts = usage({ inputTokens: 1000, cachedTokens: 600, cacheWriteTokens: 100, outputTokens: 0 });
    expect(costOf(pricing, counts).inputNanoUsd).toBe(250_000n);
  });

  it('adds the price of the request to the input', () => {
    const cost = costOf({ ...pricing, requestNanoUsd: 7 }, usage({ inputTokens: 0, outputTokens: 0 }));
    expect(cost).toEqual({ inputNanoUsd: 7n, outputNanoUsd: 0n, priced: true });
  });

  it('never counts a token twice if a provider reports more cached tokens than input', () => {
    const prices = { ...pricing, cacheReadNanoUsdPerMillion: 25_000_000, cacheWriteNanoUsdPerMillion: 300_000_000 };
    const counts = usage({ inputTokens: 10, cachedTokens: 999, cacheWriteTokens: 999, outputTokens: 0 });
    expect(costOf(prices, counts).inputNanoUsd).toBe(250n);
  });

  it('is 0 and not priced if no price is known', () => {
    const cost = costOf(undefined, usage({ inputTokens: 1000, outputTokens: 100 }));
    expect(cost).toEqual({ inputNanoUsd: 0n, outputNanoUsd: 0n, priced: false });
  });

  const apart = {
    promptNanoUsdPerMillion: 1_000_000,
    completionNanoUsdPerMillion: 10_000_000,
    cacheReadNanoUsdPerMillion: 100_000_000,
    cacheWriteNanoUsdPerMillion: 1_000_000_000,
  };

  it('prices one-hour cache writes separately, or else as five-minute writes', () => {
    const counts = usage({
      inputTokens: 10,
      cacheWriteTokens: 5,
      outputTokens: 0,
      special: { cacheWrite1hTokens: 2 },
    });
    expect(costOf(apart, counts).inputNanoUsd).toBe(5n + 5n * 1000n);
    const longer = { ...apart, cacheWrite1hNanoUsdPerMillion: 2_000_000_000 };
    expect(costOf(longer, counts).inputNanoUsd).toBe(5n + 3n * 1000n + 2n * 2000n);
    expect(costOf({ ...pricing, cacheWrite1hNanoUsdPerMillion: 0 }, counts).inputNanoUsd).toBe(8n * 250n);
  });

  it('prices audio and images separately, each token once', () => {
    const prices = {
      ...apart,
      audioNanoUsdPerMillion: 20_000_000,
      audioCacheReadNanoUsdPerMillion: 300_000_000,
      imageTokenNanoUsdPerMillion: 4_000_000,
      reasoningNanoUsdPerMillion: 50_000_000,
      audioOutputNanoUsdPerMillion: 600_000_000,
      imageOutputNanoUsdPerMillion: 7_000_000_000,
    };
    const counts = usage({
      inputTokens: 100,
      cachedTokens: 30,
      outputTokens: 100,
      reasoningTokens: 10,
      special: {
        inputAudioTokens: 25,
        cachedAudioTokens: 5,
        inputImageTokens: 15,
        outputAudioTokens: 20,
        outputImageTokens: 30,
      },
    });
    expect(costOf(prices, counts)).toEqual({
      // 25 cached, 5 cached audio, 20 audio, 15 images, 35 text
      inputNanoUsd: 25n * 100n + 5n * 300n + 20n * 20n + 15n * 4n + 35n,
      // 10 reasoning, 20 audio, 30 images, 40 text
      outputNanoUsd: 10n * 50n + 20n * 600n + 30n * 7000n + 40n * 10n,
      priced: true,
    });
    const plain = costOf(apart, counts);
    expect(plain).toMatchObject({ inputNanoUsd: 70n + 30n * 100n, outputNanoUsd: 1000n });
  });

  it('adds search fees separately: for each search, or for the response', () => {
    const counts = usage({ inputTokens: 0, outputTokens: 0, special: { webSearches: 3 } });
    const cost = costOf({ ...pricing, webSearchNanoUsd: 10, searchedRequestNanoUsd: 7 }, counts);
    expect(cost).toEqual({ inputNanoUsd: 0n, outputNanoUsd: 0n, toolsNanoUsd: 37n, priced: true });
    expect(totalOf(cost)).toBe(37n);
    expect(costOf(pricing, counts)).not.toHaveProperty('toolsNanoUsd');
    expect(costOf({ ...pricing, searchedRequestNanoUsd: 7 }, usage({ inputTokens: 0, outputTokens: 0 }))).toEqual({
      inputNanoUsd: 0n,
      outputNanoUsd: 0n,
      priced: true,
    });
  });

  it('is between all tokens at the lowest price and all at the highest, for any counts', () => {
    const count = integer({ min: 0, max: 1000 });
    const price = integer({ min: 0, max: 1_000_000_000 });
    const names = ['cacheWrite1hTokens', 'inputAudioTokens', 'cachedAudioTokens', 'inputImageTokens'] as const;
    assert(
      property(
        record({ inputTokens: count, outputTokens: count, cachedTokens: count, cacheWriteTokens: count }),
        record(Object.fromEntries([...names, 'outputAudioTokens', 'outputImageTokens'].map((name) => [name, count]))),
        array(price, { minLength: 8, maxLength: 8 }),
        (counts, special, prices) => {
          const [prompt, read, write, hour, audio, audioRead, image, completion] = prices as [
            ...[number, number, number, number, number, number, number, number],
          ];
          const known = {
            promptNanoUsdPerMillion: prompt,
            completionNanoUsdPerMillion: completion,
            cacheReadNanoUsdPerMillion: read,
            cacheWriteNanoUsdPerMillion: write,
            cacheWrite1hNanoUsdPerMillion: hour,
            audioNanoUsdPerMillion: audio,
            audioCacheReadNanoUsdPerMillion: audioRead,
            imageTokenNanoUsdPerMillion: image,
          };
          const { inputNanoUsd, outputNanoUsd } = costOf(known, usage({ ...counts, special }));
          const inputPrices = prices.slice(0, 7);
          const of = (each: number) => (BigInt(counts.inputTokens) * BigInt(each) + 500_000n) / 1_000_000n;
          expect(inputNanoUsd >= of(Math.min(...inputPrices)) && inputNanoUsd <= of(Math.max(...inputPrices))).toBe(
            true,
          );
          expect(outputNanoUsd).toBe((BigInt(counts.outputTokens) * BigInt(completion) + 500_000n) / 1_000_000n);
        },
      ),
    );
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

  it('is exact for every price and count, within half a nano-dollar per side', () => {
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

  it('reports the cost in dollars, in total and per side', () => {
    expect(writeUsage(counts, { inputNanoUsd: 35_500n, outputNanoUsd: 4_500n, priced: true })).toEqual({
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
      output_tokens: 6,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 16,
      cost: 0.00004,
      cost_details: { upstream_inference_input_cost: 0.0000355, upstream_inference_output_cost: 0.0000045 },
      is_byok: false,
    });
  });

  it('reports fees and searches, and the upstream cost of a BYOK key: the reported one, else the list price', () => {
    const cost = { inputNanoUsd: 1_000n, outputNanoUsd: 2_000n, toolsNanoUsd: 10_000n, priced: true };
    const searched = { ...counts, special: { webSearches: 2 } };
    expect(writeUsage(searched, cost, { isByok: true })).toMatchObject({
      cost: 0.000013,
      cost_details: { server_tool_cost: 0.00001, upstream_inference_cost: 0.000013 },
      is_byok: true,
      server_tool_use_details: { web_search_requests: 2 },
      server_tool_use: { web_search_requests: 2 },
    });
    expect(writeUsage(counts, cost)).not.toHaveProperty('server_tool_use');
    const said = writeUsage({ ...searched, upstreamCostNanoUsd: 5 }, cost);
    expect(said).toMatchObject({ cost: 0.000013, cost_details: { upstream_inference_cost: 5e-9 }, is_byok: false });
  });

  it('is null if no price is known', () => {
    const wire = writeUsage(counts, { inputNanoUsd: 0n, outputNanoUsd: 0n, priced: false });
    expect(wire.cost).toBeNull();
    expect(wire).not.toHaveProperty('cost_details');
  });

  it('reports cache writes if the provider counts them', () => {
    const written = writeUsage({ ...counts, cacheWriteTokens: 0 }, costOf(undefined, counts));
    expect(written.input_tokens_details).toEqual({ cached_tokens: 4, cache_write_tokens: 0 });
  });
});

it('returns dollars without floating-point noise', () => {
  expect(usdOf(1n)).toBe(0.000000001);
  expect(usdOf(123_456_789_012n)).toBe(123.456789012);
});

it('rounds estimated tokens up and marks them as an estimate', () => {
  expect(estimateUsage(2.25, 1.1)).toEqual({
    inputTokens: 3,
    outputTokens: 2,
    totalTokens: 5,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: true,
  });
});
