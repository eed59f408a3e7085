import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { InternSchedule } from '../../../domain/intern-schedule.ts';
import type { InternScheduleStore, ScheduleChange, ScheduleFields } from '../ports/intern-schedules.ts';
import { appendNextAudit } from './audit.ts';
import { readFlag, readNullableNumber, readNumber, writeFlag, writeTextColumn } from './columns.ts';
import type { Database, InternScheduleTable } from './database.ts';
import { addRequestedRun, findLastRun, findOpenRun, moveSchedule, updateRun } from './intern-schedule-runs.ts';
import { wakeJobRow } from './jobs.ts';
import { serializeChanges } from './revisions.ts';

/** Creates the store of schedules over either dialect. */
export const createInternScheduleStore = (db: Database): InternScheduleStore => ({
  addSchedule: (schedule, limits, change) => addSchedule(db, schedule, limits, change),
  findSchedule: (id) => findSchedule(db, id),
  listSchedules: (internId) => listSchedules(db, internId),
  listDueSchedules: (query) => listDueSchedules(db, query),
  updateSchedule: (id, fields, change) => updateSchedule(db, id, fields, change),
  deleteSchedule: (id, change) => deleteSchedule(db, id, change),
  addRequestedRun: (run, limits, job) => addRequestedRun(db, run, limits, job),
  moveSchedule: (lease, move) => moveSchedule(db, lease, move),
  findOpenRun: (scheduleId) => findOpenRun(db, scheduleId),
  findLastRun: (scheduleId) => findLastRun(db, scheduleId),
  updateRun: (lease, run, fields, kept) => updateRun(db, lease, run, fields, kept),
});

function addSchedule(
  db: Database,
  schedule: InternSchedule,
  { maxPerIntern }: { maxPerIntern: number },
  { change, event, job }: ScheduleChange,
): Promise<'intern' | 'limit' | undefined> {
  return db.transaction().execute(async (trx) => {
    await serializeChanges(trx);
    const intern = await trx.selectFrom('interns').select('id').where('id', '=', schedule.internId).executeTakeFirst();
    if (!intern) return 'intern';
    const { count } = await trx
      .selectFrom('intern_schedules')
      .select(sql<bigint>`count(*)`.as('count'))
      .where('intern_id', '=', schedule.internId)
      .executeTakeFirstOrThrow();
    if (readNumber(count) >= maxPerIntern) return 'limit';
    await trx
      .insertInto('intern_schedules')
      .values({
        ...(writeFields(schedule) as Insertable<InternScheduleTable>), // a whole schedule has all of them
        id: schedule.id,
        intern_id: schedule.internId,
        kind: schedule.kind,
        token_hash: schedule.tokenHash,
        created_at_ms: Math.round(schedule.createdAtMs),
      })
      .execute();
    await wakeJobRow(trx, job);
    await appendNextAudit(trx, change, event);
    return undefined;
  });
}

async function findSchedule(db: Database, id: string): Promise<InternSchedule | undefined> {
  const row = await db
    .selectFrom('intern_schedules')
    .selectAll()
    .where('id', '=', writeTextColumn(id))
    .executeTakeFirst();
  return row && readSchedule(row);
}

async function listSchedules(db: Database, internId: string): Promise<InternSchedule[]> {
  const rows = await db
    .selectFrom('intern_schedules')
    .selectAll()
    .where('intern_id', '=', writeTextColumn(internId))
    .orderBy('created_at_ms')
    .orderBy('id')
    .execute();
  return rows.map(readSchedule);
}

async function listDueSchedules(
  db: Database,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<string[]> {
  let query = db.selectFrom('intern_schedules').select('id').where('next_due_at_ms', 'is not', null);
  if (after !== undefined) query = query.where('id', '>', after);
  const rows = await query.orderBy('id').limit(limit).execute();
  return rows.map(({ id }) => id);
}

function updateSchedule(
  db: Database,
  id: string,
  fields: ScheduleFields,
  { change, event, job }: ScheduleChange,
): Promise<InternSchedule | undefined> {
  return db.transaction().execute(async (trx) => {
    await serializeChanges(trx);
    if (!(await findSchedule(trx, id))) return undefined;
    await wakeJobRow(trx, job); // before the schedule: its owner locks the job first, too
    const row = await trx
      .updateTable('intern_schedules')
      .set(writeFields(fields))
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst();
    if (!row) return undefined;
    await appendNextAudit(trx, change, event);
    return readSchedule(row);
  });
}

function deleteSchedule(db: Database, id: string, { change, event }: Omit<ScheduleChange, 'job'>): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    await serializeChanges(trx);
    const { numDeletedRows } = await trx
      .deleteFrom('intern_schedules')
      .where('id', '=', writeTextColumn(id))
      .executeTakeFirstOrThrow();
    if (numDeletedRows === 0n) return false;
    await appendNextAudit(trx, change, event);
    return true;
  });
}

function writeFields(fields: ScheduleFields): Updateable<InternScheduleTable> {
  const columns = {
    cron: fields.cron,
    time_zone: fields.timeZone,
    input: fields.input === undefined ? undefined : writeTextColumn(fields.input),
    is_paused: fields.isPaused === undefined ? undefined : writeFlag(fields.isPaused),
    next_due_at_ms: fields.nextDueAtMs,
    updated_at_ms: fields.updatedAtMs === undefined ? undefined : Math.round(fields.updatedAtMs),
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
}

const readSchedule = (row: Selectable<InternScheduleTable>): InternSchedule => ({
  id: row.id,
  internId: row.intern_id,
  kind: row.kind,
  cron: row.cron,
  timeZone: row.time_zone,
  input: row.input,
  tokenHash: row.token_hash,
  isPaused: readFlag(row.is_paused),
  nextDueAtMs: readNullableNumber(row.next_due_at_ms),
  createdAtMs: readNumber(row.created_at_ms),
  updatedAtMs: readNumber(row.updated_at_ms),
});
