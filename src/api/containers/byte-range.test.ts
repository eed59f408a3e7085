import { expect, it } from 'vitest';
import { readByteRange } from './byte-range.ts';

it.each([
  [undefined, undefined],
  ['bytes=0-4', { start: 0, end: 5 }],
  ['bytes=5-', { start: 5, end: 10 }],
  ['Bytes=9-9', { start: 9, end: 10 }],
  ['bytes=3-99999', { start: 3, end: 10 }],
  ['bytes=-3', { start: 7, end: 10 }],
  ['bytes=-30', { start: 0, end: 10 }],
  ['bytes=10-', 'unsatisfiable'],
  ['bytes=10-12', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=4-3', undefined],
  ['bytes=0-1,4-5', undefined],
  ['bytes=-', undefined],
  ['bytes=a-b', undefined],
  ['lines=0-4', undefined],
  [`bytes=0-${'9'.repeat(40)}`, undefined],
] as const)('reads the range %j of ten bytes', (header, expected) => {
  expect(readByteRange(header, 10)).toEqual(expected);
});

it('has no range in an empty content', () => {
  for (const header of ['bytes=0-0', 'bytes=0-', 'bytes=-1']) expect(readByteRange(header, 0)).toBe('unsatisfiable');
});
