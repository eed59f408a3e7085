import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { correctClock, currentTimeMs } from '../domain/clock.ts';
import { ClockWatch, describeSkew } from './clock-watch.ts';

const hour = 3_600_000;
let watch: ClockWatch;
beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(performance, 'now').mockImplementation(() => Date.now()); // fake timers replace only the global
});
afterEach(() => {
  watch.close();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A store whose clock differs from that of this host. */
async function open(differenceMs: number) {
  const store = { differenceMs, isGone: false };
  const told: (number | 'agreement')[] = [];
  watch = new ClockWatch({
    async readTime() {
      if (store.isGone) throw new Error('gone');
      return Date.now() + store.differenceMs;
    },
    correct: correctClock,
    onSkew: (aheadMs) => told.push(Math.round(aheadMs / hour)),
    onAgreement: () => told.push('agreement'),
  });
  await watch.open();
  const difference = () => currentTimeMs() - Date.now();
  return { store, told, difference, next: () => vi.advanceTimersByTimeAsync(1000) };
}

describe('the clock of a host', () => {
  it.each([13 * hour, -26 * hour, 1500])('follows the clock of the store: %i ms', async (differenceMs) => {
    const { difference } = await open(differenceMs);
    expect(difference()).toBe(differenceMs);
  });

  it.each([0, 900, -900])('stays as it is where it differs by less than a second: %i ms', async (differenceMs) => {
    const { difference, told } = await open(differenceMs);
    expect(difference()).toBe(0);
    expect(told).toEqual([]);
  });

  it('keeps its correction while measurements agree with it, and without the store', async () => {
    const { store, difference, next } = await open(hour);
    store.differenceMs += 700;
    await next();
    expect(difference()).toBe(hour);
    store.isGone = true;
    store.differenceMs = 0;
    await next();
    expect(difference()).toBe(hour);
    store.isGone = false;
    await next();
    expect(difference()).toBe(0);
  });

  it('is reported when it differs by more than a minute, once per streak', async () => {
    const { store, told, next } = await open(-13 * hour);
    await next();
    store.differenceMs = 30_000;
    await next();
    await next();
    store.differenceMs = 2 * hour;
    await next();
    expect(told).toEqual([13, 'agreement', -2]);
    expect(watch.aheadMs).toBeCloseTo(-2 * hour, -2);
  });
});

it.each([
  [13 * hour, '13 h ahead of'],
  [-150_000, '2.5 min behind'],
])('describes a difference: %i ms', (aheadMs, text) => expect(describeSkew(aheadMs)).toBe(text));
