import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Settings of alerts that are changed by API. */
export const alertSettings: Migration = {
  async up(db: Kysely<unknown>) {
    const name = sql`text collate ${sql.id(db.getExecutor().adapter instanceof PostgresAdapter ? 'C' : 'binary')}`;
    await db.schema
      .createTable('alert_settings')
      .addColumn('name', name, (column) => column.primaryKey())
      .addColumn('value', 'text', (column) => column.notNull())
      .execute();
  },
};
