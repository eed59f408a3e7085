import { expect, it } from 'vitest';
import { coalesce } from './coalesce.ts';

it('runs once more for all calls during a run, and again for a later call', async () => {
  const ends: (() => void)[] = [];
  const ask = coalesce(() => new Promise<void>((resolve) => void ends.push(resolve)));
  ask();
  for (let at = 0; at < 5; at++) ask();
  expect(ends).toHaveLength(1);
  ends[0]!();
  await expect.poll(() => ends.length).toBe(2);
  ends[1]!();
  await new Promise((resolve) => setImmediate(resolve));
  expect(ends).toHaveLength(2);
  ask();
  expect(ends).toHaveLength(3);
});
