import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Guardrails and their assignments. Deleting a workspace deletes both. Deleting a guardrail deletes its assignments.
 */
export const guardrails: Migration = {
  async up(db: Kysely<unknown>) {
    const bytewise = db.getExecutor().adapter instanceof PostgresAdapter ? 'C' : 'binary';
    const id = sql`text collate ${sql.id(bytewise)}`;

    await db.schema
      .createTable('guardrails')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('workspace_id', id, (column) => column.notNull().references('workspaces.id').onDelete('cascade'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('description', 'text')
      .addColumn('rules', 'text', (column) => column.notNull())
      .addColumn('limit_nano_usd', 'bigint')
      .addColumn('reset_interval', 'text')
      .addColumn('include_byok_in_budgets', 'bigint', (column) => column.notNull())
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('updated_at_ms', 'bigint')
      .execute();

    await db.schema
      .createTable('guardrail_assignments')
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('holder', id, (column) => column.notNull())
      .addColumn('guardrail_id', id, (column) => column.notNull().references('guardrails.id').onDelete('cascade'))
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('guardrail_assignments_pkey', ['kind', 'holder'])
      .execute();
  },
};
