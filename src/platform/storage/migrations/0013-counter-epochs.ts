import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The creation time of an account of shared budgets, so that hosts detect lost counts. */
export const counterEpochs: Migration = {
  async up(db: Kysely<unknown>) {
    if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return;
    await sql`alter table budget_accounts add column epoch bigint not null default 0`.execute(db);
  },
};
