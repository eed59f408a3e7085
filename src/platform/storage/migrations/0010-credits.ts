import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The payments of the organization. */
export const credits: Migration = {
  async up(db: Kysely<unknown>) {
    const bytewise = db.getExecutor().adapter instanceof PostgresAdapter ? 'C' : 'binary';
    await db.schema
      .createTable('credits')
      .addColumn('id', sql`text collate ${sql.id(bytewise)}`, (column) => column.primaryKey())
      .addColumn('at_ms', 'bigint', (column) => column.notNull())
      .addColumn('nano_usd', 'bigint', (column) => column.notNull())
      .addColumn('note', 'text')
      .execute();
  },
};
