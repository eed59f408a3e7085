import { array, assert, constantFrom, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RollingCounts } from '../domain/rolling-counts.ts';
import { percentileOf, RecentSamples } from './rolling.ts';

const start = 1_800_000_000_000; // a full second, minute and half hour

const sums = (counts: RollingCounts, nowMs: number) => [counts.sum(0, nowMs), counts.sum(1, nowMs)];

describe('rolling counts', () => {
  it('count each kind separately', () => {
    const counts = new RollingCounts(1000, 3, 2);
    counts.add(0, start);
    counts.add(0, start + 1500);
    counts.add(1, start + 2999);
    expect(sums(counts, start + 2999)).toEqual([2, 1]);
  });

  it('forget slice by slice', () => {
    const counts = new RollingCounts(1000, 3, 1);
    for (const second of [0, 1, 1, 2]) counts.add(0, start + second * 1000);
    const sums = [2, 3, 4, 5, 99].map((second) => counts.sum(0, start + second * 1000));
    expect(sums).toEqual([4, 3, 1, 0, 0]);
  });

  it('forget all after a pause longer than the window, and continue', () => {
    const counts = new RollingCounts(1000, 3, 2);
    counts.add(1, start);
    counts.add(0, start + 3_600_000);
    expect(sums(counts, start + 3_600_000)).toEqual([1, 0]);
  });

  it('count late additions in the newest slice', () => {
    const counts = new RollingCounts(1000, 3, 1);
    counts.add(0, start + 10_000);
    counts.add(0, start);
    expect(counts.sum(0, start + 10_000)).toBe(2);
  });

  it('are unchanged after a save and restore', () => {
    const counts = new RollingCounts(1000, 3, 2);
    counts.add(0, start, 5);
    counts.add(1, start + 1000, 7);
    counts.takeBack(0, start + 1000);
    const again = new RollingCounts(1000, 3, 2);
    again.add(1, start, 99);
    again.restore(counts.save());
    expect(sums(again, start + 1000)).toEqual([4, 7]);
    expect(sums(again, start + 3000)).toEqual([0, 7]);
    expect(sums(again, start + 4000)).toEqual([0, 0]);
  });

  it('recover from an amount beyond the maximum of a slice', () => {
    const counts = new RollingCounts(1000, 3, 1);
    counts.add(0, start, 2 ** 32 + 5);
    expect(counts.sum(0, start + 3000)).toBe(0);
  });

  it('match a list of all times', () => {
    const step = record({ waitMs: constantFrom(0, 1, 400, 1000, 2500, 9999), kind: integer({ min: 0, max: 1 }) });
    assert(
      property(array(step, { maxLength: 40 }), integer({ min: 1, max: 5 }), (steps, slices) => {
        const counts = new RollingCounts(1000, slices, 2);
        const all: { kind: number; slice: number }[] = [];
        let now = start;
        for (const { waitMs, kind } of steps) {
          now += waitMs;
          counts.add(kind, now);
          const slice = Math.floor(now / 1000);
          all.push({ kind, slice });
          const within = all.filter((each) => each.slice > slice - slices);
          expect(sums(counts, now)).toEqual([0, 1].map((each) => within.filter((one) => one.kind === each).length));
        }
      }),
    );
  });
});

describe('recent samples', () => {
  it('are sorted numerically', () => {
    const samples = new RecentSamples(10);
    for (const value of [10, 9, 100, 1]) samples.add(value, start);
    expect(samples.within(1000, start)).toEqual([1, 9, 10, 100]);
  });

  it('exclude old values', () => {
    const samples = new RecentSamples(10);
    samples.add(1, start);
    samples.add(2, start + 500);
    expect(samples.within(1000, start + 999)).toEqual([1, 2]);
    expect(samples.within(1000, start + 1000)).toEqual([2]);
    expect(samples.within(1000, start + 1500)).toEqual([]);
  });

  it('are the newest ones', () => {
    const samples = new RecentSamples(3);
    for (const value of [1, 2, 3, 4, 5]) samples.add(value, start);
    expect(samples.within(1000, start)).toEqual([3, 4, 5]);
  });

  it('are cached for a second if there are many, per time span', () => {
    const samples = new RecentSamples(100);
    for (let value = 0; value < 20; value++) samples.add(value, start);
    expect(samples.within(60_000, start)).toHaveLength(20);
    samples.add(20, start + 1);
    expect(samples.within(60_000, start + 999)).toHaveLength(20);
    expect(samples.within(30_000, start + 999)).toHaveLength(21);
    expect(samples.within(60_000, start + 1999)).toHaveLength(21);
  });

  it('are not cached if there are few', () => {
    const samples = new RecentSamples(100);
    samples.add(1, start);
    samples.within(60_000, start);
    samples.add(2, start);
    expect(samples.within(60_000, start)).toEqual([1, 2]);
  });
});

describe('a percentile', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);

  it.each([
    [[7], 0.5, 7],
    [[7], 0.99, 7],
    [[1, 2], 0.5, 1],
    [[1, 2, 3], 0.5, 2],
    [[1, 2, 3, 4], 0.75, 3],
    [hundred, 0.5, 50],
    [hundred, 0.9, 90],
    [hundred, 0.99, 99],
    [hundred, 1, 100],
  ])('is the value that the share does not exceed', (sorted, share, expected) => {
    expect(percentileOf(sorted, share)).toBe(expected);
  });

  it('of nothing is undefined', () => expect(percentileOf([], 0.5)).toBeUndefined());
});
