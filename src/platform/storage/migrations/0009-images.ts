import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** What a row of the ledger was for: null is a response, as all rows before. */
export const images: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('ledger').addColumn('api_type', 'text').execute();
  },
};
