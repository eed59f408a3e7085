import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Whether a configuration has defined a key. The key remains if it is removed there. 0: unknown, as in all earlier
 * rows.
 */
export const bootstrapKeys: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .alterTable('keys')
      .addColumn('from_bootstrap', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
  },
};
