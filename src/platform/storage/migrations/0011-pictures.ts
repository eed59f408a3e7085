import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** What prices of pictures look at, so that an entry can be priced again. Null: nobody counted, as in all rows before. */
export const pictures: Migration = {
  async up(db: Kysely<unknown>) {
    // SQLite adds one column to a statement.
    for (const table of ['ledger', 'ledger_lines']) {
      for (const count of ['output_images', 'output_pixels', 'reference_images', 'reference_pixels']) {
        await db.schema.alterTable(table).addColumn(count, 'bigint').execute();
      }
      await db.schema.alterTable(table).addColumn('picture_tier', 'text').execute();
    }
  },
};
