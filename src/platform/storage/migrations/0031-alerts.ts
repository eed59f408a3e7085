import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The alerts that were raised. */
export const alerts: Migration = {
  async up(db: Kysely<unknown>) {
    const id = sql`text collate ${sql.id(db.getExecutor().adapter instanceof PostgresAdapter ? 'C' : 'binary')}`;
    await db.schema
      .createTable('alerts')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('message', 'text', (column) => column.notNull())
      .addColumn('data', 'text', (column) => column.notNull())
      .addColumn('at_ms', 'bigint', (column) => column.notNull())
      .addColumn('count', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('alerts_by_time').on('alerts').column('at_ms').execute();
  },
};
