import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * An index for the spending of members, and the shared counters of hosts on one PostgreSQL: rates and reserved money.
 * The tables are unlogged. A crash of the server empties them, and the sums of the ledger fill them again. SQLite has
 * one process, which counts in memory.
 *
 * @see platform/counters/postgres/
 */
export const counters: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.createIndex('spending_by_member').on('spending').columns(['member_id', 'day']).execute();
    if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return;
    await sql`
      create unlogged table rate_windows (
        id text collate "C" primary key,
        counts bytea not null,
        streams text not null,
        touched_at_ms bigint not null
      )`.execute(db);
    await sql`
      create unlogged table budget_accounts (
        id text collate "C" primary key,
        held_nano_usd bigint not null,
        starts_ms bigint[] not null,
        spent_nano_usd bigint[] not null
      )`.execute(db);
    await sql`
      create unlogged table budget_holds (
        id text collate "C" not null,
        account text collate "C" not null,
        nano_usd bigint not null,
        expires_at_ms bigint not null,
        primary key (id, account)
      )`.execute(db);
    await sql`create index budget_holds_by_account on budget_holds (account, expires_at_ms)`.execute(db);
  },
};
