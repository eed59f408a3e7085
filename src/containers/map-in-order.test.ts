import { expect, it } from 'vitest';
import { mapInOrder } from './map-in-order.ts';

it('works on several items at once, and yields their results in order', async () => {
  let running = 0;
  let most = 0;
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const results = mapInOrder([0, 1, 2, 3, 4], 3, async (item) => {
    most = Math.max(most, ++running);
    await gates[item]!.promise;
    running--;
    return item * 10;
  });
  for (const { resolve } of gates.toReversed()) resolve();
  expect(await collect(results)).toEqual([0, 1, 2, 3, 4].map((item) => ({ item, result: item * 10 })));
  expect(most).toBe(3);
  expect(await collect(mapInOrder([], 3, async () => 1))).toEqual([]);
});

it('fails with the first item that fails, after the work that has begun', async () => {
  const ended: number[] = [];
  const results = mapInOrder([0, 1, 2, 3], 3, async (item) => {
    await Promise.resolve();
    if (item === 1) throw new Error('item 1');
    ended.push(item);
    return item;
  });
  await expect(collect(results)).rejects.toThrow('item 1');
  expect(ended).toContain(2);
});

async function collect<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const found: Value[] = [];
  for await (const value of values) found.push(value);
  return found;
}
