import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../domain/errors.ts';
import type { Admission, Counters, Reservation } from './counters.ts';
import { GuardedCounters, type GuardSettings } from './guarded-counters.ts';
import { MemoryCounters } from './memory/memory-counters.ts';

/** Shared counters that can be taken away. */
function createStore() {
  const memory = new MemoryCounters();
  const store = {
    state: 'there' as 'there' | 'gone' | 'silent',
    calls: 0,
    memory,
    async reach<Answer>(answer: () => Answer): Promise<Answer> {
      store.calls++;
      if (store.state === 'gone') throw new Error('ECONNREFUSED');
      if (store.state === 'silent') await new Promise<never>(() => {});
      return answer();
    },
  };
  const counters: Counters = {
    admit: (admission) => store.reach(() => memory.admit(admission)),
    leave: (admission, tokens) => store.reach(() => memory.leave(admission, tokens)),
    reserve: (reservation) => store.reach(() => memory.reserve(reservation)),
    settle: (reservation, settlement) => store.reach(() => memory.settle(reservation, settlement)),
    ping: () => store.reach(() => {}),
    close: async () => {},
  };
  return { store, counters };
}

function open(settings: Partial<GuardSettings> = {}) {
  const { store, counters } = createStore();
  const told: string[] = [];
  let recoveries = 0;
  let failures = 0;
  let now = 0;
  const guarded = new GuardedCounters({
    store: counters,
    settings: () => ({ timeoutMs: 20, onFailure: 'open', graceMs: 1000, ...settings }),
    onTrouble: (message) => void told.push(message),
    onRecovery: () => void recoveries++,
    onFailure: () => void failures++,
    now: () => now,
  });
  return {
    store,
    guarded,
    told,
    failures: () => failures,
    recoveries: () => recoveries,
    pass(ms: number) {
      now += ms;
    },
  };
}

let made = 0;
const createAdmission = (): Admission => ({
  id: `gen-${++made}`,
  scopes: [{ id: 'key k', limits: { requests_per_minute: 2, tokens_per_minute: 0, concurrent_streams: 0 } }],
  isStream: false,
  leaseMs: 60_000,
});
const createReservation = (limit = 100n, nanoUsd = 60n): Reservation => ({
  id: `gen-${++made}`,
  reservationMs: 60_000,
  claims: [
    {
      account: 'key k',
      nanoUsd,
      startsMs: [0, 0, 0, 0],
      recordedNanoUsd: [0n, 0n, 0n, 0n],
      readAtMs: 0,
      limits: [{ window: 'lifetime', nanoUsd: limit, isExhaustedWhenReached: true }],
    },
  ],
});
const cost = (costNanoUsd: bigint) => ({ atMs: 1, costsNanoUsd: [costNanoUsd] });
const refused = expect.objectContaining({ kind: 'unavailable', retryAfterSeconds: 5 });

describe('shared counters that do not answer', () => {
  it('tells once that the store is gone, and once that it is back', async () => {
    const { store, guarded, told, recoveries } = open();
    store.state = 'gone';
    for (let at = 0; at < 3; at++) await guarded.admit(createAdmission());
    expect([told.length, recoveries()]).toEqual([1, 0]);
    store.state = 'there';
    await expect.poll(recoveries, { timeout: 5000 }).toBe(1);
    expect(guarded.isWhole).toBe(true);
    expect(told).toHaveLength(1);
  });

  it('are asked once, then this process counts for itself, which is told once', async () => {
    const { store, guarded, told, failures } = open();
    store.state = 'gone';
    expect(await guarded.admit(createAdmission())).toBeUndefined();
    const { calls } = store;
    expect(await guarded.admit(createAdmission())).toBeUndefined();
    expect(await guarded.admit(createAdmission())).toMatchObject({ limit: 'requests_per_minute' });
    expect(await guarded.reserve(createReservation())).toBeUndefined();
    expect(store.calls).toBe(calls);
    expect(failures()).toBe(1);
    expect(told).toEqual([
      'The shared counters do not answer: this process counts for itself, budgets for 1 s until they do.',
    ]);
  });

  it('and say nothing at all count as gone after the time-out', async () => {
    const { store, guarded } = open();
    store.state = 'silent';
    expect(await guarded.admit(createAdmission())).toBeUndefined();
    expect(guarded.isWhole).toBe(false);
  });

  it('refuse with 503 when it is set so', async () => {
    const { store, guarded } = open({ onFailure: 'closed' });
    store.state = 'gone';
    await expect(guarded.admit(createAdmission())).rejects.toEqual(refused);
    await expect(guarded.reserve(createReservation())).rejects.toEqual(refused);
    await expect(guarded.reserve(createReservation())).rejects.toBeInstanceOf(GatewayError);
  });

  it('leave what this process has held in its memory, and what it settles', async () => {
    const { store, guarded } = open();
    const before = createReservation();
    expect(await guarded.reserve(before)).toBeUndefined();
    store.state = 'gone';
    expect(await guarded.reserve(createReservation())).toMatchObject({ reservedNanoUsd: 60n });
    await guarded.settle(before, cost(10n));
    expect(await guarded.reserve(createReservation())).toBeUndefined();
    expect(await guarded.reserve(createReservation())).toMatchObject({ spentNanoUsd: 10n, reservedNanoUsd: 60n });
  });

  it('let budgets be held in memory for a time, then 503; rates go on', async () => {
    const { store, guarded, pass } = open();
    store.state = 'gone';
    expect(await guarded.reserve(createReservation(1000n))).toBeUndefined();
    pass(999);
    expect(await guarded.reserve(createReservation(1000n))).toBeUndefined();
    pass(1);
    await expect(guarded.reserve(createReservation(1000n))).rejects.toEqual(refused);
    expect(await guarded.admit(createAdmission())).toBeUndefined();
  });

  it('that are back learn what ended meanwhile, and what goes on', async () => {
    const { store, guarded } = open();
    const [ended, goesOn] = [createReservation(1000n), createReservation(1000n)];
    await guarded.reserve(ended);
    store.state = 'gone';
    await guarded.reserve(goesOn);
    await guarded.settle(ended, cost(25n));
    store.state = 'there';
    await expect.poll(() => guarded.isWhole, { timeout: 5000 }).toBe(true);
    expect(store.memory.reserve(createReservation(0n, 0n))).toMatchObject({ spentNanoUsd: 25n, reservedNanoUsd: 60n });
    await guarded.settle(goesOn, cost(5n));
    expect(store.memory.reserve(createReservation(0n, 0n))).toMatchObject({ spentNanoUsd: 30n, reservedNanoUsd: 0n });
  });

  it('learn, too, what ends while they are told what goes on', async () => {
    const { guarded, store } = open({ timeoutMs: 1000 });
    const ended = createReservation(1000n);
    await guarded.reserve(ended);
    store.state = 'gone';
    await guarded.reserve(createReservation(1000n));
    store.state = 'there';
    const asked = Promise.withResolvers<void>();
    const { promise, resolve } = Promise.withResolvers<void>();
    const { reach } = store;
    store.reach = async (answer) => {
      if (/reserve/.test(String(answer))) {
        asked.resolve();
        await promise;
      }
      return reach(answer);
    };
    await asked.promise;
    await guarded.settle(ended, cost(25n)); // is made up for: they do not answer yet, as far as anybody knows
    resolve();
    await expect
      .poll(() => store.memory.reserve(createReservation(0n, 0n)), { timeout: 5000 })
      .toMatchObject({ spentNanoUsd: 25n, reservedNanoUsd: 60n });
  });

  it('that held what they could not say hold it once', async () => {
    const { guarded, store } = open();
    const { reach } = store;
    store.reach = async (answer) => {
      await reach(answer);
      store.reach = reach;
      throw new Error('ECONNRESET');
    };
    const lost = createReservation(1000n);
    expect(await guarded.reserve(lost)).toBeUndefined(); // from memory
    await expect.poll(() => guarded.isWhole, { timeout: 5000 }).toBe(true);
    expect(store.memory.reserve(createReservation(0n, 0n))).toMatchObject({ reservedNanoUsd: 60n });
    await guarded.settle(lost, cost(7n));
    expect(store.memory.reserve(createReservation(0n, 0n))).toMatchObject({ spentNanoUsd: 7n, reservedNanoUsd: 0n });
  });

  it.each([
    'open',
    'closed',
  ] as const)('that held what they could not say learn that it has ended: %s', async (onFailure) => {
    const { guarded, store } = open({ onFailure });
    const { reach } = store;
    store.reach = async (answer) => {
      await reach(answer);
      store.reach = reach;
      store.state = 'gone';
      throw new Error('ECONNRESET');
    };
    const lost = createReservation(1000n);
    if (onFailure === 'closed') await expect(guarded.reserve(lost)).rejects.toEqual(refused);
    else {
      expect(await guarded.reserve(lost)).toBeUndefined(); // from memory
      await guarded.settle(lost, cost(7n));
    }
    store.state = 'there';
    await expect.poll(() => guarded.isWhole, { timeout: 5000 }).toBe(true);
    expect(store.memory.reserve(createReservation(0n, 0n))).toMatchObject({
      spentNanoUsd: onFailure === 'open' ? 7n : 0n,
      reservedNanoUsd: 0n,
    });
  });

  it('learn that it has ended what they were told of while it went on, and could not answer', async () => {
    const { guarded, store } = open();
    store.state = 'gone';
    await guarded.admit(createAdmission());
    const goesOn = createReservation(1000n);
    await guarded.reserve(goesOn); // they are not asked any more
    const told = Promise.withResolvers<void>();
    const { reach } = store;
    store.reach = async (answer) => {
      const value = await reach(answer);
      if (!/reserve/.test(String(answer))) return value;
      store.state = 'gone';
      told.resolve();
      throw new Error('ECONNRESET');
    };
    store.state = 'there';
    await told.promise;
    store.reach = reach;
    await guarded.settle(goesOn, cost(7n));
    store.state = 'there';
    await expect.poll(() => guarded.isWhole, { timeout: 5000 }).toBe(true);
    expect(store.memory.reserve(createReservation(0n, 0n))).toMatchObject({ spentNanoUsd: 7n, reservedNanoUsd: 0n });
  });

  it('that held after all what was given up give it back', async () => {
    const { guarded, store } = open({ timeoutMs: 5 });
    const { promise, resolve } = Promise.withResolvers<void>();
    const { reach } = store;
    store.reach = async (answer) => {
      await promise;
      return reach(answer);
    };
    const late = createReservation(1000n);
    expect(await guarded.reserve(late)).toBeUndefined(); // from memory
    await guarded.settle(late, cost(7n));
    resolve();
    await expect.poll(() => guarded.isWhole, { timeout: 5000 }).toBe(true);
    await expect
      .poll(() => store.memory.reserve(createReservation(0n, 0n)))
      .toMatchObject({ spentNanoUsd: 7n, reservedNanoUsd: 0n });
  });
});
