import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The generation for which the gateway itself made the request of an entry. Null: a caller made it. */
export const parents: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('ledger').addColumn('parent_id', 'text').execute();
  },
};
