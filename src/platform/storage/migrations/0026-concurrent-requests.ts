import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The limit of open streams also counts buffered requests, and has a name that says so. */
export const concurrentRequests: Migration = {
  async up(db: Kysely<unknown>) {
    for (const table of ['keys', 'members']) {
      await db.schema.alterTable(table).renameColumn('concurrent_streams', 'concurrent_requests').execute();
    }
    await sql`
      update workspaces set settings = replace(settings, '"concurrent_streams":', '"concurrent_requests":')
      where settings like '%"concurrent_streams":%'`.execute(db);
  },
};
