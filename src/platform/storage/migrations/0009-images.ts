import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The API of a ledger entry. Null: a response, as in all earlier rows. */
export const images: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('ledger').addColumn('api_type', 'text').execute();
  },
};
