import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { RateLimits } from '../../domain/rate-limits.ts';
import type { SpendingWindow } from './accounts.ts';

/**
 * What several requests share and none may wait for long: how often who asked in the last minute, which streams are open,
 * and how much money is held for requests that are under way. `memory/` counts in the process and answers at once; the
 * others count for several processes and answer with a promise. The same `contract.ts` for all.
 *
 * An adapter that counts elsewhere rejects when that place cannot be reached; `guarded-counters.ts` says what happens then.
 */
export interface Counters {
  /** Counts a request in all of its scopes, or in none. @returns undefined when it was let in */
  admit(admission: Admission): MaybePromise<RateRefusal | undefined>;
  /**
   * Ends what `admit` let in.
   *
   * @param tokens that it used, as far as anybody knows
   * @param isTakenBack it was refused for another reason, and does not count as a request either
   */
  leave(admission: Admission, tokens: number, isTakenBack?: boolean): MaybePromise<void>;
  /**
   * Holds money in all of the accounts, or in none. Once, however often it is told: an answer may be lost.
   *
   * @returns undefined when it is held
   */
  reserve(reservation: Reservation): MaybePromise<BudgetRefusal | undefined>;
  /**
   * Turns what `reserve` held into what was spent, in one step: nobody ever sees neither. Once; a second time, and after
   * the hold has expired, it changes nothing, and the ledger's sums tell what was spent.
   */
  settle(reservation: Reservation, settlement: Settlement): MaybePromise<void>;
  /**
   * Releases the reservations of processes that have ended, and takes over the current sums of the ledger, in one step.
   * Creates no account. Absent if counts end with their process: the memory of a primary drops what a worker had.
   *
   * @param ids of reservations. That of the first one of a request releases all of the request
   * @param claims one of each account that may hold for them
   */
  release?(ids: readonly string[], claims: readonly Claim[]): MaybePromise<void>;
  /** Resolves when the counts can be reached. */
  ping(): MaybePromise<void>;
  /** What holds while shared counts cannot be reached; undefined: they can. */
  readonly outage?: CounterOutage | undefined;
  close(): Promise<void>;
}

/** How requests fare that are counted in vain. */
export interface CounterOutage {
  /** Unix milliseconds. */
  sinceMs: number;
  /** Whether requests with a rate limit are rejected. */
  rejectsRates: boolean;
  /** Whether requests with a budget are rejected. */
  rejectsBudgets: boolean;
}

/**
 * Counters that several processes share. They may lose what they count: a server is restarted, emptied, or replaced by one
 * that is behind.
 */
export interface SharedCounters extends Omit<Counters, 'reserve' | 'release'> {
  /** As `Counters.reserve`, or what must be known first. Nothing is reserved then. */
  reserve(reservation: Reservation): MaybePromise<BudgetRefusal | Unready | undefined>;
  release(ids: readonly string[], claims: readonly Claim[]): MaybePromise<void>;
  /** Calls back when the connection is lost. What was counted may then be older than it was. */
  onLost?(listener: () => void): void;
}

/**
 * `unknown`: an account of the claims is missing. `forgotten`: it is missing, or was created again, since this process used
 * it. Claims that are `isCurrent` create an account.
 */
export type Unready = 'unknown' | 'forgotten';

export interface RateScope {
  id: string;
  limits: RateLimits;
}
export interface Admission {
  /** No other admission's. */
  id: string;
  scopes: readonly RateScope[];
  isStream: boolean;
  /** After this time a stream counts as closed, though nobody said so: its process was killed. */
  leaseMs: number;
}
export interface RateRefusal {
  /** Which of the scopes refused. */
  scope: number;
  limit: keyof RateLimits;
  /** Until it may be free again. */
  freeInMs: number;
}

export interface Reservation {
  /** No other reservation's. A further reservation of a request has the id of the first, a period and a number. */
  id: string;
  claims: readonly Claim[];
  /** After this time what is held is free again, though nobody said so: its process was killed. */
  reservationMs: number;
}
/** What a request may cost in one account, and what the account may bear. Lists by window are in the order of `spendingWindows`. */
export interface Claim {
  account: string;
  nanoUsd: bigint;
  /** When each window began that is open now, Unix milliseconds. */
  startsMs: readonly number[];
  /** What the ledger says was spent in each of them: the truth, some seconds late. */
  recordedNanoUsd: readonly bigint[];
  /** When the ledger was asked for them, Unix milliseconds: they have all that this process had booked by then. */
  readAtMs: number;
  /** The sums were read after the counters forgot the account, or might have. */
  isCurrent?: boolean;
  limits: readonly AccountLimit[];
}
export interface AccountLimit {
  window: SpendingWindow;
  nanoUsd: bigint;
  /** Is an account that has spent just this much exhausted, also for what costs nothing? */
  isExhaustedWhenReached: boolean;
}
export interface BudgetRefusal {
  /** Which of the claims was refused, and by which of its limits. */
  claim: number;
  limit: number;
  spentNanoUsd: bigint;
  reservedNanoUsd: bigint;
}
export interface Settlement {
  /** When the request began, Unix milliseconds: the ledger books by this time. */
  atMs: number;
  /** What was spent, for each of the claims. */
  costsNanoUsd: readonly bigint[];
}
