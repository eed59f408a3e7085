import { hostname } from 'node:os';
import type { InternApiParts } from '../api/interns/handlers.ts';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { createInternJob, INTERN_JOB } from '../domain/intern.ts';
import type { LifecycleParts } from '../interns/lifecycle/lifecycle-parts.ts';
import { ownIntern } from '../interns/lifecycle/own-intern.ts';
import type { InternRuntime, InternVaults } from '../interns/ports.ts';
import { issueInternKey, revokeInternKeys } from '../management/interns/intern-keys.ts';
import type { ManagementParts } from '../management/parts.ts';
import type { Bus, Topic } from '../platform/bus/bus.ts';
import { repeatHourly } from '../platform/hourly.ts';
import { JobLostError, type JobRunner, runJobs } from '../platform/jobs/run-jobs.ts';
import type { Storage } from '../platform/storage/storage.ts';
import type { InternNumbers } from '../platform/telemetry/intern-numbers.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import { sweepVaults } from '../vault/sweep-vaults.ts';

/** Milliseconds. @see docs/reference/interns.md#limits */
export interface InternTimes {
  /** A request for interns or vaults. */
  requestMs: number;
  /** The body of a message to an intern. */
  chatBodyMs: number;
}
const internTimes: InternTimes = { requestMs: 10_000, chatBodyMs: 60_000 };

export interface OpenInternsParts {
  config: () => Config;
  storage: Pick<Storage, 'interns' | 'jobs' | 'vaults'>;
  /** Undefined: the gateway offers no interns. */
  runtime: InternRuntime | undefined;
  vaults: InternVaults | undefined;
  /** For the keys of interns. */
  management: ManagementParts;
  bus: Bus;
  log: WriteLog;
  numbers: InternNumbers;
  /** Whether this process owns interns. One of several workers does so for all. */ // choice 652
  runs: boolean;
  times: Partial<InternTimes> | undefined;
}

/** Published after a change that the owner of an intern has to know. */
const internTopic: Topic<string> = {
  name: 'interns',
  read: (message) => (typeof message === 'string' ? message : undefined),
};

/** Maximum interns that a process removes or checks, besides those that it runs. */
const SETTLING_INTERNS = 20;
/** Milliseconds for the interns of a process to save their files when it shuts down. */
const SAVE_MS = 30_000;
const fixedSettings = { checkMs: 10_000, stopMs: 60_000, restartMs: 1000, maxRestarts: 5 } as const;

/** The use cases of interns. */
export interface OpenedInterns extends Omit<InternApiParts, 'show'> {
  isOffered: () => boolean;
  chatBodyMs: number;
}

/** Opens the lifecycle of interns. @param resources collects the resources to close at the end */
export function openInterns(parts: OpenInternsParts, resources: AsyncDisposableStack): OpenedInterns {
  const { config, storage, runtime, vaults, bus, numbers, log } = parts;
  const { requestMs, chatBodyMs } = { ...internTimes, ...parts.times };
  const isOffered = (): boolean => config().interns.enabled && runtime !== undefined && vaults !== undefined;
  const runner =
    parts.runs && runtime && vaults ? runInterns(parts, createLifecycle(parts, runtime, vaults)) : undefined;
  numbers.isOffered = isOffered();
  if (runner) {
    // An unreachable store must not delay a shutdown.
    resources.defer(() =>
      withTimeout(SAVE_MS, runner.close()).catch((error) => log('jobs unavailable', { err: error })),
    );
    resources.defer(bus.subscribe(internTopic, (internId) => runner.notify(createInternJob(internId, 0).id)));
  }
  if (parts.runs) {
    const sweep = repeatHourly(
      (signal) => sweepVaults(storage, signal),
      (error) => log('vault sweep failed', { err: error }),
    );
    resources.defer(sweep.close);
  }
  return {
    interns: storage.interns,
    now: currentTimeMs,
    deadlineMs: requestMs,
    chatBodyMs,
    isOffered,
    vaults: vaults ?? noVaults,
    maxPerMember: () => config().interns.max_per_member,
    notify(internId) {
      runner?.notify(createInternJob(internId, 0).id);
      bus.publish(internTopic, internId);
    },
  };
}

const refuse = (): Promise<never> => Promise.reject(new Error('This gateway has no vaults.'));
const noVaults = { create: refuse, destroy: refuse };

function createLifecycle(
  { storage, management, numbers, log, config }: OpenInternsParts,
  runtime: InternRuntime,
  vaults: InternVaults,
): LifecycleParts {
  return {
    interns: storage.interns,
    runtime,
    vaults,
    numbers,
    log,
    now: currentTimeMs,
    credentials: {
      async issue(intern, lease) {
        const issued = await issueInternKey(management, intern, lease);
        if (!issued) throw new JobLostError();
        return issued;
      },
      async revoke(internId, lease) {
        if (!(await revokeInternKeys(management, internId, lease))) throw new JobLostError();
      },
    },
    settings() {
      const { domain, max_running: maxRunning, provision_ms: provisionMs, health_ms: healthMs } = config().interns;
      return { ...fixedSettings, domain, maxRunning, provisionMs, healthMs };
    },
  };
}

function runInterns({ config, storage, log }: OpenInternsParts, lifecycle: LifecycleParts): JobRunner {
  return runJobs({
    store: storage.jobs,
    kinds: [
      {
        kind: INTERN_JOB,
        work: (job) => ownIntern(lifecycle, job),
        maxOwned: () => (config().interns.enabled ? config().interns.max_running + SETTLING_INTERNS : 0),
      },
    ],
    holder: `${hostname()}/${process.pid}`,
    now: currentTimeMs,
    elapsed: () => performance.now(),
    async onSilent(jobId) {
      // Callers see that the runtime is not there, and no request is sent to it.
      const id = jobId.slice(`${INTERN_JOB}:`.length);
      await storage.interns.updateIntern({ id, from: ['running'], fields: { runtimeAddress: null } });
    },
    onTrouble(error, job) {
      if (job) log('job failed', { job: job.id, err: error });
      else log('jobs unavailable', { err: error });
    },
  });
}
