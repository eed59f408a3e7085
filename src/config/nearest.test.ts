import { expect, it } from 'vitest';
import { editDistance, findNearest } from './nearest.ts';

it.each([
  ['', '', 0],
  ['abc', '', 3],
  ['port', 'prot', 1],
  ['port', 'ports', 1],
  ['host', 'cost', 1],
  ['kitten', 'sitting', 3],
])('the distance of %j and %j is %i', (a, b, distance) => {
  expect(editDistance(a, b)).toBe(distance);
  expect(editDistance(b, a)).toBe(distance);
});

it('finds the nearest, whatever the case', () => {
  expect(findNearest('PRT', ['host', 'port'])).toBe('port');
  expect(findNearest('x', [])).toBeUndefined();
});
