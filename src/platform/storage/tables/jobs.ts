import { PostgresAdapter, type Selectable, sql } from 'kysely';
import type { ClaimedJob, JobBeat, JobClaim, JobLease, JobRecord, JobStore, NewJob } from '../ports/jobs.ts';
import { readNumber, writeTextColumn } from './columns.ts';
import type { Database, JobTable } from './database.ts';

/** Creates the store of jobs over either dialect. */
export const createJobStore = (db: Database): JobStore => ({
  wakeJob: (job) => wakeJobRow(db, job),
  claimJobs: (claim) => claimJobs(db, claim),
  renewJobs: (leases) => renewJobs(db, leases),
  listBeats: (kinds, limit) => listBeats(db, kinds, limit),
  takeOverJob: (beat, holder) => takeOverJob(db, beat, holder),
  readCheckpoints: (ids) => readCheckpoints(db, ids),
  checkpointJob: (lease, checkpoint) => checkpointJob(db, lease, checkpoint),
  finishJob: (lease, wakes) => finishJob(db, lease, wakes),
  releaseJob: (lease, next) => releaseJob(db, lease, next),
  releaseAllJobs: async () => void (await db.updateTable('jobs').set({ holder: null }).execute()),
});

/** Creates a job, or makes an existing one due. Can be a part of a transaction. */
export async function wakeJobRow(db: Database, { id, kind, payload, dueAtMs }: NewJob): Promise<void> {
  const due = BigInt(Math.round(dueAtMs));
  await db
    .insertInto('jobs')
    .values({
      id,
      kind,
      payload: writeTextColumn(payload),
      checkpoint: null,
      failures: 0,
      wakes: 1,
      due_at_ms: due,
      fence: 0,
      holder: null,
      beats: 0,
    })
    .onConflict((oc) =>
      oc.column('id').doUpdateSet((eb) => ({
        wakes: eb('jobs.wakes', '+', 1n),
        due_at_ms: sql<bigint>`case when jobs.due_at_ms < ${due} then jobs.due_at_ms else ${due} end`,
      })),
    )
    .execute();
}

async function readCheckpoints(db: Database, ids: readonly string[]): Promise<(string | null)[]> {
  if (ids.length === 0) return [];
  const rows = await db.selectFrom('jobs').select(['id', 'checkpoint']).where('id', 'in', ids).execute();
  const found = new Map(rows.map(({ id, checkpoint }) => [id, checkpoint]));
  return ids.map((id) => found.get(id) ?? null);
}

async function claimJobs(db: Database, { kinds, holder, nowMs, limit }: JobClaim): Promise<ClaimedJob[]> {
  if (kinds.length === 0 || limit < 1) return [];
  const now = BigInt(Math.round(nowMs));
  // Another claim that runs at the same time takes the next jobs instead of waiting for these.
  const locking = db.getExecutor().adapter instanceof PostgresAdapter ? sql`for update skip locked` : sql``;
  const rows = await db
    .updateTable('jobs')
    .set((eb) => ({ fence: eb('fence', '+', 1n), holder }))
    .where(
      'id',
      'in',
      sql<string>`(select id from jobs where kind in (${sql.join(kinds.map(writeTextColumn))}) and due_at_ms <= ${now}
        and holder is null order by due_at_ms, id limit ${BigInt(limit)} ${locking})`,
    )
    .returningAll()
    .execute();
  return rows.map((row) => ({ ...readJob(row), fence: readNumber(row.fence) }));
}

async function renewJobs(db: Database, leases: readonly JobLease[]): Promise<(JobLease & Pick<JobRecord, 'wakes'>)[]> {
  if (leases.length === 0) return [];
  const rows = await db
    .updateTable('jobs')
    .set((eb) => ({ beats: eb('beats', '+', 1n) }))
    .where((eb) => eb.or(leases.map(({ id, fence }) => eb.and([eb('id', '=', id), eb('fence', '=', BigInt(fence))]))))
    .where('holder', 'is not', null)
    .returning(['id', 'fence', 'wakes'])
    .execute();
  return rows.map(({ id, fence, wakes }) => ({ id, fence: readNumber(fence), wakes: readNumber(wakes) }));
}

async function listBeats(db: Database, kinds: readonly string[], limit: number): Promise<JobBeat[]> {
  if (kinds.length === 0) return [];
  const rows = await db
    .selectFrom('jobs')
    .select(['id', 'fence', 'beats'])
    .where('kind', 'in', kinds.map(writeTextColumn))
    .where('holder', 'is not', null)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id, fence, beats }) => ({ id, fence: readNumber(fence), beats: readNumber(beats) }));
}

async function takeOverJob(
  db: Database,
  { id, fence, beats }: JobBeat,
  holder: string,
): Promise<ClaimedJob | undefined> {
  const row = await db
    .updateTable('jobs')
    .set((eb) => ({ fence: eb('fence', '+', 1n), holder }))
    .where('id', '=', id)
    .where('fence', '=', BigInt(fence))
    .where('beats', '=', BigInt(beats))
    .where('holder', 'is not', null)
    .returningAll()
    .executeTakeFirst();
  return row && { ...readJob(row), fence: readNumber(row.fence) };
}

async function checkpointJob(db: Database, lease: JobLease, checkpoint: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('jobs')
    .set({ checkpoint: writeTextColumn(checkpoint), failures: 0 })
    .where('id', '=', lease.id)
    .where('fence', '=', BigInt(lease.fence))
    .where('holder', 'is not', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

async function finishJob(db: Database, lease: JobLease, wakes: number): Promise<'finished' | 'woken' | 'lost'> {
  const { numDeletedRows } = await db
    .deleteFrom('jobs')
    .where('id', '=', lease.id)
    .where('fence', '=', BigInt(lease.fence))
    .where('holder', 'is not', null)
    .where('wakes', '=', BigInt(wakes))
    .executeTakeFirstOrThrow();
  if (numDeletedRows > 0n) return 'finished';
  const { numUpdatedRows } = await db
    .updateTable('jobs')
    .set({ holder: null, failures: 0, checkpoint: null })
    .where('id', '=', lease.id)
    .where('fence', '=', BigInt(lease.fence))
    .where('holder', 'is not', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n ? 'woken' : 'lost';
}

async function releaseJob(
  db: Database,
  lease: JobLease,
  { dueAtMs, failures, wakes }: { dueAtMs: number; failures: number; wakes: number },
): Promise<boolean> {
  const due = BigInt(Math.round(dueAtMs));
  const { numUpdatedRows } = await db
    .updateTable('jobs')
    .set({
      holder: null,
      failures,
      due_at_ms: sql<bigint>`case when wakes = ${BigInt(wakes)} then ${due} else due_at_ms end`,
    })
    .where('id', '=', lease.id)
    .where('fence', '=', BigInt(lease.fence))
    .where('holder', 'is not', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/**
 * Whether a lease is valid, as a part of a transaction. No other process claims the job before the transaction ends.
 */
export async function lockJobRow(trx: Database, lease: JobLease): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('jobs')
    .set((eb) => ({ fence: eb.ref('fence') }))
    .where('id', '=', lease.id)
    .where('fence', '=', BigInt(lease.fence))
    .where('holder', 'is not', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

const readJob = (row: Selectable<JobTable>): JobRecord => ({
  id: row.id,
  kind: row.kind,
  payload: row.payload,
  checkpoint: row.checkpoint,
  failures: readNumber(row.failures),
  wakes: readNumber(row.wakes),
});
