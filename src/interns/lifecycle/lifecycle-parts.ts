import type { Intern } from '../../domain/intern.ts';
import type { OwnedJob } from '../../platform/jobs/run-jobs.ts';
import type { InternStore } from '../../platform/storage/ports/interns.ts';
import type { JobLease } from '../../platform/storage/ports/jobs.ts';
import type { WriteLog } from '../../platform/telemetry/log-messages.ts';
import type { InternCredentials, InternRuntime, InternVaults } from '../ports.ts';

/** The dependencies of the work on interns. */
export interface LifecycleParts {
  interns: InternStore;
  runtime: InternRuntime;
  vaults: InternVaults;
  credentials: InternKeys;
  settings: () => LifecycleSettings;
  numbers: InternCounts;
  /** Unix milliseconds. */
  now: () => number;
  log: WriteLog;
}

/** The inference keys of interns. */
export interface InternKeys {
  /**
   * Creates the key of an intern, and deletes its earlier ones. Every process accepts the new key when the promise
   * resolves, or shortly after.
   *
   * @throws {JobLostError} if the lease is lost
   */
  issue(intern: Intern, lease: JobLease): Promise<InternCredentials>;
  /** Deletes the keys of an intern. Does nothing if it has none. @throws {JobLostError} if the lease is lost */
  revoke(internId: string, lease: JobLease): Promise<void>;
}

export interface LifecycleSettings {
  /** The domain below which each intern has a host name. */
  domain: string;
  /** Maximum number of interns that this process runs at the same time. */
  maxRunning: number;
  /** Timeout of a start, and of a restart. */
  provisionMs: number;
  /** Interval between two health checks. */
  healthMs: number;
  /** Timeout of one health check. */
  checkMs: number;
  /** Timeout for stopping a runtime, and for each part of a teardown. */
  stopMs: number;
  /** Delay before the first restart of a runtime. It doubles with each further one. */
  restartMs: number;
  /** Number of consecutive restarts after which a runtime counts as lost. */
  maxRestarts: number;
}

/** Counts the work of this process on interns. */
export interface InternCounts {
  provisioned(outcome: 'running' | 'failed' | 'cancelled', tookMs: number): void;
  restarted(): void;
  lost(): void;
  removed(outcome: 'removed' | 'failed'): void;
  /** Runtimes that this process runs or starts. */
  active: Set<string>;
}

/** The work on one intern. */
export interface InternWork {
  parts: LifecycleParts;
  job: OwnedJob;
  internId: string;
}
