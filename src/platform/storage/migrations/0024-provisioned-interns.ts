import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The model and the instructions that interns were provisioned with. Interns that run now have those of their rows. */
export const provisionedInterns: Migration = {
  async up(db: Kysely<unknown>) {
    // SQLite adds only one column per statement.
    for (const column of ['provisioned_model', 'provisioned_instructions']) {
      await db.schema.alterTable('interns').addColumn(column, 'text').execute();
    }
    await sql`update interns set provisioned_model = model, provisioned_instructions = instructions`.execute(db);
  },
};
