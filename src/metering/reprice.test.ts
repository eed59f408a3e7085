import { expect, it } from 'vitest';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import { findCorrection, type PricedEndpoint, priceAgain } from './reprice.ts';

/** A generation of 9 tokens in and 1332 out, of which 1120 are a picture. */
const entry = {
  ...{ apiType: 'image', model: 'acme/painter', endpointId: 'acme/painter@acme', providerId: 'acme', tier: null },
  ...{ inputTokens: 9, outputTokens: 1332, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 212 },
  special: { outputImageTokens: 1120 },
} as unknown as LedgerEntry; // what pricing reads of it

const pricing = {
  promptNanoUsdPerMillion: 2_000_000_000,
  completionNanoUsdPerMillion: 12_000_000_000,
  imageOutputNanoUsdPerMillion: 120_000_000_000,
};
const image = { parameters: {}, passthrough: [], streams: false, pricing: undefined };
const endpoint = {
  ...{ id: 'acme/painter@acme', provider: { id: 'acme', name: 'Acme' }, tier: undefined, workspace: undefined },
  ...{ pricing, makesText: true, image },
} satisfies PricedEndpoint;

it('prices a generation again where tokens are all it is priced by', () => {
  expect(priceAgain(entry, () => [endpoint])).toMatchObject({
    inputNanoUsd: 18_000n,
    outputNanoUsd: 212n * 12_000n + 1120n * 120_000n,
  });
});

it('leaves a generation as it is where each picture has a price', () => {
  const each = { billable: 'output_image', unit: 'image', costUsd: 0.1 } as const;
  expect(priceAgain(entry, () => [{ ...endpoint, image: { ...image, pricing: [each] } }])).toBeUndefined();
});

it('leaves an answer as it is whose pictures have a price each, since nobody knows how many there were', () => {
  const each = { billable: 'output_image', unit: 'image', costUsd: 0.1 } as const;
  const answer = { ...entry, apiType: undefined } as unknown as LedgerEntry;
  expect(priceAgain(answer, () => [endpoint])).toMatchObject({ priced: true });
  expect(priceAgain(answer, () => [{ ...endpoint, image: { ...image, pricing: [each] } }])).toBeUndefined();
});

it('adds only what an entry lacks of which one part had a price', () => {
  const booked = { ...entry, priced: false, costNanoUsd: 500n, inputCostNanoUsd: 100n };
  const cost = { inputNanoUsd: 300n, outputNanoUsd: 600n, priced: true };
  const correction = findCorrection(booked, cost);
  expect(correction).toMatchObject({ costNanoUsd: 400n, inputCostNanoUsd: 200n });
  const { costNanoUsd, inputCostNanoUsd } = correction!;
  expect(findCorrection({ ...booked, correction: { costNanoUsd, inputCostNanoUsd, count: 1 } }, cost)).toBeUndefined();
});
