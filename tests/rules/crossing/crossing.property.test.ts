import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isFull } from '../../../src/testing/full.ts';
import { strictProviders } from '../../../src/testing/strict/index.ts';
import { type Crossing, openCrossing } from './cross.ts';
import { talk } from './talk.ts';

/*
 * Random conversations in each API are sent to each strict fake, answered with calls or a text, and continued. The
 * fake refuses nothing, no text is lost, and the client sees its own names.
 */

let crossing: Crossing;
beforeAll(async () => {
  crossing = await openCrossing(strictProviders);
});
afterAll(() => crossing.close());

it('are of at least 30 providers and servers, each with its own id', () => {
  const ids = new Set(strictProviders.map(({ id }) => id));
  expect(ids.size).toBe(strictProviders.length);
  expect(ids.size).toBeGreaterThanOrEqual(30);
});

const runs = isFull ? Math.ceil(20_000 / strictProviders.length) : 5;

it.each(strictProviders.map((fake) => [fake.id, fake] as const))('any conversation is accepted by %s', (_, fake) =>
  fc.assert(
    fc.asyncProperty(talk, (given) => crossing.cross(fake, given)),
    { numRuns: runs },
  ));
