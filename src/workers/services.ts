import type { OrphanedRequest } from '../access/rate-limits.ts';
import type { Readiness } from '../api/health/readiness.ts';
import type { Config } from '../config/schema.ts';
import type { Peer } from '../platform/cluster/peer.ts';
import type { MetricFamily } from '../platform/telemetry/exposition.ts';

/** The slot of one of several workers. */
export interface WorkerSlot {
  /** From 0. Shown in the log and in the metrics. */
  slot: number;
  /** Folder of its journal. No other worker ever uses it. */
  journal: string;
  /** Number of workers. */
  workers: number;
}

/** A slot, and the primary that assigned it. */
export interface AssignedSlot extends WorkerSlot {
  primary: Peer;
}

/** The service of a worker for the primary. */
export interface WorkerService {
  /** Creates the gateway of the worker, ready for connections. */
  open(options: { config: Config; dataDir: string; file: string | undefined; slot: WorkerSlot }): Promise<void>;
  /**
   * Runs the first half of a reload: prepares everything and changes nothing.
   *
   * @throws if the configuration cannot be used
   */
  prepareReload(config: Config): Promise<void>;
  /** Runs the second half of a reload: applies the prepared configuration. */
  commitReload(): Promise<void>;
  /** Reloads keys and limits. */
  refreshAccess(): Promise<void>;
  /** Releases the reservations of requests whose worker has ended. */
  release(ended: readonly OrphanedRequest[]): Promise<void>;
  /** Resolves when all entries and contents of the worker so far are stored. */
  flush(): Promise<void>;
  /** Finds whether the worker accepts requests, and its problems. */
  checkReadiness(): Promise<Readiness>;
  /** Returns the metrics of the worker. */
  collectMetrics(): MetricFamily[];
  /** Responds at once, unless the worker is unresponsive. */
  ping(): void;
  /** Begins a shutdown, as for a single gateway. */
  drain(): number;
  /** Closes the worker, as for a single gateway. */
  close(): Promise<void>;
}

/** The service of the primary for a worker, besides the store. */
export interface PrimaryService {
  /** Resolves when all entries and contents of all workers so far are stored. Workers that cannot are skipped. */
  flush(): Promise<void>;
  /** The readiness of each worker. Undefined: it does not respond, or is being replaced. */
  collectReadiness(): Promise<(Readiness | undefined)[]>;
  /** The metrics of all workers and of this process. */
  collectMetrics(): Promise<MetricFamily[]>;
}

/** The metrics that a worker reports to the primary periodically. */
export interface MetricsService {
  /** Receives the worker's counters so far. The primary keeps them in case the worker is killed. */
  see(counters: readonly MetricFamily[]): void;
}

/** The names of the services at both ends. */
export const serviceNames = {
  worker: 'gateway',
  primary: 'primary',
  dispatcher: 'door',
  numbers: 'numbers',
  outages: 'outages',
} as const;
