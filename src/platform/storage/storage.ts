import type { AccessStore } from './ports/access.ts';
import type { AlertStore } from './ports/alerts.ts';
import type { ArchiveStore } from './ports/archives.ts';
import type { ConsoleStore } from './ports/console.ts';
import type { ContainerStore } from './ports/containers.ts';
import type { ContentStore } from './ports/contents.ts';
import type { FileStore } from './ports/files.ts';
import type { InternScheduleStore } from './ports/intern-schedules.ts';
import type { InternStore } from './ports/interns.ts';
import type { JobStore } from './ports/jobs.ts';
import type { LedgerStore } from './ports/ledger.ts';
import type { ManagementStore } from './ports/management.ts';
import type { PassageStore } from './ports/passages.ts';
import type { VaultStore } from './ports/vaults.ts';

/**
 * The durable state. `ports/` has one interface for each store, and a consumer takes the one that it uses. There is an
 * embedded adapter (`sqlite/`), one for several hosts (`postgres/`), and one that uses the store of another process
 * (`remote/`). All of them run `contract.ts`. The hot path waits for none of them: `access/` and `metering/` work in
 * memory and use the store in the background.
 *
 * All methods reject with the driver's error if the store is unreachable.
 */
export interface Storage {
  readonly access: AccessStore;
  readonly ledger: LedgerStore;
  readonly management: ManagementStore;
  readonly contents: ContentStore;
  readonly files: FileStore;
  readonly passages: PassageStore;
  readonly containers: ContainerStore;
  readonly interns: InternStore;
  readonly schedules: InternScheduleStore;
  readonly jobs: JobStore;
  readonly alerts: AlertStore;
  readonly archives: ArchiveStore;
  readonly console: ConsoleStore;
  readonly vaults: VaultStore;
  /** Brings the schema up to date. Several processes can do so concurrently. */
  migrate(): Promise<void>;
  /** Compares the schema with that of this build. Changes nothing. */
  compareSchema(): Promise<SchemaState>;
  /** Resolves if the store responds. A standby database is read-only, for example. */
  ping(): Promise<'writable' | 'read-only'>;
  /** Reads Unix milliseconds by the clock of the store. The embedded store uses the clock of its host. */
  readTime(): Promise<number>;
  close(): Promise<void>;
}

export interface SchemaState {
  /** Whether the store has no schema yet. */
  isEmpty: boolean;
  /** Whether the schema lacks a migration of this build. */
  isOlder: boolean;
  /** Why this build cannot use it; undefined: it can. */
  problem: SchemaProblem | undefined;
}

export interface SchemaProblem {
  /** A clause, without a subject: "has the schema of …". */
  says: string;
  /** A sentence. */
  remedy: string;
}
