import type { OrphanedRequest } from '../access/rate-limits.ts';
import type { Config } from '../config/schema.ts';
import type { Peer } from '../platform/cluster/peer.ts';
import type { MetricFamily } from '../platform/telemetry/exposition.ts';

/** What a worker is told of its place among several. */
export interface WorkerSlot {
  /** From 0. Told in the log and in the metrics. */
  slot: number;
  /** Folder of its journal: no other worker ever has it. */
  journal: string;
  /** How many there are. */
  workers: number;
}

/** A seat, and who gave it. */
export interface AssignedSlot extends WorkerSlot {
  primary: Peer;
}

/** What the primary asks of a worker. */
export interface WorkerService {
  /** Makes its gateway, ready for connections. */
  open(options: { config: Config; dataDir: string; slot: WorkerSlot }): Promise<void>;
  /** First half of a reload: makes everything ready, changes nothing. @throws when the configuration cannot be used */
  prepareReload(config: Config): Promise<void>;
  /** Second half: takes over what was made ready. */
  commitReload(): Promise<void>;
  /** Reads keys and limits anew. */
  refreshAccess(): Promise<void>;
  /** Frees what requests had open whose worker has ended. */
  release(ended: readonly OrphanedRequest[]): Promise<void>;
  /** Resolves when all that it booked and kept so far is in the store. */
  flush(): Promise<void>;
  /** What it has counted. */
  collectMetrics(): MetricFamily[];
  /** Answers at once, unless it hangs. */
  ping(): void;
  /** Drains, as a gateway alone does. */
  close(): Promise<void>;
}

/** What a worker asks of the primary, besides the store. */
export interface PrimaryService {
  /** Resolves when all that workers booked and kept so far is in the store; those that cannot are passed over. */
  flush(): Promise<void>;
  /** What all workers have counted, and this process. */
  collectMetrics(): Promise<MetricFamily[]>;
}

/** What a worker tells the primary unasked. */
export interface MetricsService {
  /** What it has counted so far: the primary has it when the worker is killed. */
  see(counters: readonly MetricFamily[]): void;
}

/** Their names among the services of either side. */
export const serviceNames = { worker: 'gateway', primary: 'primary', dispatcher: 'door', numbers: 'numbers' } as const;
