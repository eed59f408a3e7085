import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The days of the ledger that are in the store of files, and entries that arrived after their day was archived. */
export const archives: Migration = {
  async up(db: Kysely<unknown>) {
    const id = sql`text collate ${sql.id(db.getExecutor().adapter instanceof PostgresAdapter ? 'C' : 'binary')}`;
    await db.schema
      .createTable('ledger_archives')
      .addColumn('day', 'bigint', (column) => column.notNull())
      .addColumn('workspace_id', id, (column) => column.notNull())
      .addColumn('part', 'bigint', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('row_count', 'bigint')
      .addColumn('files', 'text')
      .addColumn('deleted_rows', 'bigint', (column) => column.notNull().defaultTo(0))
      .addColumn('deleted_entries', 'bigint', (column) => column.notNull().defaultTo(0))
      .addColumn('deleted_input_tokens', 'bigint', (column) => column.notNull().defaultTo(0))
      .addColumn('deleted_output_tokens', 'bigint', (column) => column.notNull().defaultTo(0))
      .addColumn('deleted_cost_nano_usd', 'bigint', (column) => column.notNull().defaultTo(0))
      .addPrimaryKeyConstraint('ledger_archives_pkey', ['day', 'workspace_id', 'part'])
      .execute();
    await db.schema
      .createTable('late_entries')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('day', 'bigint', (column) => column.notNull())
      .addColumn('workspace_id', id, (column) => column.notNull())
      .addColumn('entry', 'text', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('late_entries_by_day')
      .on('late_entries')
      .columns(['day', 'workspace_id', 'id'])
      .execute();
  },
};
