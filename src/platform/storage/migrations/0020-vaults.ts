import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Vaults, their encrypted keys and their encrypted secrets. Deleting a workspace deletes them all. */
export const vaults: Migration = {
  async up(db: Kysely<unknown>) {
    const bytewise = db.getExecutor().adapter instanceof PostgresAdapter ? 'C' : 'binary';
    const id = sql`text collate ${sql.id(bytewise)}`;

    await db.schema
      .createTable('vaults')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('workspace_id', id, (column) => column.notNull().references('workspaces.id').onDelete('cascade'))
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('generation', 'bigint', (column) => column.notNull())
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('vaults_of_workspaces')
      .unique()
      .on('vaults')
      .column('workspace_id')
      .where(sql.ref('kind'), '=', sql.lit('workspace'))
      .execute();

    await db.schema
      .createTable('vault_keys')
      .addColumn('vault_id', id, (column) => column.notNull().references('vaults.id').onDelete('cascade'))
      .addColumn('generation', 'bigint', (column) => column.notNull())
      .addColumn('master_key_id', 'text', (column) => column.notNull())
      .addColumn('wrapped', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('vault_keys_by_generation', ['vault_id', 'generation'])
      .execute();

    await db.schema
      .createTable('vault_secrets')
      .addColumn('vault_id', id, (column) => column.notNull().references('vaults.id').onDelete('cascade'))
      .addColumn('name', id, (column) => column.notNull())
      .addColumn('version', 'bigint', (column) => column.notNull())
      .addColumn('generation', 'bigint', (column) => column.notNull())
      .addColumn('hosts', 'text', (column) => column.notNull())
      .addColumn('fingerprint', 'text', (column) => column.notNull())
      .addColumn('sealed', 'text', (column) => column.notNull())
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('vault_secrets_by_name', ['vault_id', 'name'])
      .execute();
  },
};
