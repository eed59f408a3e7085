import { open, type FileHandle } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Kysely } from 'kysely';
import type { LedgerEntry } from '../../../domain/ledger-entry.ts';
import type { Database, Tables } from '../tables/database.ts';
import { isOld, unitOf, writeLateRow } from '../tables/late-entries.ts';
import { hasCommonColumnsOnly, writeLedgerRow, writeCommonColumns } from '../tables/ledger.ts';
import { writeLineRows } from '../tables/ledger-lines.ts';
import { createRollupBatch, type RollupBatch, type RollupRow, raiseRollup, writeBatch } from '../tables/rollups.ts';
import { createSpendingSum } from '../tables/spending.ts';
import { waitWhileBusy } from './wait-while-busy.ts';

/**
 * Records entries with one prepared statement, row by row in one transaction. There may be thousands of entries per
 * second. Kysely's statement for many rows takes twice as long (5.9 instead of 3.3 µs per row, with batches of a
 * hundred), because its text differs with every number of rows. Nearly all entries have default values in the rare
 * columns, which saves 0.5 µs per row.
 *
 * SQLite would sync each transaction in the thread that serves requests, which waits for a busy disk then. So the
 * appender syncs the write-ahead log itself, in another thread, before it resolves. Until then, another transaction can
 * use the connection.
 *
 * @param db over the same database; its one connection is reserved, so that no other transaction is open
 * @param path of the database, or `:memory:`
 */
export function createEntryAppender(database: DatabaseSync, db: Kysely<Tables>, path: string) {
  const log = new WriteAheadLog(path);
  const inserts = new Map<boolean, StatementSync>(); // one for entries with common columns only, one for the others
  let insertLine: StatementSync | undefined;
  let raise: StatementSync | undefined;
  let queue: StatementSync | undefined;
  let raiseSums: StatementSync | undefined;
  let findArchive: StatementSync | undefined;
  let insertLate: StatementSync | undefined;

  /** Stores an entry elsewhere if its day is archived, because the ledger may have had it before. */
  const isDiverted = (entry: LedgerEntry): boolean => {
    const { day, workspaceId } = unitOf(entry);
    findArchive ??= database.prepare('select 1 from ledger_archives where day = ? and workspace_id = ? limit 1');
    if (!findArchive.get(day, workspaceId)) return false;
    insertLate ??= database.prepare(
      `insert into late_entries (id, day, workspace_id, entry) values (:id, :day, :workspace_id, :entry)
       on conflict (id) do nothing`,
    );
    insertLate.run(writeLateRow(entry));
    return true;
  };

  const insert = (entry: LedgerEntry, row: object): boolean => {
    const usual = hasCommonColumnsOnly(entry);
    const statement = inserts.get(usual) ?? prepareInsert(database, 'ledger', row);
    inserts.set(usual, statement);
    return statement.run(...(Object.values(row) as SQLInputValue[])).changes !== 0n;
  };

  const append = (
    entries: readonly LedgerEntry[],
    rows: readonly ReturnType<typeof writeCommonColumns>[],
  ): RollupBatch => {
    raise ??= prepareRaise(database);
    queue ??= database.prepare('insert into rollup_queue (id, entry_ids) values (:id, :entry_ids)');
    const spent = createSpendingSum();
    const batch = createRollupBatch([]);
    try {
      database.exec('pragma synchronous = normal; begin immediate');
      for (const [index, row] of rows.entries()) {
        const entry = entries[index]!; // each has a row
        if (isOld(entry) && isDiverted(entry)) continue;
        if (!insert(entry, row)) continue; // it was recorded before
        spent.add(row, entry.lines);
        batch.added.push({ id: entry.id, entry });
        for (const line of writeLineRows(entry)) {
          insertLine ??= prepareInsert(database, 'ledger_lines', line);
          insertLine.run(...(Object.values(line) as SQLInputValue[]));
        }
      }
      for (const row of spent.rows()) raise.run({ ...row });
      if (batch.added.length > 0) queue.run(writeBatch(batch));
      database.exec('commit');
      return batch;
    } catch (error) {
      if (database.isTransaction) database.exec('rollback'); // a full disk ends the transaction itself
      throw error;
    } finally {
      database.exec('pragma synchronous = full');
    }
  };

  const appendEntries = async (entries: readonly LedgerEntry[]): Promise<RollupBatch | undefined> => {
    if (entries.length === 0) return undefined;
    const rows = entries.map((entry) =>
      hasCommonColumnsOnly(entry) ? writeCommonColumns(entry) : writeLedgerRow(entry),
    );
    const batch = await db.connection().execute(() => waitWhileBusy(() => append(entries, rows)));
    await log.sync();
    return batch;
  };

  /** Raises sums in slices, so that requests run in between. */
  const addRollups = async (_trx: Database, rows: readonly RollupRow[]): Promise<void> => {
    raiseSums ??= database.prepare(raiseRollup);
    for (const [index, row] of rows.entries()) {
      raiseSums.run(...row);
      if (index % ROWS_PER_SLICE === ROWS_PER_SLICE - 1) await nextTurn();
    }
  };
  return { append: appendEntries, addRollups, close: () => log.close() };
}

/** Sums that are raised at once. They take about a millisecond. */
const ROWS_PER_SLICE = 100;

/**
 * The file of transactions that are not yet in the database. SQLite has no lock on it, so it can be opened again, and
 * keeps it while the database is open.
 */
class WriteAheadLog {
  readonly #path: string | undefined;
  #file: Promise<FileHandle> | undefined;

  constructor(path: string) {
    this.#path = path === ':memory:' ? undefined : `${path}-wal`;
  }

  async sync(): Promise<void> {
    if (this.#path === undefined) return;
    this.#file ??= open(this.#path, 'r+');
    try {
      await (await this.#file).datasync();
    } catch (error) {
      await this.close(); // the next sync opens it again
      throw error;
    }
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.then((handle) => handle.close()).catch(() => {}); // it did not open
  }
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
