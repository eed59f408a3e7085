import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { rowsOf } from '../api/ledger-rows.ts';
import { patient } from '../../src/testing/patience.ts';

/** Returns the lines of the ledger for the tools of a session, as soon as its entry is stored. */
export async function findCharges(dataDir: string, session: string): Promise<Record<string, unknown>[]> {
  const [row] = await rowsOf(dataDir, session);
  const database = new DatabaseSync(join(dataDir, 'headgate.db'), { readOnly: true, timeout: patient(5000) });
  try {
    const lines = database.prepare("select * from ledger_lines where kind = 'tool' and entry_id = ? order by position");
    return lines.all(row!.id) as Record<string, unknown>[];
  } finally {
    database.close();
  }
}
