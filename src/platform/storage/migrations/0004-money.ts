import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * The data for pricing an entry again: its provider, endpoint and tier, the counts with separate prices, and the cost
 * that the provider itself reported. A correction is a separate row that names the entry that it corrects. The cost of
 * BYOK keys is summed separately. Older entries lack these data and stay unchanged.
 */
export const money: Migration = {
  async up(db: Kysely<unknown>) {
    // SQLite adds only one column per statement.
    const add = (table: string, column: string, type: 'text' | 'bigint', byDefault?: number) =>
      db.schema
        .alterTable(table)
        .addColumn(column, type, (added) => (byDefault === undefined ? added : added.notNull().defaultTo(byDefault)))
        .execute();

    await add('ledger', 'provider_id', 'text');
    await add('ledger', 'endpoint_id', 'text');
    await add('ledger', 'tier', 'text');
    await add('ledger', 'is_byok', 'bigint', 0);
    for (const count of [
      'cache_write_1h_tokens',
      'input_audio_tokens',
      'cached_audio_tokens',
      'input_image_tokens',
      'output_audio_tokens',
      'output_image_tokens',
      'input_images',
      'web_searches',
    ]) {
      await add('ledger', count, 'bigint', 0);
    }
    await add('ledger', 'upstream_cost_nano_usd', 'bigint');
    await add('ledger', 'corrects', 'text');
    await add('ledger', 'corrected_at_ms', 'bigint');

    await add('spending', 'byok_nano_usd', 'bigint', 0);
  },
};
