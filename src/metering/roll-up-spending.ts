import type { SpendingStore } from '../platform/storage/ports/spending.ts';
import { DAY_MS, windowStarts } from './windows.ts';

/**
 * Aggregates the days before yesterday that are in the same windows, because no limit distinguishes them. The
 * spending since the start of a window is then the sum of a few rows per key. Yesterday stays separate for hosts with
 * a late clock.
 *
 * @returns the number of deleted rows
 * @throws the store's error
 */
export function rollUpSpending(ledger: Pick<SpendingStore, 'foldSpending'>, nowMs: number): Promise<number> {
  const { daily, weekly, monthly } = windowStarts(nowMs - DAY_MS);
  return ledger.foldSpending([0, Math.min(weekly, monthly), Math.max(weekly, monthly), daily]);
}
