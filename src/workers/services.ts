import type { OrphanedRequest } from '../access/rate-limits.ts';
import type { Config } from '../config/schema.ts';
import type { Peer } from '../platform/cluster/peer.ts';
import type { MetricFamily } from '../platform/telemetry/exposition.ts';

/** The place of a worker among several. */
export interface WorkerSlot {
  /** From 0. Shown in the log and in the metrics. */
  slot: number;
  /** Folder of its journal. No other worker ever has it. */
  journal: string;
  /** Number of workers. */
  workers: number;
}

/** A slot, and the primary that assigned it. */
export interface AssignedSlot extends WorkerSlot {
  primary: Peer;
}

/** What the primary calls in a worker. */
export interface WorkerService {
  /** Creates its gateway, ready for connections. */
  open(options: { config: Config; dataDir: string; slot: WorkerSlot }): Promise<void>;
  /** First half of a reload: prepares everything, changes nothing. @throws if the configuration cannot be used */
  prepareReload(config: Config): Promise<void>;
  /** Second half: applies what was prepared. */
  commitReload(): Promise<void>;
  /** Reads keys and limits again. */
  refreshAccess(): Promise<void>;
  /** Releases the reservations of requests whose worker has ended. */
  release(ended: readonly OrphanedRequest[]): Promise<void>;
  /** Resolves when all its entries and contents so far are stored. */
  flush(): Promise<void>;
  /** Its metrics. */
  collectMetrics(): MetricFamily[];
  /** Responds at once, unless the worker is unresponsive. */
  ping(): void;
  /** Drains, like a single gateway. */
  close(): Promise<void>;
}

/** What a worker calls in the primary, besides the store. */
export interface PrimaryService {
  /** Resolves when all entries and contents of all workers so far are stored. Workers that cannot are skipped. */
  flush(): Promise<void>;
  /** The metrics of all workers and of this process. */
  collectMetrics(): Promise<MetricFamily[]>;
}

/** What a worker reports to the primary by itself. */
export interface MetricsService {
  /** Its counters so far. The primary keeps them in case the worker is killed. */
  see(counters: readonly MetricFamily[]): void;
}

/** The names of the services on either side. */
export const serviceNames = { worker: 'gateway', primary: 'primary', dispatcher: 'door', numbers: 'numbers' } as const;
