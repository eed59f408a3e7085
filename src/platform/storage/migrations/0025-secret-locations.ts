import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The parts of a request that secrets may be put into. Earlier rows stay without them, because they are sealed. */
export const secretLocationColumn: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('vault_secrets').addColumn('locations', 'text').execute();
  },
};
