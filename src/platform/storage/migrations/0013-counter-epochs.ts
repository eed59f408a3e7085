import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** When an account of shared budgets was created, so that hosts notice that the counts were lost. */
export const counterEpochs: Migration = {
  async up(db: Kysely<unknown>) {
    if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return;
    await sql`alter table budget_accounts add column epoch bigint not null default 0`.execute(db);
  },
};
