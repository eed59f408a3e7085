import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Which keys a configuration has brought: one that it no longer names is still there. 0, as in all rows before: nobody knows. */
export const bootstrapKeys: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .alterTable('keys')
      .addColumn('from_bootstrap', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
  },
};
