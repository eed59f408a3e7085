import type { SpendingStore } from '../platform/storage/ports/spending.ts';
import type { SpendingLimit } from './spending.ts';
import { endOfWindow, windowStarts } from './windows.ts';

/** What was spent of a limit in the window that is open. */
export interface LimitUsage {
  /** With what own provider keys have cost, where the limit counts that. */
  usageNanoUsd: bigint;
  /** 0 at least. */
  remainingNanoUsd: bigint;
  /** When the window begins anew; null: never. */
  resetsAtMs: number | null;
}

/** What a limit is, for the ledger. */
export type Limited = Pick<SpendingLimit, 'scope' | 'window' | 'limitNanoUsd' | 'includesByok'>;

/**
 * What the ledger says of limits: a question for each window. What is held for requests that are under way is not in it.
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
      const { costNanoUsd, byokNanoUsd } = spent[at]!; // as many as were asked for
      const usageNanoUsd = costNanoUsd[0]! + (limit.includesByok ? byokNanoUsd[0]! : 0n);
      const left = limit.limitNanoUsd - usageNanoUsd;
      const resetsAtMs = window === 'lifetime' ? null : endOfWindow(window, nowMs);
      usages.set(limit, { usageNanoUsd, remainingNanoUsd: left > 0n ? left : 0n, resetsAtMs });
    }
  }
  return limits.map((limit) => usages.get(limit)!);
}
