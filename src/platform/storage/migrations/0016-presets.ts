import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Presets and their versions. Deleting a workspace deletes both. A preset is inserted before its versions. */
export const presets: Migration = {
  async up(db: Kysely<unknown>) {
    const bytewise = db.getExecutor().adapter instanceof PostgresAdapter ? 'C' : 'binary';
    const id = sql`text collate ${sql.id(bytewise)}`;

    await db.schema
      .createTable('presets')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('workspace_id', id, (column) => column.notNull().references('workspaces.id').onDelete('cascade'))
      .addColumn('slug', id, (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('description', 'text')
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('status_updated_at_ms', 'bigint')
      .addColumn('designated_version_id', id, (column) => column.notNull())
      .addColumn('creator_member_id', 'text')
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('updated_at_ms', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('presets_slug_key', ['workspace_id', 'slug'])
      .execute();

    await db.schema
      .createTable('preset_versions')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('preset_id', id, (column) => column.notNull().references('presets.id').onDelete('cascade'))
      .addColumn('version', 'bigint', (column) => column.notNull())
      .addColumn('config', 'text', (column) => column.notNull())
      .addColumn('system_prompt', 'text')
      .addColumn('creator_id', 'text', (column) => column.notNull())
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('preset_versions_number_key', ['preset_id', 'version'])
      .execute();
  },
};
