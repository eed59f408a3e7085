import type { LedgerStore } from '../../platform/storage/ports/ledger.ts';

/** Returns what all workspaces have spent so far, in nano-dollars, without the costs of BYOK keys. */
export async function readTotalSpending(ledger: Pick<LedgerStore, 'readSpending'>): Promise<bigint> {
  const [spent] = await ledger.readSpending(['everything'], [0]);
  return spent!.costNanoUsd[0]!; // one row for each scope, one sum for each start
}
