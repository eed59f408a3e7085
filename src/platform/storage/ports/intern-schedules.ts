import type { InternSchedule, ScheduledRun } from '../../../domain/intern-schedule.ts';
import type { AuditEvent } from './audit.ts';
import type { JobLease, NewJob } from './jobs.ts';
import type { Change } from './management.ts';

/** A change with its audit entry, and the work that it requests. */
export interface ScheduleChange {
  change: Change;
  event: AuditEvent;
  job: NewJob;
}

export type ScheduleFields = Partial<
  Pick<InternSchedule, 'cron' | 'timeZone' | 'input' | 'isPaused' | 'nextDueAtMs' | 'updatedAtMs'>
>;

/** The end of a run, or its return to the queue. */
export type RunFields = Pick<ScheduledRun, 'status' | 'failure' | 'startedAtMs' | 'endedAtMs'>;

/** Schedules of interns and their runs. They are deleted with the intern. Changes no revision. */
export interface InternScheduleStore {
  /** @returns why not; undefined: it was added */
  addSchedule(
    schedule: InternSchedule,
    limits: { maxPerIntern: number },
    change: ScheduleChange,
  ): Promise<'intern' | 'limit' | undefined>;
  findSchedule(id: string): Promise<InternSchedule | undefined>;
  /** Lists the oldest first. */
  listSchedules(internId: string): Promise<InternSchedule[]>;
  /** Lists the ids of schedules that have a next time, by id. */
  listDueSchedules(query: { after: string | undefined; limit: number }): Promise<string[]>;
  /** @returns the schedule after the change; undefined: it does not exist */
  updateSchedule(id: string, fields: ScheduleFields, change: ScheduleChange): Promise<InternSchedule | undefined>;
  /** @returns whether it existed */
  deleteSchedule(id: string, change: Omit<ScheduleChange, 'job'>): Promise<boolean>;

  /** Adds a run that waits, and requests the work. @returns false if the maximum waits, or if the schedule was deleted or paused */
  addRequestedRun(run: ScheduledRun, limits: { maxPending: number }, job: NewJob): Promise<boolean>;
  /**
   * Moves a schedule on from a due time, and adds the run of that time unless it exists.
   *
   * @param run undefined: the time is only moved
   * @returns false if the lease is lost, or the schedule was changed meanwhile
   */
  moveSchedule(
    lease: JobLease,
    move: { id: string; fromMs: number; toMs: number | null; run: ScheduledRun | undefined },
  ): Promise<boolean>;
  /** Finds the oldest run that is pending or running. */
  findOpenRun(scheduleId: string): Promise<ScheduledRun | undefined>;
  findLastRun(scheduleId: string): Promise<ScheduledRun | undefined>;
  /**
   * Changes a run in this status. An end deletes its input, and the oldest runs beyond `kept`.
   *
   * @returns false if the lease is lost, or the run has another status
   */
  updateRun(
    lease: JobLease,
    run: Pick<ScheduledRun, 'id' | 'scheduleId' | 'status'>,
    fields: RunFields,
    kept: number,
  ): Promise<boolean>;
}
