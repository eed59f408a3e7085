import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * The counts on which image prices depend, so that an entry can be repriced. Null: not counted, as in all earlier rows.
 */
export const pictures: Migration = {
  async up(db: Kysely<unknown>) {
    // SQLite adds only one column per statement.
    for (const table of ['ledger', 'ledger_lines']) {
      for (const count of ['output_images', 'output_pixels', 'reference_images', 'reference_pixels']) {
        await db.schema.alterTable(table).addColumn(count, 'bigint').execute();
      }
      await db.schema.alterTable(table).addColumn('picture_tier', 'text').execute();
    }
  },
};
