import { windowStarts } from '../../metering/windows.ts';
import type { SpendingStore } from '../../platform/storage/ports/spending.ts';

/** Nano-dollars: in total, and in the windows that are open now. */
interface Sums {
  ever: bigint;
  daily: bigint;
  weekly: bigint;
  monthly: bigint;
}
/** The spending of a key without BYOK, and the costs of its BYOK requests. */
export interface KeySpending extends Sums {
  byok: Sums;
}

/** Returns the spending of each key, in the order of the hashes. */
export async function readKeySpending(
  ledger: Pick<SpendingStore, 'readSpending'>,
  keyHashes: readonly string[],
  nowMs: number,
): Promise<KeySpending[]> {
  const starts = windowStarts(nowMs);
  const spent = await ledger.readSpending(
    keyHashes.map((keyHash) => ({ keyHash })),
    [0, starts.daily, starts.weekly, starts.monthly],
  );
  return spent.map(({ costNanoUsd, byokNanoUsd }) => ({ ...nameSums(costNanoUsd), byok: nameSums(byokNanoUsd) }));
}

function nameSums([ever = 0n, daily = 0n, weekly = 0n, monthly = 0n]: readonly bigint[]): Sums {
  return { ever, daily, weekly, monthly };
}

/** The spending of a new key. */
export const zeroSpending: KeySpending = { ...nameSums([]), byok: nameSums([]) };
