import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { RateLimits } from '../../domain/rate-limits.ts';
import type { SpendingWindow } from './accounts.ts';

/**
 * State that requests share: the requests and tokens of the last minute, requests in flight, and the money that is
 * reserved for them. `memory/` counts in the process and returns at once. The others count for several processes and return
 * promises. All run `contract.ts`.
 *
 * A shared adapter rejects if its server is unreachable. `guarded-counters.ts` handles that.
 */
export interface Counters {
  /** Counts a request and reserves its tokens in all of its scopes, or in none. */
  admit(admission: Admission): MaybePromise<RateDecision>;
  /** Ends an admitted request: the tokens that it used replace those that it reserved. */
  leave(admission: Admission, outcome: AdmissionOutcome): MaybePromise<void>;
  /**
   * Reserves money in all of the accounts, or in none. Idempotent, because a response may be lost.
   *
   * @returns undefined if it is reserved
   */
  reserve(reservation: Reservation): MaybePromise<BudgetRefusal | undefined>;
  /**
   * Atomically replaces the reservation with the amount spent. Idempotent. After the reservation has expired, it
   * changes nothing, and the sums of the ledger include the amount.
   */
  settle(reservation: Reservation, settlement: Settlement): MaybePromise<void>;
  /**
   * Atomically releases the reservations of ended processes and applies the current sums of the ledger. Creates no
   * account. Absent if counts end with their process: the memory of a primary drops the counts of an ended worker.
   *
   * @param ids of reservations; the id of the first reservation of a request releases all of the request
   * @param claims one for each account that may have such reservations
   */
  release?(ids: readonly string[], claims: readonly Claim[]): MaybePromise<void>;
  /** Resolves if the counters are reachable. */
  ping(): MaybePromise<void>;
  /** Set while shared counters are unreachable. */
  readonly outage?: CounterOutage | undefined;
  close(): Promise<void>;
}

/** Treatment of requests that cannot be counted. */
export interface CounterOutage {
  /** Unix milliseconds. */
  sinceMs: number;
  /** Whether requests with a rate limit are rejected. */
  rejectsRates: boolean;
  /** Whether requests with a budget are rejected. */
  rejectsBudgets: boolean;
}

/**
 * Counters that several processes share. They can lose their counts: a server is restarted, emptied, or replaced by an
 * older copy.
 */
export interface SharedCounters extends Omit<Counters, 'reserve' | 'release'> {
  /** Why the connection failed. Absent: there is one, or the calls name the cause. */
  readonly connectionError?: Error | undefined;
  /** As `Counters.reserve`. If it is not ready, nothing is reserved. */
  reserve(reservation: Reservation): MaybePromise<BudgetRefusal | Unready | undefined>;
  release(ids: readonly string[], claims: readonly Claim[]): MaybePromise<void>;
  /** Calls the listener if the connection is lost. The counts may be older afterwards. */
  onLost?(listener: () => void): void;
}

/**
 * `unknown`: an account of the claims is missing. `forgotten`: it is missing, or was created again, since this process
 * used it. Claims that are `isCurrent` create an account.
 */
export type Unready = 'unknown' | 'forgotten';

export interface RateScope {
  id: string;
  limits: RateLimits;
}
export interface Admission {
  /** Unique. */
  id: string;
  scopes: readonly RateScope[];
  /** Whether it counts for `concurrent_requests`. */
  isConcurrent: boolean;
  /** Tokens to reserve: an estimate of its input and output. They are reserved for a minute at most. */
  tokens: number;
  /** Time after which the request counts as ended, because its process may have been killed. */
  leaseMs: number;
}
export type RateDecision = RateRefusal | Admitted;
export interface Admitted {
  /** By the clock of the counters, Unix milliseconds. `leave` finds the reservation by it. */
  atMs: number;
  /** The counts of each scope, this request included. */
  counts: readonly RateCounts[];
}
export interface RateCounts {
  requests: number;
  /** Used and reserved. */
  tokens: number;
}
export interface RateRefusal {
  /** Index of the scope that rejected the request. */
  scope: number;
  limit: keyof RateLimits;
  /** The part of the limit that is neither used nor reserved. */
  remaining: number;
  /** Whether the limit is not used up, but requests in flight have reserved the rest. */
  isReserved: boolean;
  /** Milliseconds until the request may be admitted. */
  freeInMs: number;
}
export const isRefused = (answer: RateDecision): answer is RateRefusal => 'limit' in answer;

/** How an admitted request ended. */
export interface AdmissionOutcome {
  /** Number of tokens that it used. Undefined: unknown, so its reservation counts. */
  tokens: number | undefined;
  /** `Admitted.atMs`. Undefined: unknown, so its reservation lasts for a minute. */
  admittedAtMs: number | undefined;
  /** Whether it was rejected for another reason, so that it does not count as a request. */
  isTakenBack?: boolean;
}

export interface Reservation {
  /** Unique. A further reservation of a request has the id of the first, a period and a number. */
  id: string;
  claims: readonly Claim[];
  /** Time after which it expires, because its process may have been killed. */
  reservationMs: number;
}
/**
 * The maximum cost of a request in one account, and the limits of the account. Lists by window have the order of
 * `spendingWindows`.
 */
export interface Claim {
  account: string;
  nanoUsd: bigint;
  /** Start of each current window, Unix milliseconds. */
  startsMs: readonly number[];
  /** Spending in each window by the ledger: complete, but some seconds late. */
  recordedNanoUsd: readonly bigint[];
  /**
   * Time at which the sums were read, Unix milliseconds. They include all that this process had recorded at that time.
   */
  readAtMs: number;
  /** Whether the sums were read after the counters lost the account, or may have lost it. */
  isCurrent?: boolean;
  limits: readonly AccountLimit[];
}
export interface AccountLimit {
  window: SpendingWindow;
  nanoUsd: bigint;
  /** Whether an account that has spent exactly this amount also rejects requests that cost nothing. */
  isExhaustedWhenReached: boolean;
}
export interface BudgetRefusal {
  /** Index of the claim that was rejected, and of its limit. */
  claim: number;
  limit: number;
  spentNanoUsd: bigint;
  reservedNanoUsd: bigint;
}
export interface Settlement {
  /** Start of the request, Unix milliseconds. Its ledger entry has this time. */
  atMs: number;
  /** The amount spent, for each of the claims. */
  costsNanoUsd: readonly bigint[];
}
