import { randomInt, randomUUID } from 'node:crypto';
import type { InternSchedule, ScheduledRun } from '../../domain/intern-schedule.ts';
import type { Intern } from '../../domain/intern.ts';
import { findDueTime } from '../../management/interns/schedules/due-time.ts';
import { JobLostError, type JobOutcome, type OwnedJob } from '../../platform/jobs/run-jobs.ts';
import type { InternScheduleStore } from '../../platform/storage/ports/intern-schedules.ts';
import type { InternStore } from '../../platform/storage/ports/interns.ts';
import type { InternNumbers } from '../../platform/telemetry/intern-numbers.ts';
import type { WriteLog } from '../../platform/telemetry/log-messages.ts';
import type { AgentEvent } from '../agent/events.ts';
import { RunError } from '../runtime/run-error.ts';
import type { InternRuns } from '../runtime/runs.ts';

export interface ScheduleRunParts {
  interns: Pick<InternStore, 'findIntern'>;
  schedules: InternScheduleStore;
  /** @returns undefined if another process runs the intern, or none */
  findLive: (internId: string) => { runs: Pick<InternRuns, 'isBusy' | 'start'> } | undefined;
  numbers: Pick<InternNumbers, 'ranScheduled'>;
  log: WriteLog;
  /** Unix milliseconds. */
  now: () => number;
}

/** Longest wait of a run for an intern that starts or works. choice 714 */
const MAX_WAIT_MS = 600_000;
/** Time between two checks of such an intern. It is random, so that every host has its turn. */
const LOOK_MS = [500, 2500] as const;
/** Longest run, as that of `invoke`. */
const RUN_MS = 3_600_000;
/** Runs of a schedule that are remembered. */
const KEPT_RUNS = 500;
const MAX_FAILURE = 1000;

interface Work {
  parts: ScheduleRunParts;
  job: OwnedJob;
  schedule: InternSchedule;
}

type RunEnd = { status: 'completed' | 'failed' | 'skipped' | 'interrupted'; failure: string | null };

/**
 * Does what is due of a schedule. A run is marked in the store before it begins, so that no process begins it again: at most
 * once. choice 713
 */
export async function runSchedule(parts: ScheduleRunParts, job: OwnedJob): Promise<JobOutcome> {
  const { schedule_id: id } = JSON.parse(job.payload) as { schedule_id: string };
  for (;;) {
    const { wakes } = job; // before the schedule, so that no request is missed
    const schedule = await parts.schedules.findSchedule(id);
    job.signal.throwIfAborted();
    if (!schedule) return { wakes };
    const work: Work = { parts, job, schedule };
    const next = await moveOn(work);
    if (next === 'changed') continue;
    const run = await parts.schedules.findOpenRun(id);
    if (!run) return next === null ? { wakes } : { retryInMs: Math.max(0, next - parts.now()) };
    if (!(await performRun(work, run))) return { retryInMs: randomInt(...LOOK_MS) };
  }
}

/**
 * Adds the run of a time that has passed: one, however many have. If the clock was set back, the next time is earlier than
 * the stored one. Times that had a run do not get a second one.
 *
 * @returns the next time; `changed`: the schedule was changed meanwhile
 */
async function moveOn({ parts, job, schedule }: Work): Promise<number | null | 'changed'> {
  const { id, cron, timeZone, input, nextDueAtMs: dueAtMs } = schedule;
  if (cron === null || timeZone === null || dueAtMs === null) return null;
  const nowMs = Math.round(parts.now());
  const toMs = findDueTime(cron, timeZone, nowMs);
  const isDue = dueAtMs <= nowMs;
  if (!isDue && (toMs === null || toMs >= dueAtMs)) return dueAtMs;
  const run: ScheduledRun = {
    id: randomUUID(),
    scheduleId: id,
    dueKey: String(dueAtMs),
    dueAtMs,
    addedAtMs: nowMs,
    input,
    status: 'pending',
    failure: null,
    startedAtMs: null,
    endedAtMs: null,
  };
  const moved = await parts.schedules.moveSchedule(job.lease, {
    id,
    fromMs: dueAtMs,
    toMs,
    run: isDue ? run : undefined,
  });
  job.signal.throwIfAborted();
  return moved ? toMs : 'changed';
}

/** @returns false if the run has to wait */
async function performRun(work: Work, run: ScheduledRun): Promise<boolean> {
  const { parts, schedule } = work;
  if (run.status === 'running') {
    await endRun(work, run, { status: 'interrupted', failure: 'The gateway was stopped during the run.' });
    return true;
  }
  const intern = await parts.interns.findIntern(schedule.internId);
  if (!intern || !isStarting(intern)) {
    const failure = `The intern was ${intern?.status ?? 'deleted'}. Provision it.`;
    await endRun(work, run, { status: 'skipped', failure });
    return true;
  }
  const live = intern.status === 'running' ? parts.findLive(intern.id) : undefined;
  if (live && !live.runs.isBusy) return beginRun(work, run, live.runs);
  if (parts.now() - run.addedAtMs < MAX_WAIT_MS) return false;
  const failure = intern.status === 'running' ? 'The intern was busy or unreachable.' : 'The intern did not start.';
  await endRun(work, run, { status: 'skipped', failure: `${failure} The run waited ${MAX_WAIT_MS / 60_000} minutes.` });
  return true;
}

const isStarting = ({ status }: Intern): boolean =>
  status === 'running' || status === 'queued' || status === 'provisioning';

/** @returns false if another message came first */
async function beginRun(work: Work, run: ScheduledRun, runs: Pick<InternRuns, 'start'>): Promise<boolean> {
  const { parts, job, schedule } = work;
  const running: ScheduledRun = { ...run, status: 'running', startedAtMs: Math.round(parts.now()) };
  await update(work, run, running);
  const done = Promise.withResolvers<RunEnd>();
  const reader = {
    event: (event: AgentEvent) => {
      const end = readEnd(event);
      if (end) done.resolve(end);
    },
    failed: (error: RunError) => done.resolve({ status: 'failed', failure: error.message }),
  };
  try {
    const { input } = run;
    const started = runs.start({ sessionId: schedule.id, input, mode: 'self-drive', deadlineMs: RUN_MS, reader });
    started.accepted.catch(() => {}); // its reader has the error, too
  } catch (error) {
    if (!(error instanceof RunError) || error.problem !== 'busy') throw error;
    await update(work, running, run); // it has not begun
    return false;
  }
  const aborted = Promise.withResolvers<undefined>();
  const abort = (): void => aborted.resolve(undefined);
  job.signal.addEventListener('abort', abort, { once: true });
  if (job.signal.aborted) abort();
  const end = await Promise.race([done.promise, aborted.promise]);
  job.signal.removeEventListener('abort', abort);
  if (!end) throw job.signal.reason; // the next owner marks the run as interrupted
  await endRun(work, running, end);
  return true;
}

/** @returns undefined if the run continues */
function readEnd(event: AgentEvent): RunEnd | undefined {
  if (event.type === 'interaction') {
    return { status: 'failed', failure: 'The intern asked a question. A schedule cannot answer it.' };
  }
  if (event.type !== 'end') return undefined;
  if (event.status === 'completed') return { status: 'completed', failure: null };
  return { status: 'failed', failure: event.status === 'failed' ? event.error.message : 'The run was cancelled.' };
}

async function endRun(work: Work, run: ScheduledRun, { status, failure }: RunEnd): Promise<void> {
  const { parts, schedule } = work;
  const endedAtMs = Math.round(parts.now());
  await update(work, run, { ...run, status, failure: failure?.slice(0, MAX_FAILURE) ?? null, endedAtMs });
  parts.numbers.ranScheduled(status);
  if (status !== 'completed') {
    parts.log('scheduled run not completed', { intern: schedule.internId, schedule: schedule.id, reason: status });
  }
}

/** @throws {JobLostError} if another process owns the schedule, or it was deleted */
async function update({ parts, job }: Work, before: ScheduledRun, after: ScheduledRun): Promise<void> {
  const { status, failure, startedAtMs, endedAtMs } = after;
  const fields = { status, failure, startedAtMs, endedAtMs };
  if (!(await parts.schedules.updateRun(job.lease, before, fields, KEPT_RUNS))) throw new JobLostError();
}
