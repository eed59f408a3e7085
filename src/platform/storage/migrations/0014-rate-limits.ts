import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Rate limits of keys and members. Null: no limit. The limits of workspaces are among their settings. */
export const rateLimits: Migration = {
  async up(db: Kysely<unknown>) {
    for (const table of ['keys', 'members']) {
      // SQLite adds only one column per statement.
      for (const column of ['requests_per_minute', 'tokens_per_minute', 'concurrent_streams']) {
        await db.schema.alterTable(table).addColumn(column, 'bigint').execute();
      }
    }
  },
};
