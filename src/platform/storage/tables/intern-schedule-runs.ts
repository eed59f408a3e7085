import { type Selectable, sql } from 'kysely';
import type { ScheduledRun } from '../../../domain/intern-schedule.ts';
import type { RunFields } from '../ports/intern-schedules.ts';
import type { JobLease, NewJob } from '../ports/jobs.ts';
import { readNullableNumber, readNumber, writeNullableText, writeTextColumn } from './columns.ts';
import type { Database, InternScheduleRunTable } from './database.ts';
import { lockJobRow, wakeJobRow } from './jobs.ts';

/** Adds a run that waits, and requests the work. */
export function addRequestedRun(
  db: Database,
  run: ScheduledRun,
  { maxPending }: { maxPending: number },
  job: NewJob,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    await wakeJobRow(trx, job); // requests of one schedule wait for one another here
    const schedule = await trx
      .selectFrom('intern_schedules')
      .select('id')
      .where('id', '=', run.scheduleId)
      .where('is_paused', '=', 0n)
      .executeTakeFirst();
    const { count } = await trx
      .selectFrom('intern_schedule_runs')
      .select(sql<bigint>`count(*)`.as('count'))
      .where('schedule_id', '=', run.scheduleId)
      .where('status', '=', 'pending')
      .executeTakeFirstOrThrow();
    if (!schedule || readNumber(count) >= maxPending) return false;
    await insertRun(trx, run);
    return true;
  });
}

/** Moves a schedule on from a due time, and adds the run of that time unless it exists. */
export function moveSchedule(
  db: Database,
  lease: JobLease,
  { id, fromMs, toMs, run }: { id: string; fromMs: number; toMs: number | null; run: ScheduledRun | undefined },
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    if (!(await lockJobRow(trx, lease))) return false;
    const { numUpdatedRows } = await trx
      .updateTable('intern_schedules')
      .set({ next_due_at_ms: toMs })
      .where('id', '=', id)
      .where('next_due_at_ms', '=', BigInt(fromMs))
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 0n) return false;
    if (run) await insertRun(trx, run);
    return true;
  });
}

async function insertRun(trx: Database, run: ScheduledRun): Promise<void> {
  await trx
    .insertInto('intern_schedule_runs')
    .values({
      id: run.id,
      schedule_id: run.scheduleId,
      due_key: run.dueKey,
      input: writeTextColumn(run.input),
      status: run.status,
      failure: run.failure,
      started_at_ms: run.startedAtMs,
      ended_at_ms: run.endedAtMs,
      due_at_ms: Math.round(run.dueAtMs),
      added_at_ms: Math.round(run.addedAtMs),
    })
    .onConflict((oc) => oc.columns(['schedule_id', 'due_key']).doNothing())
    .execute();
}

/** Finds the oldest run that is pending or running. */
export async function findOpenRun(db: Database, scheduleId: string): Promise<ScheduledRun | undefined> {
  const row = await db
    .selectFrom('intern_schedule_runs')
    .selectAll()
    .where('schedule_id', '=', scheduleId)
    .where('status', 'in', ['pending', 'running'])
    .orderBy('added_at_ms')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return row && readRun(row);
}

/** Finds the run that was added last. */
export async function findLastRun(db: Database, scheduleId: string): Promise<ScheduledRun | undefined> {
  const row = await db
    .selectFrom('intern_schedule_runs')
    .selectAll()
    .where('schedule_id', '=', scheduleId)
    .orderBy('added_at_ms', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && readRun(row);
}

/** Changes a run in this status. An end deletes its input, and the oldest runs beyond `kept`. */
export function updateRun(
  db: Database,
  lease: JobLease,
  { id, scheduleId, status }: Pick<ScheduledRun, 'id' | 'scheduleId' | 'status'>,
  fields: RunFields,
  kept: number,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    if (!(await lockJobRow(trx, lease))) return false;
    const isEnd = fields.status !== 'pending' && fields.status !== 'running';
    const { numUpdatedRows } = await trx
      .updateTable('intern_schedule_runs')
      .set({
        status: fields.status,
        failure: writeNullableText(fields.failure),
        started_at_ms: fields.startedAtMs,
        ended_at_ms: fields.endedAtMs,
        ...(isEnd && { input: '' }),
      })
      .where('id', '=', id)
      .where('status', '=', status)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 0n) return false;
    if (isEnd) {
      // Runs of the latest due times stay, so that none is repeated after the clock was set back.
      await trx
        .deleteFrom('intern_schedule_runs')
        .where('schedule_id', '=', scheduleId)
        .where('status', 'not in', ['pending', 'running'])
        .where('id', 'not in', (eb) =>
          eb
            .selectFrom('intern_schedule_runs')
            .select('id')
            .where('schedule_id', '=', scheduleId)
            .orderBy('due_at_ms', 'desc')
            .orderBy('id', 'desc')
            .limit(kept),
        )
        .execute();
    }
    return true;
  });
}

const readRun = (row: Selectable<InternScheduleRunTable>): ScheduledRun => ({
  id: row.id,
  scheduleId: row.schedule_id,
  dueKey: row.due_key,
  dueAtMs: readNumber(row.due_at_ms),
  input: row.input,
  status: row.status,
  failure: row.failure,
  addedAtMs: readNumber(row.added_at_ms),
  startedAtMs: readNullableNumber(row.started_at_ms),
  endedAtMs: readNullableNumber(row.ended_at_ms),
});
