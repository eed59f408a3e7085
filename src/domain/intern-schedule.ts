/** When an intern works without a person: at the times of a cron expression, or when a webhook is called. */
export interface InternSchedule {
  /** UUID. */
  id: string;
  internId: string;
  kind: 'cron' | 'webhook';
  /** Null for a webhook. */
  cron: string | null;
  /** The IANA time zone of the cron expression. Null for a webhook. */
  timeZone: string | null;
  /** The text that the intern gets. A webhook adds its body. */
  input: string;
  /** SHA-256 of the token of a webhook, in hex. */
  tokenHash: string | null;
  isPaused: boolean;
  /** Null for a webhook, while it is paused, and if the expression has no further time. */
  nextDueAtMs: number | null;
  createdAtMs: number;
  updatedAtMs: number;
}

/** `interrupted`: the process that had begun the run ended before the run did. */
export const scheduledRunStatuses = ['pending', 'running', 'completed', 'failed', 'skipped', 'interrupted'] as const;
export type ScheduledRunStatus = (typeof scheduledRunStatuses)[number];

/** One run of a schedule. */
export interface ScheduledRun {
  /** UUID. */
  id: string;
  scheduleId: string;
  /** The due time of a cron expression, or the id of the run of a webhook. No two runs of a schedule have the same. */
  dueKey: string;
  dueAtMs: number;
  /** Empty after the run has ended. */
  input: string;
  status: ScheduledRunStatus;
  /** Why the run did not complete. */
  failure: string | null;
  addedAtMs: number;
  startedAtMs: number | null;
  endedAtMs: number | null;
}

/** The kind of the jobs of schedules. */
export const SCHEDULE_JOB = 'intern-schedule';

/** Creates the job of a schedule. Its owner is the process that begins the runs. */
export const createScheduleJob = (scheduleId: string, dueAtMs: number) => ({
  id: `${SCHEDULE_JOB}:${scheduleId}`,
  kind: SCHEDULE_JOB,
  payload: JSON.stringify({ schedule_id: scheduleId }),
  dueAtMs,
});
