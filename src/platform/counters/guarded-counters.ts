import { GatewayError } from '../../domain/errors.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import { withTimeout } from '../with-timeout.ts';
import type { Admission, BudgetRefusal, Claim, Counters, RateRefusal, Reservation, Settlement } from './counters.ts';
import { MemoryCounters } from './memory/memory-counters.ts';

export interface GuardSettings {
  /** How long an answer is waited for. */
  timeoutMs: number;
  /** `closed`: what cannot be counted is refused. */
  onFailure: 'open' | 'closed';
  /** How long money is held in this process alone. */
  graceMs: number;
}
export interface GuardParts {
  /** The counters that several processes share. */
  store: Counters;
  settings: () => GuardSettings;
  /** Told when they fail, once per streak. */
  onTrouble: (message: string, error: unknown) => void;
  /** Told when they answer again. */
  onRecovery?: () => void;
  /** Told of every call that fails. */
  onFailure?: () => void;
  now?: () => number;
}

const RETRY_MS = 1000;
/** Calls that are made up for later; beyond it leases and holds end by their time. */
const MAX_LATE = 10_000;

/**
 * Shared counters whose failure is bounded. A call that fails or is late is answered by the memory of this process, which
 * knows what this process has let in and held, and what the ledger said last; the calls after it do not wait at all, until a
 * ping in the background has found the store again. Then what ended meanwhile is settled there, and what was held meanwhile
 * and goes on is held there, too, whatever the limits.
 *
 * `onFailure: closed` refuses instead. Money is held in memory for `graceMs`; then that is refused, too.
 */
export class GuardedCounters implements Counters {
  private readonly parts: GuardParts;
  private readonly now: () => number;
  private readonly memory = new MemoryCounters();
  /** What memory alone has let in. */
  private readonly alone = new WeakSet<Admission>();
  /** What the store holds; the rest is known to memory alone. */
  private readonly stored = new WeakSet<Reservation>();
  /** What the store was asked for and did not answer: nobody knows whether it has it. */
  private readonly unsure = new WeakSet<Admission | Reservation>();
  /** Held, and not settled yet. */
  private readonly underWay = new Set<Reservation>();
  private late: (() => MaybePromise<void>)[] = [];
  private brokenSince: number | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isRecovering = false;
  private closed = false;
  private readonly deliveries = new Set<Promise<void>>();

  constructor(parts: GuardParts) {
    this.parts = parts;
    this.now = parts.now ?? (() => performance.now());
  }

  /** Waits for the store for a while, so that the first request finds it. Never rejects: without it one serves, too. */
  async open(limitMs: number): Promise<void> {
    try {
      await withTimeout(limitMs, Promise.resolve(this.parts.store.ping()));
    } catch (error) {
      this.broke(error);
    }
  }

  /** Do the shared counters answer? */
  get isWhole(): boolean {
    return this.brokenSince === undefined;
  }

  async admit(admission: Admission): Promise<RateRefusal | undefined> {
    const { store } = this.parts;
    const isAsked = this.isWhole;
    const answer = await this.ask(
      () => store.admit(admission),
      (refusal) => {
        if (!refusal) this.makeUp(() => store.leave(admission, 0));
      },
    );
    if (answer) return answer.value;
    const isClosed = this.parts.settings().onFailure === 'closed';
    const refusal = isClosed ? undefined : this.memory.admit(admission);
    if ((isClosed || refusal) && isAsked) this.makeUp(() => store.leave(admission, 0));
    if (isClosed) throw refuse('The counters of rate limits do not answer');
    if (refusal) return refusal;
    if (isAsked) this.unsure.add(admission);
    this.alone.add(admission);
    return undefined;
  }

  async leave(admission: Admission, tokens: number, isTakenBack = false): Promise<void> {
    if (this.alone.has(admission)) {
      if (this.unsure.has(admission)) this.makeUp(() => this.parts.store.leave(admission, 0));
      return this.memory.leave(admission, tokens, isTakenBack);
    }
    await this.deliver(() => this.parts.store.leave(admission, tokens, isTakenBack));
  }

  async reserve(reservation: Reservation): Promise<BudgetRefusal | undefined> {
    const { store, settings } = this.parts;
    const isAsked = this.isWhole;
    const answer = await this.ask(
      () => store.reserve(reservation),
      (refusal) => {
        if (refusal) return;
        if (this.underWay.has(reservation)) this.stored.add(reservation);
        else this.makeUp(() => store.settle(reservation, nothing(reservation)));
      },
    );
    if (answer) {
      if (answer.value) return answer.value;
      this.stored.add(reservation);
      this.memory.adopt(reservation);
      this.underWay.add(reservation);
      return undefined;
    }
    const { onFailure, graceMs } = settings();
    const goneMs = this.now() - (this.brokenSince ?? this.now());
    const isClosed = onFailure === 'closed' || goneMs >= graceMs;
    const refusal = isClosed ? undefined : this.memory.reserve(reservation);
    if ((isClosed || refusal) && isAsked) this.makeUp(() => store.settle(reservation, nothing(reservation)));
    if (isClosed) throw refuse('The counters of budgets do not answer');
    if (refusal) return refusal;
    if (isAsked) this.unsure.add(reservation);
    this.underWay.add(reservation);
    return undefined;
  }

  async settle(reservation: Reservation, settlement: Settlement): Promise<void> {
    this.underWay.delete(reservation);
    this.memory.settle(reservation, settlement);
    const mayBeStored = this.stored.has(reservation) || this.unsure.has(reservation);
    if (mayBeStored) await this.deliver(() => this.parts.store.settle(reservation, settlement));
  }

  async release(ids: readonly string[], claims: readonly Claim[]): Promise<void> {
    await this.deliver(() => this.parts.store.release?.(ids, claims));
  }

  ping(): MaybePromise<void> {
    return this.parts.store.ping();
  }

  /** Makes up for what is late, as far as the store answers, and closes it. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    await withTimeout(this.parts.settings().timeoutMs, Promise.all(this.deliveries)).catch(() => {});
    if (this.late.length > 0) await this.recover().catch(() => {});
    await this.parts.store.close();
  }

  /**
   * @param onLate is given an answer for which nobody waits any more
   * @returns undefined when there is no answer in time, or no use in asking
   */
  private async ask<Value>(
    call: () => MaybePromise<Value>,
    onLate: (value: Value) => void,
  ): Promise<{ value: Value } | undefined> {
    if (this.brokenSince !== undefined) return undefined;
    let isLate = false;
    try {
      const asked = Promise.resolve(call());
      asked.then(
        (value) => isLate && onLate(value),
        () => {},
      );
      return { value: await withTimeout(this.parts.settings().timeoutMs, asked) };
    } catch (error) {
      isLate = true;
      this.broke(error);
      return undefined;
    }
  }

  /** Nobody waits for it: it is made up for when it fails. */
  private async deliver(call: () => MaybePromise<void>): Promise<void> {
    if (this.brokenSince !== undefined) return this.makeUp(call);
    const delivery = Promise.resolve(call()).catch((error) => {
      this.broke(error);
      this.makeUp(call);
    });
    this.deliveries.add(delivery);
    await delivery;
    this.deliveries.delete(delivery);
  }

  private makeUp(call: () => MaybePromise<void>): void {
    if (this.late.length < MAX_LATE) this.late.push(call);
    if (this.brokenSince === undefined) this.schedule(0);
  }

  private broke(error: unknown): void {
    this.parts.onFailure?.();
    if (this.brokenSince !== undefined) return;
    this.brokenSince = this.now();
    const { onFailure, graceMs } = this.parts.settings();
    const what =
      onFailure === 'closed'
        ? 'requests with limits are refused'
        : `this process counts for itself, budgets for ${graceMs / 1000} s`;
    this.parts.onTrouble(`The shared counters do not answer: ${what} until they do.`, error);
    this.schedule(0); // it may have been but a pause
  }

  private schedule(ms: number): void {
    if (this.closed) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (this.isRecovering) return this.schedule(RETRY_MS);
      this.isRecovering = true;
      this.recover()
        .catch(() => this.schedule(RETRY_MS))
        .finally(() => {
          this.isRecovering = false;
        });
    }, ms);
    this.timer.unref();
  }

  /** @throws the store's error */
  private async recover(): Promise<void> {
    const limitMs = this.parts.settings().timeoutMs;
    const call = (ask: () => MaybePromise<unknown>) => withTimeout(limitMs, Promise.resolve(ask()));
    await call(() => this.parts.store.ping());
    while (this.late.length > 0) {
      await call(this.late[0]!); // again at the next time, when it fails: the store takes each but once
      this.late.shift();
    }
    for (const reservation of this.underWay) {
      if (this.stored.has(reservation)) continue;
      const claims = reservation.claims.map((claim) => ({ ...claim, limits: [] }));
      this.unsure.add(reservation); // it may end meanwhile
      await call(() => this.parts.store.reserve({ ...reservation, claims }));
      this.stored.add(reservation);
    }
    if (this.brokenSince !== undefined) this.parts.onRecovery?.();
    this.brokenSince = undefined;
    if (this.late.length > 0) this.schedule(0); // what ended while it was told what goes on
  }
}

/** It cost nothing, as far as the counters are concerned: the ledger's sums tell. */
const nothing = ({ claims }: Reservation): Settlement => ({ atMs: 0, costsNanoUsd: claims.map(() => 0n) });

const refuse = (what: string): GatewayError =>
  new GatewayError('unavailable', `${what}, and nothing is let in that they would count; try again later.`, {
    retryAfterSeconds: 5,
  });
