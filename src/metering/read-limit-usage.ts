import type { SpendingStore } from '../platform/storage/ports/spending.ts';
import type { SpendingLimit } from './spending.ts';
import { endOfWindow, windowStarts } from './windows.ts';

/** The spending of a limit in the current window. */
export interface LimitUsage {
  /** Includes BYOK costs if the limit counts them. */
  usageNanoUsd: bigint;
  /** At least 0. */
  remainingNanoUsd: bigint;
  /** When the window resets. Null: never. */
  resetsAtMs: number | null;
}

/** The fields of a limit that select its ledger entries. */
export type Limited = Pick<SpendingLimit, 'scope' | 'window' | 'limitNanoUsd' | 'includesByok'>;

/**
 * Reads the spending of limits from the ledger, with one query per window. Reservations of requests in flight are not
 * included.
 *
 * @returns in the order of the limits
 * @throws the store's error
 */
export async function readLimitUsage(
  ledger: Pick<SpendingStore, 'readSpending'>,
  limits: readonly Limited[],
  nowMs: number,
): Promise<LimitUsage[]> {
  const starts = { ...windowStarts(nowMs), lifetime: 0 };
  const usages = new Map<Limited, LimitUsage>();
  for (const [window, those] of Map.groupBy(limits, (limit) => limit.window)) {
    const spent = await ledger.readSpending(
      those.map(({ scope }) => scope),
      [starts[window]],
    );
    for (const [at, limit] of those.entries()) {
      const { costNanoUsd, byokNanoUsd } = spent[at]!; // one result per scope
      const usageNanoUsd = costNanoUsd[0]! + (limit.includesByok ? byokNanoUsd[0]! : 0n);
      const left = limit.limitNanoUsd - usageNanoUsd;
      const resetsAtMs = window === 'lifetime' ? null : endOfWindow(window, nowMs);
      usages.set(limit, { usageNanoUsd, remainingNanoUsd: left > 0n ? left : 0n, resetsAtMs });
    }
  }
  return limits.map((limit) => usages.get(limit)!);
}
