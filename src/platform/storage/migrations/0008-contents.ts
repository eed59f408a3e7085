import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Inputs and outputs of workspaces that opt in, and feedback on generations. */
export const contents: Migration = {
  async up(db: Kysely<unknown>) {
    const bytewise = db.getExecutor().adapter instanceof PostgresAdapter ? 'C' : 'binary';
    const id = sql`text collate ${sql.id(bytewise)}`;

    await db.schema
      .createTable('contents')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('workspace_id', id, (column) => column.notNull())
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('input', 'text', (column) => column.notNull())
      .addColumn('output', 'text', (column) => column.notNull())
      .addColumn('error', 'text')
      .addColumn('is_cut', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('contents_by_time').on('contents').column('created_at_ms').execute();

    await db.schema
      .createTable('feedback')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('generation_id', id, (column) => column.notNull())
      .addColumn('workspace_id', id, (column) => column.notNull())
      .addColumn('category', 'text', (column) => column.notNull())
      .addColumn('comment', 'text')
      .addColumn('actor_key_hash', 'text', (column) => column.notNull())
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('feedback_by_generation').on('feedback').column('generation_id').execute();
  },
};
