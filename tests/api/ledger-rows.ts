import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, vi } from 'vitest';
import { patient } from '../../src/testing/patience.ts';

/** A row of the table `ledger`; flags are 0 or 1. */
export interface LedgerRow {
  id: string;
  outcome: string;
  status: number;
  estimated: number;
  priced: number;
  cost_nano_usd: number;
  [column: string]: unknown;
}

/** Returns the rows of a session as soon as there are `count`: entries reach the store with a delay. */
export function rowsOf(dataDir: string, sessionId: string, count = 1): Promise<LedgerRow[]> {
  return vi.waitFor(
    () => {
      const rows = readRows(dataDir).filter((row) => row['session_id'] === sessionId);
      expect(rows.length).toBeGreaterThanOrEqual(count);
      return rows;
    },
    { interval: 20 },
  );
}

/** Returns all rows in the store of a data folder, in the order in which they were written. */
export function readRows(dataDir: string): LedgerRow[] {
  const database = new DatabaseSync(join(dataDir, 'headgate.db'), { readOnly: true, timeout: patient(5000) });
  try {
    return database.prepare('select * from ledger order by rowid').all() as unknown as LedgerRow[];
  } finally {
    database.close();
  }
}

let sessions = 0;
/** Creates a unique session, by which a row is found. */
export const newSession = (): string => `session-${++sessions}`;
