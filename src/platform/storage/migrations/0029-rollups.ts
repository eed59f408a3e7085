import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Sums over the ledger by time and dimension. The start of the gateway fills the table from an older ledger. */
export const rollups: Migration = {
  async up(db: Kysely<unknown>) {
    const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
    const text = `text collate ${isPostgres ? '"C"' : 'binary'} not null`;
    const keys = ['workspace_id', 'model', 'provider', 'key_hash', 'member_id', 'tag'];
    const buckets = Array.from({ length: 14 }, (_, bucket) => bucket);
    const sums = [
      'requests',
      'errors',
      'rejected',
      'cancelled',
      'incomplete',
      'unpriced',
      'input_tokens',
      'cached_tokens',
      'cache_write_tokens',
      'output_tokens',
      'reasoning_tokens',
      'duration_ms',
      ...buckets.map((bucket) => `duration_${bucket}`),
      ...buckets.map((bucket) => `first_output_${bucket}`),
      'cost_nano_usd',
      'byok_nano_usd',
    ];
    const columns = [
      'level bigint not null',
      'slot bigint not null',
      ...keys.map((name) => `${name} ${text}`),
      ...sums.map((name) => `${name} bigint not null`),
      `primary key (level, slot, ${keys.join(', ')})`,
    ];
    await sql.raw(`create table rollups (${columns.join(', ')})${isPostgres ? '' : ' without rowid'}`).execute(db);
    const id = sql`text collate ${sql.id(isPostgres ? 'C' : 'binary')}`;
    await db.schema
      .createTable('rollup_queue')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('entry_ids', 'text', (column) => column.notNull())
      .execute();
    // Sums are raised without a change of these columns, so only a new row writes to the indexes.
    for (const name of ['key_hash', 'member_id', 'tag']) {
      const index = `create index rollups_by_${name} on rollups (level, ${name}, slot) where ${name} <> ''`;
      await sql.raw(index).execute(db);
    }
  },
};
