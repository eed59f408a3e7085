import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * The order in which entries are recorded. SQLite numbers the rows of a table anyway. Earlier entries of PostgreSQL have
 * no number, because it would rewrite the table.
 */
export const feed: Migration = {
  async up(db: Kysely<unknown>) {
    if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return;
    await sql`alter table ledger add column added_in xid8`.execute(db);
    await sql`alter table ledger alter column added_in set default pg_current_xact_id()`.execute(db);
    await sql`create index ledger_by_transaction on ledger (added_in, id) where added_in is not null`.execute(db);
  },
};
