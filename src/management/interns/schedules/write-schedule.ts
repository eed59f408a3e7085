import { writeNullableTime, writeTime } from '../../write-time.ts';
import type { ScheduleWithRun } from './find-schedule.ts';

/** Describes a schedule without its token. @see docs/reference/intern-schedules.md */
export const writeSchedule = ({ schedule, lastRun }: ScheduleWithRun) => ({
  id: schedule.id,
  kind: schedule.kind,
  cron: schedule.cron,
  time_zone: schedule.timeZone,
  input: schedule.input,
  paused: schedule.isPaused,
  next_due_at: writeNullableTime(schedule.nextDueAtMs),
  last_run: lastRun
    ? {
        id: lastRun.id,
        status: lastRun.status,
        due_at: writeTime(lastRun.dueAtMs),
        started_at: writeNullableTime(lastRun.startedAtMs),
        ended_at: writeNullableTime(lastRun.endedAtMs),
        failure: lastRun.failure,
      }
    : null,
  created_at: writeTime(schedule.createdAtMs),
  updated_at: writeTime(schedule.updatedAtMs),
});
