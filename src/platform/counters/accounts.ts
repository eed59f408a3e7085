import type { BudgetRefusal, Claim, Settlement } from './counters.ts';

/** Until when a sum is taken together. `lifetime`: for ever. */
export type SpendingWindow = 'lifetime' | 'monthly' | 'weekly' | 'daily';

/** The broadest first. */
export const spendingWindows: readonly SpendingWindow[] = ['lifetime', 'monthly', 'weekly', 'daily'];

/**
 * What an account has spent in each window, and what is held of it for requests that are under way.
 *
 * What is spent is counted twice over: here, at once, and in the ledger, for good and some seconds later. Each may lack
 * what the other has (a host was killed before it settled; an entry is still on its way), neither has what was not spent,
 * and both only grow within a window: so the greater of the two counts.
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

/** A host whose clock is ahead by no more than this begins a window for all. */
export const MAX_AHEAD_MS = 3_600_000;

/**
 * Begins the windows anew that have ended, and takes over what the ledger knows. A host whose clock is late changes
 * nothing, but a window that lies ahead was begun by a clock that was wrong, and gives way to the one that is open.
 *
 * @param nowMs by the clock of who counts
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

/** @param states of the claims, updated @returns the first limit that is in the way, the broadest of its claim */
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

/** Adds what was spent to the windows in which the ledger books it. */
export function addSpent(state: AccountState, nanoUsd: bigint, { atMs }: Settlement): void {
  for (let window = 0; window < spendingWindows.length; window++) {
    if (atMs >= state.startsMs[window]!) state.spentNanoUsd[window]! += nanoUsd;
  }
}
