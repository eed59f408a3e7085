import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Files of workspaces, without their content. Deleting a workspace deletes them. */
export const files: Migration = {
  async up(db: Kysely<unknown>) {
    const bytewise = db.getExecutor().adapter instanceof PostgresAdapter ? 'C' : 'binary';
    const id = sql`text collate ${sql.id(bytewise)}`;

    await db.schema
      .createTable('files')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('workspace_id', id, (column) => column.notNull().references('workspaces.id').onDelete('cascade'))
      .addColumn('filename', id, (column) => column.notNull())
      .addColumn('mime_type', 'text', (column) => column.notNull())
      .addColumn('bytes', 'bigint', (column) => column.notNull())
      .addColumn('sha256', 'text', (column) => column.notNull())
      .addColumn('downloadable', 'bigint', (column) => column.notNull())
      .addColumn('purpose', 'text')
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('files_by_workspace').on('files').columns(['workspace_id', 'id', 'bytes']).execute();
    await db.schema.createIndex('files_by_name').on('files').columns(['workspace_id', 'filename', 'id']).execute();
  },
};
