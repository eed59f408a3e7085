import { hostname } from 'node:os';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { createScheduleJob, SCHEDULE_JOB } from '../domain/intern-schedule.ts';
import type { LocalRuntime } from '../interns/runtime/create-runtime.ts';
import { runSchedule } from '../interns/schedules/run-schedule.ts';
import { createClockCheck } from '../interns/schedules/watch-clock.ts';
import type { ScheduleParts } from '../management/interns/schedules/parts.ts';
import type { Bus, Topic } from '../platform/bus/bus.ts';
import { type JobRunner, runJobs } from '../platform/jobs/run-jobs.ts';
import type { Storage } from '../platform/storage/storage.ts';
import type { InternNumbers } from '../platform/telemetry/intern-numbers.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import { SHUTDOWN_GRACE_MS } from './time-limits.ts';

export interface OpenSchedulesParts {
  config: () => Config;
  storage: Pick<Storage, 'interns' | 'jobs' | 'schedules'>;
  findLive: LocalRuntime['find'];
  /** Whether the gateway offers interns. */
  offersInterns: () => boolean;
  bus: Bus;
  log: WriteLog;
  numbers: InternNumbers;
  /** Whether this process runs interns. One of several workers does so for all. */
  runs: boolean;
}

/** Published after a change of a schedule, and after a call of a webhook. */
const scheduleTopic: Topic<string> = {
  name: 'intern-schedules',
  read: (message) => (typeof message === 'string' ? message : undefined),
};

const CLOCK_MS = 10_000;

/** The use cases of schedules. */
export interface OpenedSchedules extends ScheduleParts {
  isOffered: () => boolean;
}

/** Opens the schedules of interns. @param resources collects the resources to close at the end */
export function openSchedules(parts: OpenSchedulesParts, resources: AsyncDisposableStack): OpenedSchedules {
  const { config, storage, bus } = parts;
  const isOffered = (): boolean => parts.offersInterns() && config().interns.schedules.enabled;
  const runner = parts.runs ? startRunner(parts, isOffered, resources) : undefined;
  return {
    interns: storage.interns,
    schedules: storage.schedules,
    now: currentTimeMs,
    isOffered,
    maxPerIntern: () => config().interns.schedules.max_per_intern,
    notify(scheduleId) {
      runner?.notify(createScheduleJob(scheduleId, 0).id);
      bus.publish(scheduleTopic, scheduleId);
    },
  };
}

function startRunner(
  { config, storage, findLive, bus, log, numbers }: OpenSchedulesParts,
  isOffered: () => boolean,
  resources: AsyncDisposableStack,
): JobRunner {
  const { interns, schedules, jobs } = storage;
  const elapsed = (): number => performance.now();
  const work = { interns, schedules, findLive, numbers, log, now: currentTimeMs };
  const runner = runJobs({
    store: jobs,
    holder: `${hostname()}/${process.pid}`,
    now: currentTimeMs,
    elapsed,
    kinds: [
      {
        kind: SCHEDULE_JOB,
        work: (job) => runSchedule(work, job),
        maxOwned: () => (isOffered() ? config().interns.max_running : 0),
      },
    ],
    onTrouble(error, job) {
      if (job) log('job failed', { job: job.id, err: error });
      else log('jobs unavailable', { err: error });
    },
  });
  const checkClock = createClockCheck({ schedules, jobs, now: currentTimeMs, elapsed });
  let checking: Promise<void> | undefined;
  const check = (): void => {
    if (!isOffered()) return;
    checking ??= checkClock()
      .catch(() => {}) // the runner reports an unreachable store
      .finally(() => {
        checking = undefined;
      });
  };
  check();
  const timer = setInterval(check, CLOCK_MS).unref();
  // An unreachable store must not delay a shutdown.
  resources.defer(() =>
    withTimeout(SHUTDOWN_GRACE_MS, Promise.all([runner.close(), checking])).then(
      () => {},
      (error) => log('jobs unavailable', { err: error }),
    ),
  );
  resources.defer(() => clearInterval(timer));
  resources.defer(bus.subscribe(scheduleTopic, (id) => runner.notify(createScheduleJob(id, 0).id)));
  return runner;
}
