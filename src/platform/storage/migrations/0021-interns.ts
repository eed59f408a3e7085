import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Interns, durable jobs, and the intern that a key belongs to. A workspace that has interns cannot be deleted. */
export const interns: Migration = {
  async up(db: Kysely<unknown>) {
    const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
    const id = sql`text collate ${sql.id(isPostgres ? 'C' : 'binary')}`;

    await db.schema
      .createTable('interns')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('workspace_id', id, (column) => column.notNull().references('workspaces.id'))
      .addColumn('creator_id', id, (column) => column.notNull())
      .addColumn('name', id, (column) => column.notNull())
      .addColumn('description', 'text')
      .addColumn('instructions', 'text')
      .addColumn('model', 'text')
      .addColumn('status', id, (column) => column.notNull())
      .addColumn('hostname', id)
      .addColumn('vault_id', id, (column) => column.notNull().unique())
      .addColumn('has_vault', 'bigint', (column) => column.notNull())
      .addColumn('attached_vault_id', id)
      .addColumn('step', 'bigint')
      .addColumn('last_failure_message', 'text')
      .addColumn('failure_reason', 'text')
      .addColumn('runtime_address', 'text')
      .addColumn('is_stop_requested', 'bigint', (column) => column.notNull())
      .addColumn('acknowledges_loss', 'bigint', (column) => column.notNull())
      .addColumn('request_hash', id, (column) => column.notNull())
      .addColumn('body_hash', id, (column) => column.notNull())
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('updated_at_ms', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('interns_by_name', ['workspace_id', 'creator_id', 'name'])
      .addUniqueConstraint('interns_by_request', ['workspace_id', 'creator_id', 'request_hash'])
      .execute();
    await db.schema
      .createIndex('interns_by_time')
      .on('interns')
      .columns(['workspace_id', 'created_at_ms', 'id'])
      .execute();
    await db.schema.createIndex('interns_by_creator').on('interns').column('creator_id').execute();
    await db.schema.createIndex('interns_by_hostname').on('interns').column('hostname').execute();

    await db.schema
      .createTable('jobs')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('kind', id, (column) => column.notNull())
      .addColumn('payload', 'text', (column) => column.notNull())
      .addColumn('checkpoint', 'text')
      .addColumn('failures', 'bigint', (column) => column.notNull())
      .addColumn('wakes', 'bigint', (column) => column.notNull())
      .addColumn('due_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('fence', 'bigint', (column) => column.notNull())
      .addColumn('holder', 'text')
      .addColumn('beats', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('jobs_by_due').on('jobs').columns(['kind', 'due_at_ms']).execute();

    await db.schema.alterTable('keys').addColumn('intern_id', id).execute();
    await db.schema
      .createIndex('keys_by_intern')
      .on('keys')
      .column('intern_id')
      .where('intern_id', 'is not', null)
      .execute();
  },
};
