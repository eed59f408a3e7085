import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { testCounters } from '../contract.ts';
import type { Reservation } from '../counters.ts';
import { MemoryCounters } from './memory-counters.ts';

const shared = new MemoryCounters();
testCounters('memory', async () => shared);

const limitNanoUsd = 100n;
const reservedNanoUsd = 10n;
const start = Date.UTC(2026, 0, 5);

let made = 0;
const createReservation = (account: string, recordedNanoUsd: bigint, readAtMs: number): Reservation => ({
  id: `gen-${++made}`,
  reservationMs: 300_000,
  claims: [
    {
      account,
      nanoUsd: reservedNanoUsd,
      startsMs: [0, start, start, start],
      recordedNanoUsd: [recordedNanoUsd, 0n, 0n, 0n],
      readAtMs,
      limits: [{ window: 'lifetime', nanoUsd: limitNanoUsd, isExhaustedWhenReached: true }],
    },
  ],
});

/** A worker as the counters see it: it reads the ledger's sums now and then, and books there what it has settled. */
class Worker {
  private readonly ledger: Map<string, bigint>;
  private sums = new Map<string, bigint>();
  private readAtMs = start;
  private waiting: { account: string; nanoUsd: bigint }[] = [];

  constructor(ledger: Map<string, bigint>) {
    this.ledger = ledger;
  }
  claim(account: string): Reservation {
    return createReservation(account, this.sums.get(account) ?? 0n, this.readAtMs);
  }
  book(account: string, nanoUsd: bigint): void {
    this.waiting.push({ account, nanoUsd });
  }
  flush(): void {
    for (const { account, nanoUsd } of this.waiting) {
      this.ledger.set(account, (this.ledger.get(account) ?? 0n) + nanoUsd);
    }
    this.waiting = [];
  }
  refresh(nowMs: number): void {
    this.flush();
    this.sums = new Map(this.ledger);
    this.readAtMs = nowMs;
  }
}

describe('counters: memory alone', () => {
  it('counts anew after the clock was set back, and does not wait until it is as late again', () => {
    let nowMs = start + 7_200_000;
    const counters = new MemoryCounters(() => nowMs);
    const limits = { requests_per_minute: 2, tokens_per_minute: 0, concurrent_requests: 0 };
    const admit = () =>
      counters.admit({
        id: `gen-${++made}`,
        scopes: [{ id: 'key k', limits }],
        isConcurrent: false,
        tokens: 0,
        leaseMs: 1,
      });
    for (let time = 0; time < 2; time++) expect(admit()).toHaveProperty('atMs');
    nowMs -= 30_000; // within the minute what was counted still is
    expect(admit()).toMatchObject({ limit: 'requests_per_minute' });
    nowMs = start;
    for (let time = 0; time < 2; time++) expect(admit()).toHaveProperty('atMs');
    expect(admit()).toMatchObject({ limit: 'requests_per_minute', freeInMs: 60_000 - (start % 1000) });
  });

  it('forgets accounts that the ledger knows, so that their number follows those in use and not those ever used', () => {
    let nowMs = start;
    const counters = new MemoryCounters(() => nowMs, 100);
    let max = 0;
    for (let second = 0; second < 20_000; second++, nowMs += 1000) {
      const reservation = createReservation(`key ${second}`, 0n, nowMs - (nowMs % 10_000));
      expect(counters.reserve(reservation)).toBeUndefined();
      counters.settle(reservation, { atMs: nowMs, costsNanoUsd: [7n] });
      max = Math.max(max, counters.accountCount);
    }
    expect(max).toBeLessThan(500); // those of the last four minutes, and as many that were not looked at yet
  });

  it('forgets no account in which something is held, nor any while the ledger is not read', () => {
    let nowMs = start;
    const counters = new MemoryCounters(() => nowMs, 10);
    const held = createReservation('held', 0n, nowMs);
    const settled = createReservation('settled', 0n, nowMs);
    for (const each of [held, settled]) expect(counters.reserve({ ...each, reservationMs: 1e9 })).toBeUndefined();
    counters.settle(settled, { atMs: nowMs, costsNanoUsd: [95n] });
    const useOthers = (readAtMs?: number) => {
      for (let other = 0; other < 1000; other++, nowMs += 1000) {
        const reservation = createReservation(`other ${nowMs}`, 0n, readAtMs ?? nowMs);
        counters.reserve(reservation);
        counters.settle(reservation, { atMs: nowMs, costsNanoUsd: [1n] });
      }
    };
    const ask = (account: string) => counters.reserve({ ...createReservation(account, 0n, nowMs), reservationMs: 1 });
    useOthers(start); // the store is away
    expect(ask('settled')).toMatchObject({ spentNanoUsd: 95n });
    useOthers();
    useOthers();
    expect(counters.accountCount).toBeLessThan(500);
    counters.settle(held, { atMs: nowMs, costsNanoUsd: [96n] });
    expect(ask('held')).toMatchObject({ spentNanoUsd: 96n });
    expect(ask('settled')).toBeUndefined(); // forgotten: a ledger would have said 95
  });

  it('lets no account spend more than its limit through forgetting, also while workers read and book late', () => {
    const second = fc.record({
      worker: fc.nat(1),
      account: fc.nat(60),
      takesSeconds: fc.nat(90),
    });
    const run = fc.array(second, { minLength: 3000, maxLength: 3000, size: 'max' });
    fc.assert(
      fc.property(run, fc.nat(2000), (seconds, awayFrom) => {
        let nowMs = start;
        const counters = new MemoryCounters(() => nowMs, 5);
        const ledger = new Map<string, bigint>();
        const workers = [new Worker(ledger), new Worker(ledger)] as const;
        const spent = new Map<string, bigint>();
        const underWay: { worker: Worker; reservation: Reservation; endsAtMs: number }[] = [];
        const max = new Map<string, bigint>(); // what is spent, and what is held
        const add = (account: string, nanoUsd: bigint) => max.set(account, (max.get(account) ?? 0n) + nanoUsd);
        let forgot = 0;
        for (const [at, { worker: index, account: number, takesSeconds }] of seconds.entries()) {
          nowMs += 1000;
          const worker = workers[index]!;
          const isAway = at >= awayFrom && at < awayFrom + 600;
          if (!isAway) for (const each of workers) each.flush();
          if (!isAway && at % 10 === 0) worker.refresh(nowMs); // now this one, now that one, and now and then neither
          for (const each of underWay.filter(({ endsAtMs }) => endsAtMs <= nowMs)) {
            underWay.splice(underWay.indexOf(each), 1);
            const { account } = each.reservation.claims[0]!;
            const nanoUsd = BigInt(at % 2 === 0 ? 10 : 1);
            each.worker.book(account, nanoUsd);
            counters.settle(each.reservation, { atMs: nowMs, costsNanoUsd: [nanoUsd] });
            spent.set(account, (spent.get(account) ?? 0n) + nanoUsd);
            add(account, nanoUsd - reservedNanoUsd);
          }
          const account = `key ${number + 10 * Math.floor(at / 100)}`; // those in use change
          const before = counters.accountCount;
          const reservation = worker.claim(account);
          if (!counters.reserve(reservation)) {
            underWay.push({ worker, reservation, endsAtMs: nowMs + takesSeconds * 1000 });
            add(account, reservedNanoUsd);
          }
          if (counters.accountCount < before) forgot++;
          expect(max.get(account) ?? 0n).toBeLessThanOrEqual(limitNanoUsd);
        }
        expect(forgot).toBeGreaterThan(0);
        expect([...spent.values()].some((nanoUsd) => nanoUsd > limitNanoUsd - reservedNanoUsd)).toBe(true); // limits were reached
      }),
      { numRuns: 15 },
    );
  });
});
