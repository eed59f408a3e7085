import { expect, it } from 'vitest';
import type { ImagePrice } from '../domain/images.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import type { Cost } from '../domain/usage.ts';
import { totalOf } from './cost.ts';
import { findCorrection, type PricedEndpoint, reprice } from './reprice.ts';

/** A generation of 9 input and 1332 output tokens, of which 1120 are an image. */
const entry = {
  apiType: 'image',
  model: 'acme/painter',
  endpointId: 'acme/painter@acme',
  providerId: 'acme',
  tier: null,
  inputTokens: 9,
  outputTokens: 1332,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 212,
  special: { outputImageTokens: 1120 },
} as unknown as LedgerEntry; // the fields that pricing reads

const pricing = {
  promptNanoUsdPerMillion: 2_000_000_000,
  completionNanoUsdPerMillion: 12_000_000_000,
  imageOutputNanoUsdPerMillion: 120_000_000_000,
};
const image = { parameters: {}, passthrough: [], streams: false, pricing: undefined };
const endpoint = {
  id: 'acme/painter@acme',
  provider: { id: 'acme', name: 'Acme' },
  tier: undefined,
  workspace: undefined,
  pricing,
  generatesText: true,
  image,
} satisfies PricedEndpoint;

it('reprices a generation with only token prices', () => {
  expect(reprice(entry, () => [endpoint])).toMatchObject({
    inputNanoUsd: 18_000n,
    outputNanoUsd: 212n * 12_000n + 1120n * 120_000n,
  });
});

const line = (fields: Partial<ImagePrice>): ImagePrice => ({
  billable: 'output_image',
  unit: 'image',
  costUsd: 0.1,
  ...fields,
});
const asking = (...lines: ImagePrice[]) => [{ ...endpoint, image: { ...image, pricing: lines } }];
const images = { made: 2, madePixels: 3_000_000, references: 1, referencePixels: 1_000_000, variant: '1k' };
const answer = { ...entry, apiType: undefined } as unknown as LedgerEntry;

it('reprices the images of a generation by number, size and tier', () => {
  const generation = { ...entry, pictures: images };
  expect(reprice(generation, () => asking(line({})))).toMatchObject({ outputNanoUsd: 200_000_000n });
  expect(
    reprice(generation, () =>
      asking(line({ variant: '2k' }), line({ variant: '1k', costUsd: 0.3 }), line({ billable: 'input_image' })),
    ),
  ).toMatchObject({ inputNanoUsd: 100_000_000n, outputNanoUsd: 600_000_000n });
  expect(reprice(generation, () => asking(line({ unit: 'megapixel' })))).toMatchObject({
    outputNanoUsd: 300_000_000n,
  });
  expect(reprice(generation, () => asking(line({ variant: '2k' })))).toBe('unpriced');
  const uncounted = { ...generation, inputTokens: 0, outputTokens: 0 };
  expect(reprice(uncounted, () => asking(line({ unit: 'token' })))).toBe('unpriced');
  expect(reprice(uncounted, () => [endpoint])).toBe('unpriced');
});

it('reprices a response with its images, without their tokens', () => {
  const words = 9n * 2000n + 212n * 12_000n;
  const cost = reprice({ ...answer, pictures: images }, () => asking(line({})));
  expect(totalOf(cost as Cost)).toBe(words + 200_000_000n);
  const none = { ...answer, pictures: { made: 0, references: 0 } };
  expect(totalOf(reprice(none, () => asking(line({}))) as Cost)).toBe(words + 1120n * 120_000n);
});

it('skips entries with image prices but without image counts or sizes', () => {
  expect(reprice(entry, () => asking(line({})))).toBe('uncounted');
  expect(reprice(answer, () => [endpoint])).toMatchObject({ priced: true });
  expect(reprice(answer, () => asking(line({})))).toBe('uncounted');
  const unmeasured = { ...answer, pictures: { made: 1, references: 0 } };
  expect(reprice(unmeasured, () => asking(line({})))).toMatchObject({ priced: true });
  expect(reprice(unmeasured, () => asking(line({ unit: 'megapixel' })))).toBe('uncounted');
  expect(reprice(unmeasured, () => asking(line({}), line({ variant: '2k' })))).toBe('uncounted');
});

it('does not choose between two endpoints with different image prices', () => {
  const gone = { ...entry, endpointId: 'x', pictures: images };
  const [each] = asking(line({}));
  expect(reprice(gone, () => [each!, each!])).toMatchObject({ priced: true });
  expect(reprice(gone, () => [each!, ...asking(line({ costUsd: 7 }))])).toBe('unpriced');
});

it('adds only the missing part of a partly priced entry', () => {
  const booked = { ...entry, priced: false, costNanoUsd: 500n, inputCostNanoUsd: 100n };
  const cost = { inputNanoUsd: 300n, outputNanoUsd: 600n, otherKeysNanoUsd: 0n, priced: true };
  const correction = findCorrection(booked, cost);
  expect(correction).toMatchObject({ costNanoUsd: 400n, inputCostNanoUsd: 200n });
  const { costNanoUsd, inputCostNanoUsd } = correction!;
  expect(findCorrection({ ...booked, correction: { costNanoUsd, inputCostNanoUsd, count: 1 } }, cost)).toBeUndefined();
});

it('keeps the charges of plugins and tools as they are, whatever the catalog says', () => {
  const turn = { ...answer, kind: 'attempt', status: 200, isByok: true };
  const search = { ...answer, kind: 'tool', model: 'web_search', isByok: false, costNanoUsd: 7n };
  const searched = { ...answer, isByok: true, lines: [search, turn] } as unknown as LedgerEntry;
  const find = (model: string) => (model === answer.model ? [endpoint] : []);
  expect(reprice(searched, find)).toMatchObject({
    inputNanoUsd: 18_000n,
    toolsNanoUsd: 7n,
    otherKeysNanoUsd: 7n,
    priced: true,
  });
});
