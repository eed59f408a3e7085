import type { InternScheduleStore } from '../../../platform/storage/ports/intern-schedules.ts';
import type { InternStore } from '../../../platform/storage/ports/interns.ts';

/** The dependencies of the use cases of schedules. */
export interface ScheduleParts {
  interns: Pick<InternStore, 'findIntern'>;
  schedules: InternScheduleStore;
  maxPerIntern: () => number;
  /** Unix milliseconds. */
  now: () => number;
  /** Informs the owner of the job of a schedule, which can be another process. */
  notify: (scheduleId: string) => void;
}
