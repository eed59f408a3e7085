import { afterEach, describe, expect, it, vi } from 'vitest';
import { createReadinessCheck, type Readiness, type ReadinessParts, writeReadiness } from './readiness.ts';

const fine: Readiness = { isDraining: false, clockAheadMs: 0 };
const at = (seconds: number): number => Date.UTC(2026, 10, 29, 0, 0, seconds);

describe('the response for several workers', () => {
  it('has the first time of each problem, in whatever order they are asked', () => {
    const first: Readiness = { ...fine, store: { state: 'unreachable', sinceMs: at(3) }, notStoredSinceMs: at(1) };
    const second: Readiness = {
      ...fine,
      store: { state: 'unreachable', sinceMs: at(2) },
      notReadSinceMs: at(4),
      counters: { sinceMs: at(5), rejectsAll: false },
    };
    const expected = {
      status: 'ready',
      store: 'unreachable since 2026-11-29T00:00:02.000Z',
      access: 'not read since 2026-11-29T00:00:04.000Z',
      ledger: 'waits in the journal since 2026-11-29T00:00:01.000Z',
      counters: 'unreachable since 2026-11-29T00:00:05.000Z',
    };
    expect(writeReadiness([first, second])).toEqual(expected);
    expect(writeReadiness([second, first])).toEqual(expected);
  });

  it('is a 503 if one of them rejects every request', () => {
    const blocked = { ...fine, blockedSinceMs: at(1) };
    expect(() => writeReadiness([fine, blocked])).toThrow(
      'The ledger cannot be written by 1 of 2 workers since 2026-11-29T00:00:01.000Z.',
    );
    expect(() => writeReadiness([blocked])).toThrow('The ledger cannot be written since 2026');
    expect(() => writeReadiness([fine, { ...fine, isDraining: true }])).toThrow('shutting down');
    expect(() => writeReadiness([fine, { ...fine, staleText: 'The store …' }])).toThrow('The store …');
    expect(() => writeReadiness([fine, { ...fine, counters: { sinceMs: at(1), rejectsAll: true } }])).toThrow(
      'The shared counters have not responded since',
    );
  });

  it('counts those that respond', () => {
    expect(writeReadiness([fine, undefined])).toEqual({ status: 'ready', workers: '1 of 2 respond' });
    expect(writeReadiness([fine, fine])).toEqual({ status: 'ready' });
  });
});

describe('the check of a process', () => {
  afterEach(() => void vi.useRealTimers());

  it('keeps the time of the first failure of the store until it responds', async () => {
    vi.useFakeTimers({ now: at(10) });
    let state: 'writable' | 'read-only' | undefined = 'read-only';
    let lostSinceMs: number | undefined;
    const check = createReadinessCheck({
      isDraining: () => false,
      blockedSinceMs: () => undefined,
      ping: async () => state ?? Promise.reject(new Error('no connection')),
      storeLostSinceMs: () => lostSinceMs,
      checkFresh: () => {},
      lastRead: () => ({ atMs: at(1), ageMs: 0 }),
      notStoredSinceMs: () => undefined,
      notArchivedSinceMs: () => undefined,
      describeCounters: () => undefined,
      lateExports: () => [],
      clockAheadMs: () => 0,
    } satisfies ReadinessParts);
    const readStore = async () => (await check()).store;
    expect(await readStore()).toEqual({ state: 'read-only', sinceMs: at(10) });
    vi.setSystemTime(at(20));
    expect(await readStore()).toEqual({ state: 'read-only', sinceMs: at(10) });
    [state, lostSinceMs] = [undefined, at(15)];
    expect(await readStore()).toEqual({ state: 'unreachable', sinceMs: at(15) });
    [state, lostSinceMs] = ['writable', undefined];
    expect(await readStore()).toBeUndefined();
    state = undefined;
    expect(await readStore()).toEqual({ state: 'unreachable', sinceMs: at(20) });
    lostSinceMs = at(25); // noticed later
    expect(await readStore()).toEqual({ state: 'unreachable', sinceMs: at(20) });
  });
});
