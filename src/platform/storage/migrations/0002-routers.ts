import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Columns from which routers learn: the router, the task, and the cost of the input. */
export const routerColumns: Migration = {
  async up(db: Kysely<unknown>) {
    // SQLite adds only one column per statement.
    await db.schema.alterTable('ledger').addColumn('router', 'text').execute();
    await db.schema.alterTable('ledger').addColumn('task', 'text').execute();
    await db.schema
      .alterTable('ledger')
      .addColumn('input_cost_nano_usd', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute();
  },
};
