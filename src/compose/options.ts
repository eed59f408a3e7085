import type { Config } from '../config/schema.ts';
import type { InternRuntime, InternVaults } from '../interns/ports.ts';
import type { SandboxDriver } from '../platform/sandbox/sandbox.ts';
import type { Containers } from '../tools/containers.ts';
import type { AssignedSlot } from '../workers/services.ts';
import type { InternTimes } from './open-interns.ts';

export interface GatewayOptions {
  config: Config;
  /** Created if absent. Contains the embedded store, the journal and the master key. */
  dataDir: string;
  /** The configuration file, if there is one. Commands in sandboxes cannot see it. */
  file?: string | undefined;
  /**
   * Whether the process runs nothing else. The gateway then follows the clock of a shared store, and rejected promises of
   * plugins do not end the process.
   */
  ownsProcess: boolean;
  /** Receives each line of the log. Absent: standard error, in the format of the configuration. */
  writeLog?: ((line: string) => void) | undefined;
  /**
   * Only set in a worker. The primary owns the data folder and the embedded store, and handles migrations, bootstrap
   * and first keys.
   */
  slot?: AssignedSlot;
  /** How long records and spans are collected before they are stored or exported. Absent: the default of each. */
  gatherMs?: number | undefined;
  /** Milliseconds between two looks for alerts. Absent: half a minute. */
  alertMs?: number | undefined;
  /** Milliseconds between two exports of the ledger. Absent: a second for ClickHouse, an hour for files. */
  exportMs?: number | undefined;
  /** The build of the console. Absent: that of this gateway. */
  consoleFolder?: string | undefined;
  /** Replaces the sandbox driver of the configuration. */
  sandboxDriver?: SandboxDriver;
  /** Replaces the containers of the configuration. */
  containers?: Containers;
  /** Runs the agents of interns. */
  internRuntime?: InternRuntime;
  /** Has the vaults of interns. */
  internVaults?: InternVaults;
  /** Times of tests. */
  internTimes?: Partial<InternTimes>;
}
