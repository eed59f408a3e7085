import { assert, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Pricing } from '../domain/endpoint.ts';
import {
  blendedPrice,
  isFree,
  perMillionTokens,
  perPiece,
  perToken,
  pricesFor,
  pricesOfTier,
  writePerPiece,
  writePerToken,
} from './price.ts';

describe('a price', () => {
  it.each([
    [0.25, 250_000_000],
    [2.5, 2_500_000_000],
    ['0.05', 50_000_000],
    [0.1 + 0.2, 300_000_000],
    [0, 0],
  ])('of %s USD per million tokens is %i', (usd, price) => expect(perMillionTokens(usd)).toBe(price));

  it.each([
    [0.00000025, 250_000_000],
    ['0.00000025', 250_000_000],
    ['2.5e-6', 2_500_000_000],
    [1, 1_000_000_000_000_000],
  ])('of %s USD per token is %i', (usd, price) => expect(perToken(usd)).toBe(price));

  it.each([
    [0.01, 10_000_000],
    ['0.005', 5_000_000],
  ])('of %s USD per piece is %i nano-dollars', (usd, price) => expect(perPiece(usd)).toBe(price));

  it.each([
    [250_000_000, '0.00000025'],
    [2_500_000_000, '0.0000025'],
    [1, '0.000000000000001'],
    [100_000_000, '0.0000001'],
    [0, '0'],
    [1_000_000_000_000_000, '1'],
    [1_500_000_000_000_000, '1.5'],
    [12_000_000_000_000_000, '12'],
  ])('of %i is written per token as %s, never as 2.5e-7', (price, text) => expect(writePerToken(price)).toBe(text));

  it.each([
    [10_000_000, '0.01'],
    [1, '0.000000001'],
    [1_000_000_000, '1'],
    [12_340_000_000, '12.34'],
    [0, '0'],
  ])('of %i nano-dollars is written as %s', (price, text) => expect(writePerPiece(price)).toBe(text));

  it('is unchanged after writing and reading', () => {
    assert(
      property(integer({ min: 0, max: 1e15 }), (price) => {
        const written = writePerToken(price);
        expect(written).toMatch(/^(0|[1-9]\d*)(\.\d*[1-9])?$/);
        expect(perToken(written)).toBe(price);
        expect(perPiece(writePerPiece(price))).toBe(price);
      }),
      { numRuns: 2000 },
    );
  });

  it('in cents per million tokens is exact in any notation', () => {
    assert(
      property(integer({ min: 0, max: 1_000_000 }), (cents) => {
        expect(perMillionTokens(cents / 100)).toBe(cents * 1e7);
        expect(perToken(cents / 1e8)).toBe(cents * 1e7);
      }),
    );
  });
});

describe('the prices of a long prompt (docs/reference/models.md)', () => {
  const base: Pricing = {
    promptNanoUsdPerMillion: 1,
    completionNanoUsdPerMillion: 10,
    cacheReadNanoUsdPerMillion: 5,
    requestNanoUsd: 7,
  };
  const pricing: Pricing = {
    ...base,
    above: [
      { promptTokens: 1000, promptNanoUsdPerMillion: 2, completionNanoUsdPerMillion: 20 },
      { promptTokens: 2000, promptNanoUsdPerMillion: 3 },
    ],
  };

  it.each([
    [0, 1, 10],
    [1000, 1, 10],
    [1001, 2, 20],
    [2000, 2, 20],
    [2001, 3, 20],
    [1e9, 3, 20],
  ])('of %i tokens are %i and %i: the last exceeded length applies, parts of the prompt cost as much as the prompt', (tokens, prompt, completion) => {
    expect(pricesFor(pricing, tokens)).toMatchObject({
      promptNanoUsdPerMillion: prompt,
      completionNanoUsdPerMillion: completion,
      requestNanoUsd: 7,
    });
    expect(pricesFor(pricing, tokens).cacheReadNanoUsdPerMillion).toBe(tokens > 1000 ? undefined : 5);
  });

  it('are those of every prompt if there are no others', () => {
    expect(pricesFor(base, 1e9)).toBe(base);
  });

  it('count in comparisons, with three parts input to one part output', () => {
    expect(blendedPrice(base)).toBe((3 * 1 + 10) / 4);
    expect(blendedPrice(pricing, 1001)).toBe((3 * 2 + 20) / 4);
    expect(blendedPrice(undefined)).toBeUndefined();
  });
});

describe('the prices of the tier that was used', () => {
  const make = (promptNanoUsdPerMillion: number): Pricing => ({
    promptNanoUsdPerMillion,
    completionNanoUsdPerMillion: 0,
  });
  const [usual, flex, priority] = [make(2), make(1), make(4)];
  const tierPricing = new Map([
    ['default', usual],
    ['flex', flex],
    ['priority', priority],
  ]);
  it.each([
    ['flex', 'default', usual],
    ['flex', 'flex', flex],
    ['flex', null, flex],
    ['default', 'priority', priority],
    [undefined, 'priority', priority],
    [undefined, undefined, usual],
    ['priority', 'scale', priority],
    ['priority', 'constructor', priority],
  ] as const)('of an endpoint of %s that reports %s', (tier, used, expected) => {
    const pricing = tier === undefined ? usual : tierPricing.get(tier);
    expect(pricesOfTier({ pricing, tier, tierPricing }, used)).toBe(expected);
    expect(pricesOfTier({ pricing, tier, tierPricing: undefined }, used)).toBe(pricing);
  });
});

describe('free', () => {
  const none = { promptNanoUsdPerMillion: 0, completionNanoUsdPerMillion: 0 };
  it.each<[Pricing | undefined, boolean]>([
    [none, true],
    [{ ...none, requestNanoUsd: 0, webSearchNanoUsd: 5 }, true],
    [{ ...none, promptNanoUsdPerMillion: 1 }, false],
    [{ ...none, completionNanoUsdPerMillion: 1 }, false],
    [{ ...none, requestNanoUsd: 1 }, false],
    [undefined, false],
  ])('%j: %s', (pricing, expected) => expect(isFree(pricing)).toBe(expected));
});
