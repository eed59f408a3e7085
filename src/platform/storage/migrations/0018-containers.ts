import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Containers, the leases of their sandboxes, and their saved files without content. Deleting a workspace deletes its
 * containers. Their entries have no foreign key, because a container can have very many: a sweep deletes them in pieces.
 */
export const containers: Migration = {
  async up(db: Kysely<unknown>) {
    const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
    const id = sql`text collate ${sql.id(isPostgres ? 'C' : 'binary')}`;
    const bytes = sql.raw(isPostgres ? 'bytea' : 'blob');

    await db.schema
      .createTable('containers')
      .addColumn('key', id, (column) => column.primaryKey())
      .addColumn('workspace_id', id, (column) => column.notNull().references('workspaces.id').onDelete('cascade'))
      .addColumn('id', id, (column) => column.notNull())
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('used_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('version', 'bigint', (column) => column.notNull())
      .addColumn('bytes', 'bigint', (column) => column.notNull())
      .addColumn('entries', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('containers_by_id', ['workspace_id', 'id'])
      .execute();
    await db.schema.createIndex('containers_by_use').on('containers').column('used_at_ms').execute();

    await db.schema
      .createTable('container_leases')
      .addColumn('token', id, (column) => column.primaryKey())
      .addColumn('container_key', id, (column) => column.notNull().references('containers.key').onDelete('cascade'))
      .addColumn('compute', 'text', (column) => column.notNull())
      .addColumn('holder', id, (column) => column.notNull())
      .addColumn('policy', 'text', (column) => column.notNull())
      .addColumn('started_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('until_ms', 'bigint', (column) => column.notNull())
      .addColumn('stop', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('container_leases_by_compute', ['container_key', 'compute'])
      .execute();
    await db.schema.createIndex('container_leases_by_holder').on('container_leases').column('holder').execute();

    const entries = db.schema
      .createTable('container_entries')
      .addColumn('container_key', id, (column) => column.notNull())
      .addColumn('path', bytes, (column) => column.notNull())
      .addColumn('kind', 'bigint', (column) => column.notNull())
      .addColumn('hidden', 'bigint', (column) => column.notNull())
      .addColumn('deleted', 'bigint', (column) => column.notNull())
      .addColumn('bytes', 'bigint', (column) => column.notNull())
      .addColumn('mode', 'bigint', (column) => column.notNull())
      .addColumn('modified_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('saved_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('version', 'bigint', (column) => column.notNull())
      .addColumn('target', bytes)
      .addColumn('object', id)
      .addColumn('place', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('container_entries_by_path', ['container_key', 'path']);
    await (isPostgres ? entries : entries.modifyEnd(sql`without rowid`)).execute(); // a page of a list is one read
    await db.schema
      .createIndex('container_entries_by_version')
      .on('container_entries')
      .columns(['container_key', 'version', 'path'])
      .execute();
    await db.schema
      .createIndex('container_entries_by_object')
      .on('container_entries')
      .columns(['container_key', 'object', 'place', 'path', 'bytes'])
      .where('object', 'is not', null)
      .execute();
    await db.schema
      .createIndex('container_entries_deleted')
      .on('container_entries')
      .columns(['container_key', 'path'])
      .where(sql.ref('deleted'), '=', sql.lit(1))
      .execute();
  },
};
