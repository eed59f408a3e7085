import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The generation that an entry served, if the gateway itself made the request. Null: a caller made it. */
export const parents: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('ledger').addColumn('parent_id', 'text').execute();
  },
};
