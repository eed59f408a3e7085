import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The tags of requests, as JSON. */
export const tagsColumn: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('ledger').addColumn('tags', 'text').execute();
  },
};
