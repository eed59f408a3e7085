import { createScheduleJob } from '../../domain/intern-schedule.ts';
import type { InternScheduleStore } from '../../platform/storage/ports/intern-schedules.ts';
import type { JobStore } from '../../platform/storage/ports/jobs.ts';

const PAGE = 500;
/** Changes of the clock that are corrections of its drift. */
const TOLERATED_MS = 1000;

export interface ClockCheckParts {
  schedules: Pick<InternScheduleStore, 'listDueSchedules'>;
  jobs: Pick<JobStore, 'wakeJob'>;
  /** Unix milliseconds. */
  now: () => number;
  /** Milliseconds that only grow. */
  elapsed: () => number;
}

/** Requests the jobs of all schedules. Each of them compares its stored time with the clock. */
export async function wakeSchedules({ schedules, jobs, now }: ClockCheckParts): Promise<void> {
  for (let after: string | undefined; ; ) {
    const ids = await schedules.listDueSchedules({ after, limit: PAGE });
    for (const id of ids) await jobs.wakeJob(createScheduleJob(id, now()));
    if (ids.length < PAGE) return;
    after = ids.at(-1);
  }
}

/**
 * Creates a function that wakes all schedules if the clock was set back since its last call, and in its first call: their
 * jobs would otherwise wait for times that are in the future again.
 */
export function createClockCheck(parts: ClockCheckParts): () => Promise<void> {
  let offset = Number.POSITIVE_INFINITY;
  return async () => {
    const current = parts.now() - parts.elapsed();
    if (current < offset - TOLERATED_MS) await wakeSchedules(parts);
    offset = current; // not after a failure: the next call tries again
  };
}
