import { array, assert, integer, property } from 'fast-check';
import { expect, it } from 'vitest';
import { DenseSet } from './dense-set.ts';

it('contains the items that were added and not removed, in any order', () => {
  assert(
    property(array(integer({ min: 0, max: 7 }), { maxLength: 60 }), (steps) => {
      const bag = new DenseSet<{ name: number; place: number }>();
      const things = Array.from({ length: 8 }, (_, name) => ({ name, place: -1 }));
      const held = new Set<number>();
      for (const step of steps) {
        const thing = things[step]!;
        if (held.delete(step)) bag.delete(thing);
        else {
          held.add(step);
          bag.add(thing);
        }
        expect(new Set(bag.list().map(({ name }) => name))).toEqual(held);
        expect(bag.size).toBe(held.size);
        expect(things.map(({ place }) => place !== -1)).toEqual(things.map(({ name }) => held.has(name)));
      }
    }),
  );
});

it('ignores the removal of an item that it does not contain', () => {
  const bag = new DenseSet<{ place: number }>();
  const [one, other] = [{ place: -1 }, { place: -1 }];
  bag.add(one);
  bag.delete(other);
  bag.delete(one);
  bag.delete(one);
  expect(bag.list()).toEqual([]);
});
