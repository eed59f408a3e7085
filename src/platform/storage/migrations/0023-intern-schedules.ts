import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Schedules of interns and their runs. Both are deleted with the intern. */
export const internSchedules: Migration = {
  async up(db: Kysely<unknown>) {
    const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
    const id = sql`text collate ${sql.id(isPostgres ? 'C' : 'binary')}`;

    await db.schema
      .createTable('intern_schedules')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('intern_id', id, (column) => column.notNull().references('interns.id').onDelete('cascade'))
      .addColumn('kind', id, (column) => column.notNull())
      .addColumn('cron', 'text')
      .addColumn('time_zone', 'text')
      .addColumn('input', 'text', (column) => column.notNull())
      .addColumn('token_hash', id)
      .addColumn('is_paused', 'bigint', (column) => column.notNull())
      .addColumn('next_due_at_ms', 'bigint')
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('updated_at_ms', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('intern_schedules_by_intern')
      .on('intern_schedules')
      .columns(['intern_id', 'created_at_ms', 'id'])
      .execute();

    await db.schema
      .createTable('intern_schedule_runs')
      .addColumn('id', id, (column) => column.primaryKey())
      .addColumn('schedule_id', id, (column) => column.notNull().references('intern_schedules.id').onDelete('cascade'))
      .addColumn('due_key', id, (column) => column.notNull())
      .addColumn('due_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('input', 'text', (column) => column.notNull())
      .addColumn('status', id, (column) => column.notNull())
      .addColumn('failure', 'text')
      .addColumn('added_at_ms', 'bigint', (column) => column.notNull())
      .addColumn('started_at_ms', 'bigint')
      .addColumn('ended_at_ms', 'bigint')
      .addUniqueConstraint('intern_schedule_runs_once', ['schedule_id', 'due_key'])
      .execute();
    await db.schema
      .createIndex('intern_schedule_runs_by_time')
      .on('intern_schedule_runs')
      .columns(['schedule_id', 'added_at_ms', 'id'])
      .execute();
  },
};
