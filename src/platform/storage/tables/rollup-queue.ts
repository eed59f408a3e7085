import { sql } from 'kysely';
import { inTurns } from '../../../domain/in-turns.ts';
import type { Database } from './database.ts';
import { readEntriesById } from './ledger.ts';
import { addRollups, createRollupSum, isPostgres, type RollupBatch, type RollupRow } from './rollups.ts';
import { runUnsynced } from './unsynced.ts';

/*
 * A row of `rollups` costs as much as several entries. So the transaction of entries only writes their ids to a queue, and
 * a later one raises the sums for many of them. A report first does so for the whole queue. After a crash, another process
 * reads the entries of the queue from the ledger.
 */

/** Number of entries at which the sums are raised at once. They are in memory until then. */
const MAX_ENTRIES = 5000;
/** Time after which the sums are raised otherwise. */
const DELAY_MS = 10_000;
/** Batches of one transaction. A batch has at most some hundred entries. */
const BATCHES_PER_STEP = 20;

export class RollupQueue {
  readonly #db: Database;
  readonly #raise: typeof addRollups;
  /** Batches of this process, so that it need not read them. */
  readonly #kept = new Map<string, RollupBatch>();
  #entries = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param raise the dialect's fast way to raise sums */
  constructor(db: Database, raise: (trx: Database, rows: readonly RollupRow[]) => Promise<void> = addRollups) {
    this.#db = db;
    this.#raise = raise;
  }

  /** Call it when the transaction of the batch is committed. */
  keep(batch: RollupBatch | undefined): void {
    if (!batch || this.#isClosed) return;
    if (this.#entries < 2 * MAX_ENTRIES) {
      this.#kept.set(batch.id, batch);
      this.#entries += batch.added.length;
    }
    const isFull = this.#entries >= MAX_ENTRIES;
    if (isFull) clearTimeout(this.#timer);
    if (isFull || this.#timer === undefined) {
      this.#timer = setTimeout(() => this.#drainLater(), isFull ? 0 : DELAY_MS).unref();
    }
  }

  #drainLater(): void {
    this.#timer = undefined;
    this.drain().catch(() => {}); // the next batch or report tries again, and a report fails with the error
  }

  /** Raises the sums for all batches that are in the queue now, of every process. @throws the database's error */
  readonly drain = inTurns(async () => {
    for (let isMore = true; isMore && !this.#isClosed; ) {
      // A step that a power failure undoes is in the queue again.
      isMore = await runUnsynced(this.#db, (trx) => this.drainStep(trx));
    }
  });

  /** Raises the sums for all entries that were recorded before, also if other processes record more meanwhile. */
  async empty(): Promise<void> {
    await this.drain(); // the transaction has little left to do
    await this.#db.transaction().execute((trx) => this.emptyIn(trx));
  }

  /** Raises the sums for all batches, and blocks later ones until the transaction ends. */
  async emptyIn(trx: Database): Promise<void> {
    // SQLite has only one writer.
    if (isPostgres(trx)) await sql`lock table rollup_queue in share row exclusive mode`.execute(trx);
    while (await this.drainStep(trx));
  }

  /** Raises the sums for some batches, in a transaction of the caller. @returns whether there may be more */
  async drainStep(trx: Database): Promise<boolean> {
    const before = [...this.#kept.keys()];
    const lock = isPostgres(trx) ? sql`for update` : sql``; // in order, so that two hosts cannot deadlock
    const { rows } = await sql<{ id: string; entry_ids: string }>`
      delete from rollup_queue where id in (
        select id from rollup_queue order by id limit ${sql.lit(BATCHES_PER_STEP)} ${lock}
      ) returning id, entry_ids`.execute(trx);
    const usage = createRollupSum();
    for (const { id, entry_ids } of rows) {
      const added = this.#kept.get(id)?.added ?? (await readEntriesById(trx, JSON.parse(entry_ids) as string[]));
      for (const { entry, correction } of added) usage.add(entry, correction);
    }
    await this.#raise(trx, usage.rows());
    const isMore = rows.length === BATCHES_PER_STEP;
    // Another process has taken the other batches, if this step has taken all that were left.
    this.#forget(isMore ? rows.map(({ id }) => id) : before);
    return isMore;
  }

  #forget(ids: readonly string[]): void {
    for (const id of ids) {
      this.#entries -= this.#kept.get(id)?.added.length ?? 0;
      this.#kept.delete(id);
    }
  }

  /** Stops. Entries stay in the queue for another process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.drain().catch(() => {}); // waits for a step in flight, and makes none
  }
}
