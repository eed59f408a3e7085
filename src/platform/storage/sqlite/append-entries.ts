import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Kysely } from 'kysely';
import type { LedgerEntry } from '../../../domain/ledger-entry.ts';
import type { Tables } from '../tables/database.ts';
import { hasCommonColumnsOnly, writeLedgerRow, writeCommonColumns } from '../tables/ledger.ts';
import { writeLineRows } from '../tables/ledger-lines.ts';
import { createSpendingSum } from '../tables/spending.ts';
import { waitWhileBusy } from './wait-while-busy.ts';

/**
 * Records entries with one prepared statement, row by row in one transaction. There may be thousands of entries per
 * second. Kysely's statement for many rows takes twice as long (5.9 instead of 3.3 µs per row, with batches of a
 * hundred), because its text differs with every number of rows. Nearly all entries have default values in the rare
 * columns, which saves 0.5 µs per row.
 *
 * @param db over the same database; its one connection is reserved, so that no other transaction is open
 */
export function createEntryAppender(database: DatabaseSync, db: Kysely<Tables>) {
  const inserts = new Map<boolean, StatementSync>(); // one for entries with common columns only, one for the others
  let insertLine: StatementSync | undefined;
  let raise: StatementSync | undefined;

  const insert = (entry: LedgerEntry, row: object): boolean => {
    const usual = hasCommonColumnsOnly(entry);
    const statement = inserts.get(usual) ?? prepareInsert(database, 'ledger', row);
    inserts.set(usual, statement);
    return statement.run(...(Object.values(row) as SQLInputValue[])).changes !== 0n;
  };

  const append = (entries: readonly LedgerEntry[], rows: readonly ReturnType<typeof writeCommonColumns>[]): void => {
    raise ??= prepareRaise(database);
    const spent = createSpendingSum();
    database.exec('begin immediate');
    try {
      for (const [index, row] of rows.entries()) {
        const entry = entries[index]!; // each has a row
        if (!insert(entry, row)) continue; // it was recorded before
        spent.add(row, entry.lines);
        for (const line of writeLineRows(entry)) {
          insertLine ??= prepareInsert(database, 'ledger_lines', line);
          insertLine.run(...(Object.values(line) as SQLInputValue[]));
        }
      }
      for (const row of spent.rows()) raise.run({ ...row });
      database.exec('commit');
    } catch (error) {
      if (database.isTransaction) database.exec('rollback'); // a full disk ends the transaction itself
      throw error;
    }
  };

  return async (entries: readonly LedgerEntry[]): Promise<void> => {
    if (entries.length === 0) return;
    const rows = entries.map((entry) =>
      hasCommonColumnsOnly(entry) ? writeCommonColumns(entry) : writeLedgerRow(entry),
    );
    await db.connection().execute(() => waitWhileBusy(() => append(entries, rows)));
  };
}

/**
 * Prepares an insert. All rows of a table have the same columns in the same order, because one object literal creates
 * them.
 */
function prepareInsert(database: DatabaseSync, table: 'ledger' | 'ledger_lines', row: object): StatementSync {
  const columns = Object.keys(row);
  const known = table === 'ledger' ? ' on conflict (id) do nothing' : '';
  return database.prepare(
    `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})${known}`,
  );
}

const prepareRaise = (database: DatabaseSync): StatementSync =>
  database.prepare(
    `insert into spending (key_hash, day, workspace_id, member_id, cost_nano_usd, byok_nano_usd)
     values (:key_hash, :day, :workspace_id, :member_id, :cost_nano_usd, :byok_nano_usd)
     on conflict (key_hash, day, workspace_id, member_id)
     do update set cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd,
       byok_nano_usd = byok_nano_usd + excluded.byok_nano_usd`,
  );
