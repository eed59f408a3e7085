import type { BudgetRefusal, Claim, Settlement } from './counters.ts';

/** The period of a sum. `lifetime` has no end. */
export type SpendingWindow = 'lifetime' | 'monthly' | 'weekly' | 'daily';

/** The broadest first. */
export const spendingWindows: readonly SpendingWindow[] = ['lifetime', 'monthly', 'weekly', 'daily'];

/**
 * The spending of an account in each window, and the amount that is reserved for requests in flight.
 *
 * Spending is counted twice: here at once, and durably in the ledger some seconds later. Each count can lack a part of
 * the other (a host was killed before it settled, or an entry is not stored yet). Both counts only grow within a
 * window, so the greater one applies.
 */
export interface AccountState {
  reservedNanoUsd: bigint;
  /** By window, in the order of `spendingWindows`. */
  readonly startsMs: number[];
  readonly spentNanoUsd: bigint[];
}

export const openAccount = (): AccountState => ({
  reservedNanoUsd: 0n,
  startsMs: spendingWindows.map(() => 0),
  spentNanoUsd: spendingWindows.map(() => 0n),
});

/** Maximum clock error of a host that may start a window for all hosts. */
export const MAX_AHEAD_MS = 3_600_000;

/**
 * Resets windows that have ended, and applies the sums of the ledger. A host whose clock is behind changes nothing. A
 * wrong clock started any window that lies in the future, so the current window replaces it.
 *
 * @param nowMs by the clock of the counters
 */
export function updateAccount(state: AccountState, { startsMs, recordedNanoUsd }: Claim, nowMs: number): void {
  for (let window = 0; window < spendingWindows.length; window++) {
    const startMs = startsMs[window]!;
    const booked = recordedNanoUsd[window]!;
    const knownMs = state.startsMs[window]!;
    if (startMs > knownMs || (startMs < knownMs && knownMs > nowMs + MAX_AHEAD_MS)) {
      state.startsMs[window] = startMs;
      state.spentNanoUsd[window] = booked;
    } else if (startMs === knownMs && booked > state.spentNanoUsd[window]!) {
      state.spentNanoUsd[window] = booked;
    }
  }
}

/**
 * @param states of the claims, updated
 * @returns the broadest exceeded limit of the first claim that exceeds one
 */
export function findBudgetRefusal(
  states: readonly AccountState[],
  claims: readonly Claim[],
): BudgetRefusal | undefined {
  for (let claim = 0; claim < claims.length; claim++) {
    const { nanoUsd, limits } = claims[claim]!;
    const { reservedNanoUsd, spentNanoUsd } = states[claim]!;
    const wantedNanoUsd = reservedNanoUsd + nanoUsd;
    let broadest = spendingWindows.length;
    let refused = -1;
    for (let limit = 0; limit < limits.length; limit++) {
      const { window: name, nanoUsd: max, isExhaustedWhenReached } = limits[limit]!;
      const window = spendingWindows.indexOf(name);
      const spent = spentNanoUsd[window]!;
      if (spent + wantedNanoUsd <= max && !(isExhaustedWhenReached && spent >= max)) continue;
      if (window >= broadest) continue;
      broadest = window;
      refused = limit;
    }
    if (refused !== -1) return { claim, limit: refused, spentNanoUsd: spentNanoUsd[broadest]!, reservedNanoUsd };
  }
  return undefined;
}

/** Adds an amount to the windows that contain the time of its ledger entry. */
export function addSpent(state: AccountState, nanoUsd: bigint, { atMs }: Settlement): void {
  for (let window = 0; window < spendingWindows.length; window++) {
    if (atMs >= state.startsMs[window]!) state.spentNanoUsd[window]! += nanoUsd;
  }
}
