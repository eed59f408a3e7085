import type { Duplex, Readable } from 'node:stream';

/** The home folder of a container, as its commands see it. */
export const SANDBOX_HOME = '/workspace/home';

/** The gateway's own `node` in sandboxes that need it. Drivers with an image do not have it. */
export const GATEWAY_NODE = '/run/headgate-node';

/** The limits of a running sandbox. */
export interface SandboxLimits {
  /** Memory of all its processes together. */
  memoryBytes: number;
  /** CPU cores, such as 0.5. */
  cpus: number;
  processes: number;
  /** Size of the home folder. */
  diskBytes: number;
  /** Files, folders and links in the home folder. */
  diskEntries: number;
  /** Size of `/tmp`, which exists while the sandbox runs. */
  temporaryBytes: number;
}

/** The settings of a sandbox. They do not change while it runs. */
export interface SandboxSpec {
  /** Unique among the sandboxes of the gateway: 1 to 128 characters `[A-Za-z0-9_-]`. */
  name: string;
  limits: SandboxLimits;
  /** Absent: no network at all. */
  network?: SandboxNetwork;
  /** Whether the sandbox has the gateway's own `node`, if the driver can show it: `GATEWAY_NODE`. */
  hasNode?: boolean;
}

/** The only network access of a sandbox: the egress proxy of the gateway. */
export type SandboxNetwork =
  | {
      /** Unix socket of the host on which the proxy listens for this sandbox alone. */
      proxySocket: string;
      proxyUrl?: undefined;
    }
  | {
      /** URL with an IP address, a port and the credentials of this sandbox alone. */
      proxyUrl: string;
      proxySocket?: undefined;
    };

export interface SandboxCommand {
  /** For `bash -c`. */
  command: string;
  timeoutMs: number;
  /** Maximum bytes of each output stream that are kept. The rest is read and dropped. */
  maxOutputBytes: number;
  /** Variables beside those of the sandbox. */
  environment?: Readonly<Record<string, string>>;
  signal: AbortSignal;
  /** Receives output while the command runs, at most `maxOutputBytes` of each stream. */
  onOutput?: (stream: 'stdout' | 'stderr', bytes: Buffer) => void;
}

/** The end of a command. */
export interface CommandResult {
  stdout: Buffer;
  stderr: Buffer;
  /** Bytes of each stream beyond `maxOutputBytes`. */
  droppedBytes: { stdout: number; stderr: number };
  /** `exit`: 128 + the signal, if a signal ended it. */
  outcome: { type: 'exit'; exitCode: number } | { type: 'timeout' };
  /** For the model: that the command was killed, or other processes of the sandbox by the gateway. Absent: nothing. */
  notes?: readonly string[];
}

/** A process that can run as long as its sandbox. */
export interface SandboxProgram {
  /** For `bash -c`. Its standard error is dropped. */
  command: string;
  /** Variables beside those of the sandbox. */
  environment?: Readonly<Record<string, string>>;
}

/** A process with a standard input. */
export interface SandboxProcess {
  /**
   * Its standard input and output, which end together: the end of one destroys the other. A slow reader slows the process
   * down. It does not end the process, which can read that its input has ended.
   */
  readonly stream: Duplex;
  /** Its exit code, 128 + the signal if a signal ended it. Rejects with a `SandboxError` if the sandbox ended. */
  readonly exited: Promise<number>;
  /** Kills its session. Resolves when it has ended. */
  kill(): Promise<void>;
}

/** A file, a folder or a link of the home folder. */
export interface SandboxEntry {
  /** Relative to the home folder, with `/`, in the bytes of the file system: it can be invalid UTF-8. */
  path: Buffer;
  kind: 'file' | 'folder' | 'link';
  /** Bytes of a file; 0 for others. */
  bytes: number;
  /** Permission bits of a file or a folder. */
  mode: number;
  modifiedAtMs: number;
  /** Target of a link. It can point anywhere. */
  target?: Buffer;
  /** Changes whenever the entry changes. Comparable within one sandbox only. */
  stamp: string;
}

/** An entry to create or replace. */
export type EntryToWrite = Pick<SandboxEntry, 'path' | 'kind' | 'mode' | 'modifiedAtMs' | 'target'> & {
  /** Content of a file. */
  content?: AsyncIterable<Uint8Array>;
};

/**
 * A running sandbox. Its commands can run at the same time. All methods reject with a `SandboxError` if it cannot be
 * used. Commands can be malicious: they see the home folder, a system that cannot be written, and nothing of the gateway.
 */
export interface Sandbox {
  readonly name: string;
  /** Aborted when the sandbox has ended, with a `SandboxError` as the reason that says why. */
  readonly ended: AbortSignal;
  /**
   * Runs a command in its own session. Processes that it leaves in the background live until the sandbox stops, or until
   * they use up the limit of processes. A timeout and the signal kill the session of the command. It ends within seconds
   * after its time limit, whatever the processes of the sandbox do: if it cannot be stopped, the sandbox ends.
   *
   * @throws {SandboxError} if the sandbox ended during the command
   * @throws the reason of the signal
   */
  exec(command: SandboxCommand): Promise<CommandResult>;
  /**
   * Starts a process in its own session. It ends by itself, with `kill`, or with the sandbox.
   *
   * @throws {SandboxError} `unavailable` from a driver that has no such processes
   */
  start(program: SandboxProgram): Promise<SandboxProcess>;
  /**
   * Lists the home folder in batches, in any order, folders before their content. Follows no link. Paths can be too long to
   * be read, and are cut after 2,048 bytes. What is more than 201 levels deep is not listed.
   */
  listFiles(): AsyncIterable<SandboxEntry[]>;
  /** Reads a regular file; never through a link. @returns undefined if there is no such file */
  read(path: Buffer): Promise<Readable | undefined>;
  /** Writes entries in order; never through a link. Creates missing parent folders and replaces existing entries. */
  write(entries: AsyncIterable<EntryToWrite>): Promise<void>;
  /** Removes entries with everything below them, if they exist; never through a link. */
  remove(paths: readonly Buffer[]): Promise<void>;
  /** Kills all processes and removes the home folder. Idempotent. */
  stop(): Promise<void>;
}

/** Runs sandboxes in one way. Drivers run `contract.ts`. */
export interface SandboxDriver {
  readonly kind: 'bubblewrap' | 'docker' | 'kubernetes' | 'simulation';
  /** @returns why it cannot run here and what to install or change; undefined: it can */
  probe(): Promise<string | undefined>;
  /** Starts a sandbox with an empty home folder. @throws {SandboxError} */
  start(spec: SandboxSpec): Promise<Sandbox>;
  /** Stops what killed processes of this gateway have left. */
  removeLeftovers(): Promise<void>;
  /** Stops all sandboxes. */
  close(): Promise<void>;
}

/** Why a sandbox ended or cannot be used. `stopped`: `stop` was called. */
export type SandboxProblem = 'unavailable' | 'stopped' | 'memory' | 'disk' | 'crashed';

/** A failure of a sandbox, not of a command in it. The model reads the message. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly problem: SandboxProblem;

  constructor(problem: SandboxProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}
