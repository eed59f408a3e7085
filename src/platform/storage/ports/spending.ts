/** Sums of the costs in the ledger. They change in the transactions that write the ledger. */
export interface SpendingStore {
  /**
   * Reads the spending of each scope since each of the days. Uses at most one statement for every 500 scopes of a kind.
   *
   * @param sinceMs at least one; Unix milliseconds of midnights (UTC) that `foldSpending` keeps separate; 0: since the
   * start
   * @returns in the order of the scopes
   */
  readSpending(scopes: readonly SpendingScope[], sinceMs: readonly number[]): Promise<SpendingSums[]>;
  /**
   * Rolls up days that no limit needs separately, so that `readSpending` reads a few rows of a key instead of one for
   * every day of its life. Sums since one of these times, or since any day after the last one, stay the same.
   *
   * @param startsMs Unix milliseconds of midnights (UTC), the earliest first; 0 is one of them
   * @returns the number of deleted rows
   */
  foldSpending(startsMs: readonly number[]): Promise<number>;
}

/** `everything`: all workspaces. `tag`: a key and a value, `team:search`. */
export type SpendingScope =
  | { keyHash: string }
  | { memberId: string }
  | { workspaceId: string }
  | { tag: string }
  | 'everything';

/** Sums since several days, in their order. */
export interface SpendingSums {
  /** Without the cost of BYOK keys. */
  costNanoUsd: bigint[];
  byokNanoUsd: bigint[];
}
