import type { ManagementParts } from '../parts.ts';

/** Nano-dollars. */
export interface Balance {
  /** Whether credits limit spending: whether any were added. */
  isOn: boolean;
  /** The sum of all additions, minus the withdrawals. */
  credits: bigint;
  /** The spending of all workspaces, without the costs of BYOK keys. */
  usage: bigint;
}

export async function readBalance({
  management,
  ledger,
}: Pick<ManagementParts, 'management' | 'ledger'>): Promise<Balance> {
  const [credits, [spent]] = await Promise.all([management.readCredits(), ledger.readSpending(['everything'], [0])]);
  return { isOn: credits !== null, credits: credits ?? 0n, usage: spent!.costNanoUsd[0]! }; // one row, one sum
}
