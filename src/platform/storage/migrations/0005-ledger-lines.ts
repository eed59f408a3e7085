import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The parts of a ledger entry, if it has several. */
export const ledgerLines: Migration = {
  async up(db: Kysely<unknown>) {
    const bytewise = db.getExecutor().adapter instanceof PostgresAdapter ? 'C' : 'binary';
    const id = sql`text collate ${sql.id(bytewise)}`;
    let table = db.schema
      .createTable('ledger_lines')
      .addColumn('entry_id', id, (column) => column.notNull().references('ledger.id').onDelete('cascade'))
      .addColumn('position', 'bigint', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('upstream_cost_nano_usd', 'bigint');
    for (const name of ['model', 'provider', 'provider_id', 'endpoint_id', 'tier']) {
      table = table.addColumn(name, 'text');
    }
    for (const name of [
      'status',
      'is_byok',
      'input_tokens',
      'cached_tokens',
      'cache_write_tokens',
      'cache_write_1h_tokens',
      'input_audio_tokens',
      'cached_audio_tokens',
      'input_image_tokens',
      'input_images',
      'output_tokens',
      'output_audio_tokens',
      'output_image_tokens',
      'reasoning_tokens',
      'web_searches',
      'cost_nano_usd',
      'input_cost_nano_usd',
      'priced',
      'estimated',
    ]) {
      table = table.addColumn(name, 'bigint', (column) => column.notNull());
    }
    await table.addPrimaryKeyConstraint('ledger_lines_pkey', ['entry_id', 'position']).execute();
  },
};
