import { expect, it } from 'vitest';
import { type MetricFamily, writeExposition } from './exposition.ts';
import { Histogram } from './histogram.ts';
import { joinFamilies, keepCounters } from './join-families.ts';

const family = (name: string, samples: MetricFamily['samples'], more: Partial<MetricFamily> = {}): MetricFamily => ({
  name,
  help: name,
  type: 'counter',
  samples,
  ...more,
});
const histogram = (...seconds: number[]) => {
  const made = new Histogram();
  for (const each of seconds) made.observe(each);
  return made;
};

it('adds what has the same labels, and keeps what one process alone has', () => {
  const joined = joinFamilies([
    [family('a', [{ labels: { x: '1' }, value: 2 }]), family('c', [])],
    [
      family('a', [
        { labels: { x: '1' }, value: 3 },
        { labels: { x: '2' }, value: 5 },
      ]),
      family('b', [{ labels: {}, value: 7 }]),
    ],
  ]);
  expect(joined.map(({ name, samples }) => [name, samples])).toEqual([
    [
      'a',
      [
        { labels: { x: '1' }, value: 5 },
        { labels: { x: '2' }, value: 5 },
      ],
    ],
    ['c', []],
    ['b', [{ labels: {}, value: 7 }]],
  ]);
});

it('takes the smallest or the largest where a sum would say nothing', () => {
  const make = (value: number) => [
    family('low', [{ labels: {}, value }], { type: 'gauge', across: 'min' }),
    family('high', [{ labels: {}, value }], { type: 'gauge', across: 'max' }),
  ];
  expect(joinFamilies([make(3), make(1), make(2)]).map(({ samples }) => samples[0]!.value)).toEqual([1, 3]);
});

it('adds histograms, also those that came from another process, and changes none of them', () => {
  const own = [family('h', [{ labels: {}, value: histogram(0.0001, 5) }], { type: 'histogram' })];
  const cloned = structuredClone([family('h', [{ labels: {}, value: histogram(5, 1000) }], { type: 'histogram' })]);
  const all = [family('h', [{ labels: {}, value: histogram(0.0001, 5, 5, 1000) }], { type: 'histogram' })];
  const before = writeExposition(own);
  expect(writeExposition(joinFamilies([own, cloned, []]))).toBe(writeExposition(all));
  expect(writeExposition(own)).toBe(before);
});

it('keeps of a process that ended what only grows', () => {
  const families = [family('a', []), family('b', [], { type: 'gauge' }), family('c', [], { type: 'histogram' })];
  expect(keepCounters(families).map(({ name }) => name)).toEqual(['a', 'c']);
});
