import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The attempts, tool calls and stages of an entry, as JSON. Null: the other columns say it all. */
export const attempts: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('ledger').addColumn('history', 'text').execute();
  },
};
