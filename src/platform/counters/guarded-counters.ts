import { setTimeout as delay } from 'node:timers/promises';
import { currentTimeMs } from '../../domain/clock.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { WriteLog } from '../telemetry/log-messages.ts';
import { withTimeout } from '../with-timeout.ts';
import {
  type Admission,
  type BudgetRefusal,
  type Claim,
  type CounterOutage,
  type Counters,
  isRefused,
  type AdmissionOutcome,
  type RateDecision,
  type Reservation,
  type Settlement,
  type SharedCounters,
  type Unready,
} from './counters.ts';
import { MemoryCounters } from './memory/memory-counters.ts';

export interface GuardSettings {
  /** Time limit of a call. */
  timeoutMs: number;
  /** `closed`: rejects requests that cannot be counted. */
  onFailure: 'open' | 'closed';
  /** How long this process may reserve money without the shared counters. */
  graceMs: number;
}
/** The sums of the ledger, as in claims. */
export interface LedgerSums {
  /** Stores the records of this process, and reads all sums. */
  refresh(): Promise<void>;
  /** Does the same for the accounts of a reservation. */
  refreshFor(reservation: Reservation): Promise<void>;
  /** Returns the claims with the sums that were read last. */
  update(claims: readonly Claim[]): Claim[];
}
export interface GuardParts {
  /** The counters that several processes share. */
  store: SharedCounters;
  sums: LedgerSums;
  /** Time in which other processes store their records once the ledger's store is reachable. */
  storedMs: number;
  /** Time between two attempts to reach the store after a failure. Default: one second. */
  retryMs?: number;
  settings: () => GuardSettings;
  /** Logs the start and the end of a streak of failures. */
  log: WriteLog;
  /** Called for every call that fails. */
  onFailure?: () => void;
  now?: () => number;
}

const DEFAULT_RETRY_MS = 1000;
/** Maximum calls to repeat later. Beyond it, leases and reservations expire. */
const MAX_LATE = 10_000;

/** Result for a request that the store may or may not have admitted. Its reservation lasts for a minute. */
const unknown: AdmissionOutcome = { tokens: 0, admittedAtMs: undefined };

/** Reservations that are announced or released at once. */
const BATCH = 200;
/** How long a request waits while the sums of the ledger are read. */
const CATCH_UP_MS = 5000;
/** Processes read the sums at different moments. After this time, each process reads them once more. */
const REREAD_MS = 1500;

/**
 * Shared counters with a bounded effect of failures. If a call fails or is late, the memory of this process decides.
 * The memory has the requests and reservations of this process, and the last sums of the ledger. Further calls use the
 * memory at once, until a ping in the background reaches the store again.
 *
 * This process then stores its records, reads the sums of the ledger, announces its open reservations, whatever the
 * limits, and releases those that have ended. If the store has lost an account, or may have lost one, no money is
 * reserved until the other processes have had time to store their records and the sums are read again.
 *
 * `onFailure: closed` rejects instead. Otherwise, memory reserves money for `graceMs`. After that time, requests with a
 * budget are rejected, too.
 */
export class GuardedCounters implements Counters {
  private readonly parts: GuardParts;
  private readonly now: () => number;
  private readonly memory = new MemoryCounters();
  /** Admissions that only the memory counts. */
  private readonly alone = new WeakSet<Admission>();
  /** Reservations that the store has. Only the memory has the others. */
  private readonly stored = new WeakSet<Reservation>();
  /** Calls without a response. It is unknown whether the store executed them. */
  private readonly unsure = new WeakSet<Admission | Reservation>();
  /** Reserved and not settled yet. */
  private readonly inFlight = new Set<Reservation>();
  private late: (() => MaybePromise<void>)[] = [];
  /** Settled while the store was unreachable. The ledger has their cost. */
  private readonly ended = new Set<Reservation>();
  /** Accounts, as text → the announcement of the reservations of this process. */
  private readonly announcing = new Map<string, Promise<void>>();
  /** Whether the store may have lost counts that this process has not announced again. */
  private isBehind = false;
  private catchingUp: Promise<void> | undefined;
  /** performance.now() after which other processes have stored their records of the last outage. */
  private storedAt = 0;
  private rereading: NodeJS.Timeout | undefined;
  /** Whether the last failure was an error and not a timeout, so that a retry takes no time. */
  private failsAtOnce = false;
  private brokenSince: number | undefined;
  /** The same in Unix milliseconds. */
  private brokenSinceMs = 0;
  private timer: NodeJS.Timeout | undefined;
  private recovering: Promise<void> | undefined;
  private closed = false;
  private readonly deliveries = new Set<Promise<void>>();

  constructor(parts: GuardParts) {
    this.parts = parts;
    this.now = parts.now ?? (() => performance.now());
    parts.store.onLost?.(() => {
      this.isBehind = true;
    });
  }

  /**
   * Waits for the store for a limited time, so that the first request can use it. Never rejects, because the gateway
   * also works without the store.
   */
  async open(limitMs: number): Promise<void> {
    try {
      await withTimeout(limitMs, Promise.resolve(this.parts.store.ping()));
    } catch (error) {
      this.broke(error);
    }
  }

  /** Whether the shared counters respond. */
  get isWhole(): boolean {
    return this.brokenSince === undefined;
  }

  get outage(): CounterOutage | undefined {
    if (this.brokenSince === undefined) return undefined;
    const { onFailure, graceMs } = this.parts.settings();
    const goneMs = this.now() - this.brokenSince;
    const isClosed = onFailure === 'closed';
    return {
      sinceMs: this.brokenSinceMs,
      rejectsRates: isClosed,
      rejectsBudgets: isClosed || goneMs >= graceMs,
    };
  }

  async admit(admission: Admission): Promise<RateDecision> {
    const { store } = this.parts;
    const isAsked = this.isWhole;
    const answer = await this.ask(
      () => store.admit(admission),
      (late) => {
        if (!isRefused(late)) this.makeUp(() => store.leave(admission, { tokens: 0, admittedAtMs: late.atMs }));
      },
    );
    if (answer) return answer.value;
    const isClosed = this.parts.settings().onFailure === 'closed';
    const alone = isClosed ? undefined : this.memory.admit(admission);
    if ((!alone || isRefused(alone)) && isAsked) this.makeUp(() => store.leave(admission, unknown));
    if (!alone) throw refuse('The counters of rate limits do not respond');
    if (isRefused(alone)) return alone;
    if (isAsked) this.unsure.add(admission);
    this.alone.add(admission);
    return alone;
  }

  async leave(admission: Admission, outcome: AdmissionOutcome): Promise<void> {
    if (this.alone.has(admission)) {
      if (this.unsure.has(admission)) this.makeUp(() => this.parts.store.leave(admission, unknown));
      return this.memory.leave(admission, outcome);
    }
    await this.deliver(() => this.parts.store.leave(admission, outcome));
  }

  async reserve(reservation: Reservation): Promise<BudgetRefusal | undefined> {
    const isAsked = this.isWhole;
    const answer = await this.reserveThere(reservation);
    if (answer) {
      if (answer.value) return answer.value;
      this.stored.add(reservation);
      this.memory.adopt(reservation);
      this.inFlight.add(reservation);
      return undefined;
    }
    // A call may fail although the counters have recovered since.
    const isClosed = this.outage ? this.outage.rejectsBudgets : this.parts.settings().onFailure === 'closed';
    const refusal = isClosed ? undefined : this.memory.reserve(reservation);
    if ((isClosed || refusal) && isAsked) this.releaseLater(reservation);
    if (isClosed) throw refuse('The counters of budgets do not respond');
    if (refusal) return refusal;
    if (isAsked) this.unsure.add(reservation);
    this.inFlight.add(reservation);
    return undefined;
  }

  async settle(reservation: Reservation, settlement: Settlement): Promise<void> {
    this.inFlight.delete(reservation);
    this.memory.settle(reservation, settlement);
    const mayBeStored = this.stored.has(reservation) || this.unsure.has(reservation);
    if (!mayBeStored) return;
    await this.deliver(
      () => this.parts.store.settle(reservation, settlement),
      () => this.releaseLater(reservation),
    );
  }

  async release(ids: readonly string[], claims: readonly Claim[]): Promise<void> {
    await this.deliver(() => this.parts.store.release(ids, claims));
  }

  ping(): MaybePromise<void> {
    return this.parts.store.ping();
  }

  /** Repeats late calls if the store responds, and closes it. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    clearTimeout(this.rereading);
    await withTimeout(this.parts.settings().timeoutMs, Promise.all(this.deliveries)).catch(() => {});
    if (this.late.length + this.ended.size > 0) await this.recover().catch(() => {});
    await this.parts.store.close();
  }

  /**
   * Calls the store.
   *
   * @param onLate receives a late response
   * @returns undefined if there is no response in time, or if the store is known to be unreachable
   */
  private async ask<Value>(
    call: () => MaybePromise<Value>,
    onLate: (value: Value) => void,
  ): Promise<{ value: Value } | undefined> {
    if (this.brokenSince !== undefined) return undefined;
    let isLate = false;
    const startedAt = performance.now();
    try {
      const asked = Promise.resolve(call());
      asked.then(
        (value) => isLate && onLate(value),
        () => {},
      );
      return { value: await withTimeout(this.parts.settings().timeoutMs, asked) };
    } catch (error) {
      isLate = true;
      this.failsAtOnce = performance.now() - startedAt < this.parts.settings().timeoutMs;
      this.broke(error);
      return undefined;
    }
  }

  /** Makes a call that no request awaits. If it fails, `makeLater` repeats it. */
  private async deliver(call: () => MaybePromise<void>, makeLater = () => this.makeUp(call)): Promise<void> {
    if (this.brokenSince !== undefined) return makeLater();
    const delivery = Promise.resolve(call()).catch((error) => {
      this.broke(error);
      makeLater();
    });
    this.deliveries.add(delivery);
    await delivery;
    this.deliveries.delete(delivery);
  }

  private makeUp(call: () => MaybePromise<void>): void {
    if (this.late.length < MAX_LATE) this.late.push(call);
    if (this.brokenSince === undefined) this.schedule(0);
  }

  /** Releases the reservation during the next recovery. The ledger has its cost at that time. */
  private releaseLater(reservation: Reservation): void {
    if (this.ended.size < MAX_LATE) this.ended.add(reservation);
    if (this.brokenSince === undefined) this.schedule(0);
  }

  /**
   * Reserves in the store. Retries a call that failed at once, because the store may be reachable again.
   *
   * @returns undefined if there is no response in time
   */
  private async reserveThere(reservation: Reservation): Promise<{ value: BudgetRefusal | undefined } | undefined> {
    const answer = this.isWhole ? await this.reserveReadily(reservation) : undefined;
    if (answer || !this.failsAtOnce) return answer;
    await withTimeout(CATCH_UP_MS, this.tryRecover()).catch(() => {}); // the start of the outage is logged
    if (!this.isWhole) return undefined;
    return this.reserveReadily({ ...reservation, claims: this.parts.sums.update(reservation.claims) });
  }

  /**
   * Reserves in the store, after lost accounts are announced.
   *
   * @returns undefined if there is no response in time
   */
  private async reserveReadily(reservation: Reservation): Promise<{ value: BudgetRefusal | undefined } | undefined> {
    const { store, sums } = this.parts;
    const ask = (asked: Reservation) =>
      this.ask(
        () => store.reserve(asked),
        (answer) => {
          if (answer) return;
          if (this.inFlight.has(reservation)) this.stored.add(reservation);
          else this.releaseLater(reservation);
        },
      );
    try {
      let asked = reservation;
      if (this.isBehind || this.catchingUp || this.announcing.size > 0) {
        await withTimeout(CATCH_UP_MS, this.catchUp());
        asked = { ...reservation, claims: sums.update(reservation.claims) };
      }
      let answer = await ask(asked);
      if (isUnready(answer?.value)) {
        await withTimeout(CATCH_UP_MS, this.remind(reservation, answer?.value === 'forgotten'));
        answer = await ask({ ...reservation, claims: sums.update(reservation.claims).map(makeCurrent) });
      }
      if (answer === undefined) return undefined;
      const { value } = answer;
      if (isUnready(value)) throw new Error('The shared counters forgot an account that was just announced.');
      return { value };
    } catch (error) {
      this.broke(error);
      return undefined;
    }
  }

  /** Waits for announcements in progress. After a lost connection, announces everything, as after an outage. */
  private async catchUp(): Promise<void> {
    if (this.isBehind && !this.catchingUp) {
      this.isBehind = false;
      this.catchingUp = this.announceAll()
        .catch((error) => {
          this.isBehind = true;
          throw error;
        })
        .finally(() => {
          this.catchingUp = undefined;
        });
    }
    await Promise.all([this.catchingUp, ...this.announcing.values()]);
  }

  private async announceAll(): Promise<void> {
    await delay(this.parts.storedMs);
    await this.parts.sums.refresh();
    this.rereadLater();
    await this.announce([...this.inFlight], true);
  }

  /** Reads the sums of the accounts of a reservation, and announces the reservations of this process in them. */
  private remind(reservation: Reservation, isForgotten: boolean): Promise<void> {
    const accounts = new Set(reservation.claims.map(({ account }) => account));
    const name = JSON.stringify([...accounts]);
    const known = this.announcing.get(name);
    if (known) return known;
    const remind = async (): Promise<void> => {
      // The account is new, or an outage has emptied the store.
      const waitMs = isForgotten ? this.parts.storedMs : this.storedAt - performance.now();
      if (waitMs > 0) {
        await delay(waitMs);
        this.rereadLater();
      }
      await this.parts.sums.refreshFor(reservation);
      await this.announce(
        [...this.inFlight].filter(({ claims }) => claims.some(({ account }) => accounts.has(account))),
        true,
      );
    };
    const reminder = remind().finally(() => this.announcing.delete(name));
    this.announcing.set(name, reminder);
    return reminder;
  }

  private rereadLater(): void {
    this.rereading ??= setTimeout(() => {
      this.rereading = undefined;
      this.parts.sums.refresh().catch(() => {}); // the sums are read every ten seconds anyway
    }, REREAD_MS).unref();
  }

  /**
   * Announces the reservations of this process, whatever the limits. The store counts each once.
   *
   * @param isCurrent whether the sums are complete, so that the store may create accounts from them
   * @returns whether the store has all of their accounts
   */
  private async announce(reservations: readonly Reservation[], isCurrent: boolean): Promise<boolean> {
    const { store, sums, settings } = this.parts;
    let isComplete = true;
    for (let at = 0; at < reservations.length; at += BATCH) {
      const batch = reservations.slice(at, at + BATCH).filter((each) => this.inFlight.has(each));
      for (const each of batch) this.unsure.add(each); // it may end in the meantime
      const asked = batch.map(async (each) => {
        const claims = sums.update(each.claims).map((claim) => ({ ...claim, isCurrent, limits: [] }));
        return store.reserve({ ...each, claims });
      });
      const answers = await withTimeout(settings().timeoutMs, Promise.all(asked));
      for (const [index, each] of batch.entries()) {
        if (isUnready(answers[index])) isComplete = false;
        else this.stored.add(each);
        if (!this.inFlight.has(each)) this.releaseLater(each); // it may have ended before its announcement
      }
    }
    return isComplete;
  }

  private broke(error: unknown): void {
    if (this.closed) return;
    this.parts.onFailure?.();
    if (this.brokenSince !== undefined) return;
    this.brokenSince = this.now();
    this.brokenSinceMs = currentTimeMs();
    const { onFailure, graceMs } = this.parts.settings();
    const err = this.parts.store.connectionError ?? error;
    this.parts.log('counters unavailable', { err, on_failure: onFailure, grace_ms: graceMs });
    this.schedule(0); // possibly only a connection was lost
  }

  private schedule(ms: number): void {
    if (this.closed) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (this.recovering) return this.schedule(this.parts.retryMs ?? DEFAULT_RETRY_MS);
      this.tryRecover().catch(() => {
        // Until then the memory counts, with current sums.
        if (!this.isWhole && !this.closed) this.parts.sums.refresh().catch(() => {});
      });
    }, ms);
    this.timer.unref();
  }

  /** @throws as `recover`, which runs again a second later */
  private tryRecover(): Promise<void> {
    const startedAt = performance.now();
    this.recovering ??= this.recover()
      .catch((error) => {
        this.failsAtOnce = performance.now() - startedAt < this.parts.settings().timeoutMs;
        this.schedule(this.parts.retryMs ?? DEFAULT_RETRY_MS);
        throw error;
      })
      .finally(() => {
        this.recovering = undefined;
      });
    return this.recovering;
  }

  /** @throws the error of the counters, or of the ledger's store */
  private async recover(): Promise<void> {
    const { store, sums, settings } = this.parts;
    const call = (ask: () => MaybePromise<unknown>) => withTimeout(settings().timeoutMs, Promise.resolve(ask()));
    await call(() => store.ping());
    while (this.late.length > 0) {
      await call(this.late[0]!); // a failed call is repeated next time, and the store counts each once
      this.late.shift();
    }
    const ended = [...this.ended]; // the sums that are read now include them
    if (this.brokenSince !== undefined || ended.length > 0) await sums.refresh();
    for (let at = 0; at < ended.length; at += BATCH) {
      const batch = ended.slice(at, at + BATCH);
      const claims = new Map(batch.flatMap((each) => each.claims.map((claim) => [claim.account, claim])));
      const ids = batch.map(({ id }) => id);
      await call(() => store.release(ids, sums.update([...claims.values()]).map(makeCurrent)));
      for (const each of batch) this.ended.delete(each);
    }
    if (this.brokenSince !== undefined) {
      this.storedAt = performance.now() + this.parts.storedMs;
      if (!this.isBehind) this.isBehind = !(await this.announce([...this.inFlight], false));
      this.rereadLater();
    }
    if (this.brokenSince !== undefined) this.parts.log('counters recovered');
    this.brokenSince = undefined;
    // Budgets wait for the announcement, rates do not.
    if (this.isBehind && !this.closed) this.catchUp().catch((error) => this.broke(error));
    if (this.late.length + this.ended.size > 0) this.schedule(0); // ended in the meantime
  }
}

const isUnready = (answer: BudgetRefusal | Unready | undefined): answer is Unready => typeof answer === 'string';

const makeCurrent = (claim: Claim): Claim => ({ ...claim, isCurrent: true });

const refuse = (what: string): GatewayError =>
  new GatewayError('unavailable', `${what}, and requests that they count are rejected; try again later.`, {
    retryAfterSeconds: 5,
  });
