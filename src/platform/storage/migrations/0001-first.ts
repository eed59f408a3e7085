import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * The first schema. Integers are 64 bits wide and flags are 0 or 1 in both dialects. Ids sort by their bytes, which is
 * the default of SQLite. PostgreSQL needs a collation for that, whatever the locale of the database.
 *
 * Keys and entries reference workspaces without a foreign key. A management key belongs to no workspace, and entries
 * stay after their workspace is deleted.
 */
export const first: Migration = {
  async up(db: Kysely<unknown>) {
    const bytewise = db.getExecutor().adapter instanceof PostgresAdapter ? 'C' : 'binary';
    const id = sql`text collate ${sql.id(bytewise)}`;

    await db.schema
      .createTable('revisions')
      .addColumn('name', id, (column) => column.primaryKey())
      .addColumn('value', 'bigint', (column) => column.notNull())
      .execute();
    await sql`insert into revisions (name, value) values ('access', 0)`.execute(db);

    await db.schema
      .createTable('workspaces')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .execute();

    await db.schema
      .createTable('members')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .execute();

    await db.schema
      .createTable('memberships')
      .addColumn('member_id', id, (column) => column.notNull().references('members.id').onDelete('cascade'))
      .addColumn('workspace_id', id, (column) => column.notNull().references('workspaces.id').onDelete('cascade'))
      .addPrimaryKeyConstraint('memberships_pkey', ['member_id', 'workspace_id'])
      .execute();

    await db.schema
      .createTable('keys')
      .addColumn('hash', id, (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('label', 'text', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('workspace_id', id, (column) => column.notNull())
      .addColumn('member_id', id)
      .addColumn('disabled', 'bigint', (column) => column.notNull())
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('expires_at_ms', 'bigint')
      .execute();

    await db.schema
      .createTable('ledger')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('workspace_id', id, (column) => column.notNull())
      .addColumn('key_hash', 'text', (column) => column.notNull())
      .addColumn('member_id', 'text')
      .addColumn('requested_model', 'text', (column) => column.notNull())
      .addColumn('model', 'text')
      .addColumn('provider', 'text')
      .addColumn('outcome', 'text', (column) => column.notNull())
      .addColumn('status', 'bigint', (column) => column.notNull())
      .addColumn('error_type', 'text')
      .addColumn('streamed', 'bigint', (column) => column.notNull())
      .addColumn('input_tokens', 'bigint', (column) => column.notNull())
      .addColumn('cached_tokens', 'bigint', (column) => column.notNull())
      .addColumn('cache_write_tokens', 'bigint', (column) => column.notNull())
      .addColumn('output_tokens', 'bigint', (column) => column.notNull())
      .addColumn('reasoning_tokens', 'bigint', (column) => column.notNull())
      .addColumn('cost_nano_usd', 'bigint', (column) => column.notNull())
      .addColumn('priced', 'bigint', (column) => column.notNull())
      .addColumn('estimated', 'bigint', (column) => column.notNull())
      .addColumn('first_output_ms', 'bigint')
      .addColumn('duration_ms', 'bigint', (column) => column.notNull())
      .addColumn('session_id', 'text')
      .addColumn('end_user', 'text')
      .execute();

    await db.schema
      .createIndex('ledger_by_workspace')
      .on('ledger')
      .columns(['workspace_id', 'created_at_ms'])
      .execute();
  },
};
