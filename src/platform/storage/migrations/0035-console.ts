import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The sessions of the console, and the links that begin them. */
export const consoleSessions: Migration = {
  async up(db: Kysely<unknown>) {
    const id = sql`text collate ${sql.id(db.getExecutor().adapter instanceof PostgresAdapter ? 'C' : 'binary')}`;
    await db.schema
      .createTable('console_sessions')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('token_hash', id, (column) => column.notNull().unique())
      .addColumn('key_hash', id, (column) => column.notNull())
      .addColumn('client', 'text', (column) => column.notNull())
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('seen_at_ms', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('console_links')
      .addColumn('token_hash', id, (column) => column.primaryKey())
      .addColumn('key_hash', id, (column) => column.notNull())
      .addColumn('expires_at_ms', 'bigint', (column) => column.notNull())
      .execute();
  },
};
