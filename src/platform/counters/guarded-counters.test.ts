import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../domain/errors.ts';
import type { Admission, Claim, Reservation, SharedCounters } from './counters.ts';
import { GuardedCounters, type GuardSettings } from './guarded-counters.ts';
import { MemoryCounters } from './memory/memory-counters.ts';

/** Creates shared counters that can become unreachable. */
function createStore() {
  const store = {
    state: 'there' as 'there' | 'gone' | 'silent',
    calls: 0,
    memory: new MemoryCounters(),
    /** Accounts that it has lost. */
    forgotten: new Set<string>(),
    /** Accounts that it has never had, or has lost, and that this process has not used. */
    missing: new Set<string>(),
    lost: [] as (() => void)[],
    async reach<Answer>(answer: () => Answer): Promise<Answer> {
      store.calls++;
      if (store.state === 'gone') throw new Error('ECONNREFUSED');
      if (store.state === 'silent') await new Promise<never>(() => {});
      return answer();
    },
  };
  const counters: SharedCounters = {
    admit: (admission) => store.reach(() => store.memory.admit(admission)),
    leave: (admission, outcome) => store.reach(() => store.memory.leave(admission, outcome)),
    reserve: (reservation) =>
      store.reach(() => {
        const isForgotten = ({ account, isCurrent }: Claim) => !isCurrent && store.forgotten.has(account);
        if (reservation.claims.some(isForgotten)) return 'forgotten';
        if (reservation.claims.some(({ account, isCurrent }) => !isCurrent && store.missing.has(account)))
          return 'unknown';
        for (const { account } of reservation.claims) {
          store.forgotten.delete(account);
          store.missing.delete(account);
        }
        return store.memory.reserve(reservation);
      }),
    // The ledger's sums tell what was spent.
    release: (ids, claims) =>
      store.reach(() => {
        for (const id of ids) {
          const reservation = { id, claims, reservationMs: 0 };
          store.memory.settle(reservation, { atMs: 0, costsNanoUsd: claims.map(() => 0n) });
        }
        store.memory.reserve({ id: '', claims: claims.map((claim) => ({ ...claim, nanoUsd: 0n })), reservationMs: 0 });
      }),
    onLost: (listener) => void store.lost.push(listener),
    settle: (reservation, settlement) => store.reach(() => store.memory.settle(reservation, settlement)),
    ping: () => store.reach(() => {}),
    close: async () => {},
  };
  return { store, counters };
}

/** How long other processes may take to store what they have recorded. */
const STORED_MS = 60;

function open(settings: Partial<GuardSettings> = {}) {
  const { store, counters } = createStore();
  const ledger = { spentNanoUsd: 0n, reads: 0, isGone: false };
  let readNanoUsd = 0n;
  const read = async (): Promise<void> => {
    ledger.reads++;
    if (ledger.isGone) throw new Error('The store is gone.');
    readNanoUsd = ledger.spentNanoUsd;
  };
  const lines: Record<string, unknown>[] = [];
  let failures = 0;
  let now = 0;
  const guarded = new GuardedCounters({
    store: counters,
    sums: {
      refresh: read,
      refreshFor: read,
      update: (claims) => claims.map((claim) => ({ ...claim, recordedNanoUsd: claim.startsMs.map(() => readNanoUsd) })),
    },
    storedMs: STORED_MS,
    retryMs: 20,
    settings: () => ({ timeoutMs: 20, onFailure: 'open', graceMs: 1000, ...settings }),
    log: (message, fields) => void lines.push({ message, ...fields }),
    onFailure: () => void failures++,
    now: () => now,
  });
  return {
    store,
    ledger,
    guarded,
    lines,
    failures: () => failures,
    pass(ms: number) {
      now += ms;
    },
    /** An entry is in the ledger when its reservation is settled. */
    settle(reservation: Reservation, costNanoUsd: bigint) {
      ledger.spentNanoUsd += costNanoUsd;
      return guarded.settle(reservation, cost(costNanoUsd));
    },
  };
}

let made = 0;
const createAdmission = (): Admission => ({
  id: `gen-${++made}`,
  scopes: [{ id: 'key k', limits: { requests_per_minute: 2, tokens_per_minute: 0, concurrent_requests: 0 } }],
  isConcurrent: false,
  tokens: 0,
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

describe('unavailable shared counters', () => {
  it('are logged once when they fail, and once when they are back', async () => {
    const { store, guarded, lines } = open();
    store.state = 'gone';
    for (let at = 0; at < 3; at++) await guarded.admit(createAdmission());
    expect(lines).toMatchObject([{ message: 'counters unavailable' }]);
    store.state = 'there';
    const messages = () => lines.map(({ message }) => message);
    await expect.poll(messages).toEqual(['counters unavailable', 'counters recovered']);
    expect(guarded.isWhole).toBe(true);
  });

  it('are called once, then this process counts for itself, which is logged once', async () => {
    const { store, guarded, lines, failures } = open();
    store.state = 'gone';
    expect(await guarded.admit(createAdmission())).toHaveProperty('atMs');
    const { calls } = store;
    expect(await guarded.admit(createAdmission())).toHaveProperty('atMs');
    expect(await guarded.admit(createAdmission())).toMatchObject({ limit: 'requests_per_minute' });
    expect(store.calls).toBe(calls);
    expect(await guarded.reserve(createReservation())).toBeUndefined();
    expect(failures()).toBe(1);
    expect(lines).toMatchObject([{ message: 'counters unavailable', on_failure: 'open', grace_ms: 1000 }]);
  });

  it('count as unavailable after a timeout', async () => {
    const { store, guarded } = open();
    store.state = 'silent';
    expect(await guarded.admit(createAdmission())).toHaveProperty('atMs');
    expect(guarded.isWhole).toBe(false);
  });

  it('reject with 503 if on_failure is closed', async () => {
    const { store, guarded } = open({ onFailure: 'closed' });
    store.state = 'gone';
    await expect(guarded.admit(createAdmission())).rejects.toEqual(refused);
    await expect(guarded.reserve(createReservation())).rejects.toEqual(refused);
    await expect(guarded.reserve(createReservation())).rejects.toBeInstanceOf(GatewayError);
  });

  it('leave reservations and settlements to the memory of this process', async () => {
    const { store, guarded, settle } = open();
    const before = createReservation();
    expect(await guarded.reserve(before)).toBeUndefined();
    store.state = 'gone';
    expect(await guarded.reserve(createReservation())).toMatchObject({ reservedNanoUsd: 60n });
    await settle(before, 10n);
    expect(await guarded.reserve(createReservation())).toBeUndefined();
    expect(await guarded.reserve(createReservation())).toMatchObject({ spentNanoUsd: 10n, reservedNanoUsd: 60n });
  });

  it('let the memory reserve budgets for grace_ms, then reject with 503; rates go on', async () => {
    const { store, guarded, pass } = open();
    store.state = 'gone';
    expect(await guarded.reserve(createReservation(1000n))).toBeUndefined();
    pass(999);
    expect(await guarded.reserve(createReservation(1000n))).toBeUndefined();
    pass(1);
    await expect(guarded.reserve(createReservation(1000n))).rejects.toEqual(refused);
    expect(await guarded.admit(createAdmission())).toHaveProperty('atMs');
  });

  it('get the ended and the current reservations when they are back', async () => {
    const { store, guarded, settle } = open();
    const [ended, goesOn] = [createReservation(1000n), createReservation(1000n)];
    await guarded.reserve(ended);
    store.state = 'gone';
    await guarded.reserve(goesOn);
    await settle(ended, 25n);
    store.state = 'there';
    await expect.poll(() => guarded.isWhole).toBe(true);
    expect(store.memory.reserve(createReservation(0n, 0n))).toMatchObject({ spentNanoUsd: 25n, reservedNanoUsd: 60n });
    await settle(goesOn, 5n);
    expect(store.memory.reserve(createReservation(0n, 0n))).toMatchObject({ spentNanoUsd: 30n, reservedNanoUsd: 0n });
  });

  it('get a reservation that ends during the announcement', async () => {
    const { guarded, store, settle } = open({ timeoutMs: 1000 });
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
    await settle(ended, 25n); // is made up for: they do not answer yet, as far as anybody knows
    resolve();
    await expect
      .poll(() => store.memory.reserve(createReservation(0n, 0n)))
      .toMatchObject({ spentNanoUsd: 25n, reservedNanoUsd: 60n });
  });

  it('reserve once if their response was lost', async () => {
    const { guarded, store, settle } = open();
    const { reach } = store;
    store.reach = async (answer) => {
      await reach(answer);
      store.reach = reach;
      throw new Error('ECONNRESET');
    };
    const lost = createReservation(1000n);
    expect(await guarded.reserve(lost)).toBeUndefined(); // from memory
    await expect.poll(() => guarded.isWhole).toBe(true);
    expect(store.memory.reserve(createReservation(0n, 0n))).toMatchObject({ reservedNanoUsd: 60n });
    await settle(lost, 7n);
    expect(store.memory.reserve(createReservation(0n, 0n))).toMatchObject({ spentNanoUsd: 7n, reservedNanoUsd: 0n });
  });

  it.each(['open', 'closed'] as const)('release a reservation whose response was lost: %s', async (onFailure) => {
    const { guarded, store, settle } = open({ onFailure });
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
      await settle(lost, 7n);
    }
    store.state = 'there';
    await expect.poll(() => guarded.isWhole).toBe(true);
    expect(store.memory.reserve(createReservation(0n, 0n))).toMatchObject({
      spentNanoUsd: onFailure === 'open' ? 7n : 0n,
      reservedNanoUsd: 0n,
    });
  });

  it('release a reservation that ended after an announcement without a response', async () => {
    const { guarded, store, settle } = open();
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
    await settle(goesOn, 7n);
    store.state = 'there';
    await expect.poll(() => guarded.isWhole).toBe(true);
    expect(store.memory.reserve(createReservation(0n, 0n))).toMatchObject({ spentNanoUsd: 7n, reservedNanoUsd: 0n });
  });

  it('release a reservation that was made after its timeout', async () => {
    const { guarded, store, settle } = open({ timeoutMs: 5 });
    const { promise, resolve } = Promise.withResolvers<void>();
    const { reach } = store;
    store.reach = async (answer) => {
      await promise;
      return reach(answer);
    };
    const late = createReservation(1000n);
    expect(await guarded.reserve(late)).toBeUndefined(); // from memory
    await settle(late, 7n);
    resolve();
    await expect.poll(() => guarded.isWhole).toBe(true);
    await expect
      .poll(() => store.memory.reserve(createReservation(0n, 0n)))
      .toMatchObject({ spentNanoUsd: 7n, reservedNanoUsd: 0n });
  });
});

describe('shared counters that lost their counts', () => {
  it('get the sums of the ledger and the reservations of this process before they reserve again', async () => {
    const { guarded, store, ledger, settle, lines } = open();
    const [ended, goesOn] = [createReservation(), createReservation(1000n)];
    await guarded.reserve(ended);
    await settle(ended, 30n);
    await guarded.reserve(goesOn);
    store.memory = new MemoryCounters();
    store.forgotten.add('key k');
    const asked = await Promise.all(Array.from({ length: 5 }, () => guarded.reserve(createReservation(100n, 10n))));
    expect(asked.filter((refusal) => refusal === undefined)).toHaveLength(1);
    expect(asked.at(-1)).toMatchObject({ spentNanoUsd: 30n, reservedNanoUsd: 70n });
    expect(ledger.reads).toBe(1);
    await settle(goesOn, 5n);
    expect(store.memory.reserve(createReservation(0n, 0n))).toMatchObject({ spentNanoUsd: 35n, reservedNanoUsd: 10n });
    expect(lines).toEqual([]);
  });

  it('do the same after a lost connection, although they have the account', async () => {
    const { guarded, store, ledger, settle } = open();
    const [first, goesOn] = [createReservation(), createReservation(1000n)];
    await guarded.reserve(first);
    await settle(first, 30n);
    await guarded.reserve(goesOn);
    store.memory = new MemoryCounters(); // what they were some time ago
    for (const lost of store.lost) lost();
    const refused = await Promise.all([1, 2].map(() => guarded.reserve(createReservation(100n, 20n))));
    expect(refused).toEqual([1, 2].map(() => expect.objectContaining({ spentNanoUsd: 30n, reservedNanoUsd: 60n })));
    expect(ledger.reads).toBe(1);
    expect(await guarded.reserve(createReservation(100n, 10n))).toBeUndefined();
    expect(ledger.reads).toBe(1);
  });

  /** Lets another process store what it has recorded: its write failed, and its retry comes late. */
  const storeLate = (ledger: { spentNanoUsd: bigint }, nanoUsd: bigint) =>
    setTimeout(() => {
      ledger.spentNanoUsd += nanoUsd;
    }, STORED_MS - 20);
  /** Ends an outage. @param onBack called at the first call that reaches the store */
  const comeBack = (store: ReturnType<typeof createStore>['store'], onBack: () => void): void => {
    const { reach } = store;
    store.reach = (answer) => {
      store.reach = reach;
      onBack();
      return reach(answer);
    };
    store.state = 'there';
  };

  it('reserve only after other processes have stored what they recorded', async () => {
    const { guarded, store, ledger, settle } = open();
    const first = createReservation();
    await guarded.reserve(first);
    await settle(first, 10n);
    store.memory = new MemoryCounters();
    store.forgotten.add('key k');
    storeLate(ledger, 50n);
    expect(await guarded.reserve(createReservation(100n, 41n))).toMatchObject({ spentNanoUsd: 60n });
    expect(await guarded.reserve(createReservation(100n, 40n))).toBeUndefined();
  });

  it.each([
    ['forgot the account', 'gone'],
    ['may be older than they were', 'gone'],
    ['forgot the account', 'silent'],
  ] as const)('do the same after an outage of this process: they %s, and were %s', async (loss, state) => {
    const { guarded, store, ledger, settle } = open({ timeoutMs: 20 });
    const [first, goesOn] = [createReservation(), createReservation(1000n, 20n)];
    await guarded.reserve(first);
    await settle(first, 10n);
    await guarded.reserve(goesOn);
    store.state = state;
    expect(await guarded.reserve(createReservation(100n, 80n))).toMatchObject({ reservedNanoUsd: 20n }); // from memory
    expect(guarded.isWhole).toBe(false);
    store.memory = new MemoryCounters();
    if (loss === 'forgot the account') store.forgotten.add('key k');
    else for (const lost of store.lost) lost();
    comeBack(store, () => storeLate(ledger, 50n));
    await expect.poll(() => guarded.isWhole).toBe(true);
    expect(await guarded.admit(createAdmission())).toHaveProperty('atMs');
    const refusal = { spentNanoUsd: 60n, reservedNanoUsd: 20n };
    expect(await guarded.reserve(createReservation(100n, 21n))).toMatchObject(refusal);
    expect(await guarded.reserve(createReservation(100n, 20n))).toBeUndefined();
  });

  it('do the same after an outage for an account that this process has not used', async () => {
    const { guarded, store, ledger } = open();
    store.state = 'gone';
    await guarded.admit(createAdmission());
    store.missing.add('key k');
    comeBack(store, () => storeLate(ledger, 50n));
    expect(await guarded.reserve(createReservation(100n, 80n))).toMatchObject({ spentNanoUsd: 50n });
  });

  it('do not wait after an outage in which they lost nothing', async () => {
    const { guarded, store, ledger } = open();
    await guarded.reserve(createReservation(1000n, 20n));
    store.state = 'gone';
    await guarded.admit(createAdmission());
    store.state = 'there';
    await expect.poll(() => guarded.isWhole).toBe(true);
    storeLate(ledger, 50n);
    expect(await guarded.reserve(createReservation(100n, 80n))).toBeUndefined();
  });

  it.each([
    'open',
    'closed',
  ] as const)('count as unavailable while the ledger is unreachable: %s', async (onFailure) => {
    const { guarded, store, ledger, settle, lines } = open({ onFailure });
    const first = createReservation();
    await guarded.reserve(first);
    await settle(first, 30n);
    store.memory = new MemoryCounters();
    store.forgotten.add('key k');
    ledger.isGone = true;
    const asked = guarded.reserve(createReservation(100n, 80n));
    if (onFailure === 'closed') await expect(asked).rejects.toEqual(refused);
    else expect(await asked).toMatchObject({ spentNanoUsd: 30n }); // by its memory
    expect(guarded.isWhole).toBe(false);
    ledger.isGone = false;
    const last = () => lines.at(-1)?.['message'];
    await expect.poll(last).toBe('counters recovered');
    expect(await guarded.reserve(createReservation(100n, 80n))).toMatchObject({ spentNanoUsd: 30n });
    expect(await guarded.reserve(createReservation(100n, 70n))).toBeUndefined();
  });
});
