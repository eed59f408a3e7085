import type { SpendingStore } from '../platform/storage/ports/spending.ts';
import { DAY_MS, windowStarts } from './windows.ts';

/**
 * Puts days of spending together that no limit tells apart any more: those before yesterday, as far as they lie in the
 * same windows. What was spent since the beginning of a window is then the sum of a few rows of a key, and not of one for
 * every day of its life. Yesterday stays for hosts whose clock is late, with the windows that were open then.
 *
 * @returns how many rows went
 * @throws the store's error
 */
export function rollUpSpending(ledger: Pick<SpendingStore, 'foldSpending'>, nowMs: number): Promise<number> {
  const { daily, weekly, monthly } = windowStarts(nowMs - DAY_MS);
  return ledger.foldSpending([0, Math.min(weekly, monthly), Math.max(weekly, monthly), daily]);
}
