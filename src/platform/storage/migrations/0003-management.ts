import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import { createSlug } from '../tables/workspace-slug.ts';

/**
 * The data of the management API: limits of keys, settings, budgets and members of workspaces, the audit log, and
 * spending by day. Fills the new columns and sums from existing rows.
 */
export const management: Migration = {
  async up(db: Kysely<unknown>) {
    const bytewise = db.getExecutor().adapter instanceof PostgresAdapter ? 'C' : 'binary';
    const id = sql`text collate ${sql.id(bytewise)}`;
    // SQLite adds only one column per statement.
    const add = (table: string, column: string, type: 'text' | 'bigint', byDefault?: string | number) =>
      db.schema
        .alterTable(table)
        .addColumn(column, type, (added) => (byDefault === undefined ? added : added.notNull().defaultTo(byDefault)))
        .execute();

    await add('keys', 'limit_nano_usd', 'bigint');
    await add('keys', 'limit_reset', 'text');
    await add('keys', 'include_byok_in_limit', 'bigint', 0);
    await add('keys', 'updated_at_ms', 'bigint');
    await add('keys', 'creator_user_id', 'text');
    await add('keys', 'external_user', 'text');
    await sql`update keys set creator_user_id = member_id`.execute(db);

    await add('workspaces', 'slug', 'text', '');
    await add('workspaces', 'updated_at_ms', 'bigint');
    await add('workspaces', 'settings', 'text', '{}');
    const { rows } = await sql<{ id: string; name: string }>`
      select id, name from workspaces order by created_at_ms, id`.execute(db);
    const taken = new Set<string>();
    for (const workspace of rows) {
      const slug = createSlug(workspace.name, taken);
      taken.add(slug);
      await sql`update workspaces set slug = ${slug} where id = ${workspace.id}`.execute(db);
    }
    await db.schema.createIndex('workspaces_by_slug').unique().on('workspaces').column('slug').execute();

    await add('memberships', 'role', 'text', 'member');
    await add('memberships', 'created_at_ms', 'bigint', 0);
    await sql`
      update memberships set created_at_ms =
        (select members.created_at_ms from members where members.id = memberships.member_id)`.execute(db);

    await db.schema
      .createTable('budgets')
      .addColumn('id', id, (column) => column.notNull().unique())
      .addColumn('workspace_id', id, (column) => column.notNull().references('workspaces.id').onDelete('cascade'))
      .addColumn('reset_interval', 'text', (column) => column.notNull())
      .addColumn('limit_nano_usd', 'bigint', (column) => column.notNull())
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('updated_at_ms', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('budgets_pkey', ['workspace_id', 'reset_interval'])
      .execute();

    await db.schema
      .createTable('audit')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('sequence', 'bigint', (column) => column.notNull().unique())
      .addColumn('at_ms', 'bigint', (column) => column.notNull())
      .addColumn('actor_key_hash', 'text')
      .addColumn('action', 'text', (column) => column.notNull())
      .addColumn('object_kind', 'text', (column) => column.notNull())
      .addColumn('object_id', 'text', (column) => column.notNull())
      .addColumn('workspace_id', 'text')
      .addColumn('changes', 'text', (column) => column.notNull())
      .execute();

    await db.schema
      .createTable('spending')
      .addColumn('key_hash', id, (column) => column.notNull())
      .addColumn('day', 'bigint', (column) => column.notNull())
      .addColumn('workspace_id', id, (column) => column.notNull())
      .addColumn('member_id', id, (column) => column.notNull())
      .addColumn('cost_nano_usd', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('spending_pkey', ['key_hash', 'day', 'workspace_id', 'member_id'])
      .execute();
    await db.schema.createIndex('spending_by_workspace').on('spending').columns(['workspace_id', 'day']).execute();
    await sql`
      insert into spending (key_hash, day, workspace_id, member_id, cost_nano_usd)
      select key_hash, created_at_ms / 86400000, workspace_id, coalesce(member_id, ''), cast(sum(cost_nano_usd) as bigint)
      from ledger where cost_nano_usd <> 0
      group by key_hash, created_at_ms / 86400000, workspace_id, coalesce(member_id, '')`.execute(db);
  },
};
