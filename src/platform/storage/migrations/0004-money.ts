import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * What it takes to price an entry again: who served it in which tier, the counts that are priced apart, and what the
 * provider itself said. Corrections are rows of their own, which name the entry they correct; what own keys have cost
 * is summed apart. Of older entries it is not known, and they stay as they are.
 */
export const money: Migration = {
  async up(db: Kysely<unknown>) {
    // SQLite adds one column to a statement.
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
      ...['cache_write_1h_tokens', 'input_audio_tokens', 'cached_audio_tokens', 'input_image_tokens'],
      ...['output_audio_tokens', 'output_image_tokens', 'input_images', 'web_searches'],
    ]) {
      await add('ledger', count, 'bigint', 0);
    }
    await add('ledger', 'upstream_cost_nano_usd', 'bigint');
    await add('ledger', 'corrects', 'text');
    await add('ledger', 'corrected_at_ms', 'bigint');

    await add('spending', 'byok_nano_usd', 'bigint', 0);
  },
};
