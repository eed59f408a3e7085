/** Receives what a process in a container writes. */
export interface ProcessListener {
  output(stream: 'stdout' | 'stderr', bytes: Buffer): void;
  /** The connection to the process has ended. Called once. */
  closed(error?: Error): void;
}

/** A process in a container, over the connection that started it. */
export interface RemoteProcess {
  /** Sends bytes to its standard input. Resolves when there is room for more. */
  write(bytes: Uint8Array): Promise<void>;
  /** Stops and continues reading its output. Absent: it cannot stop. */
  setReading?(isReading: boolean): void;
  /** Closes the connection. It does not end the process. */
  close(): void;
}

/** A running container of a service. Its image has bash, GNU findutils, GNU tar, coreutils and setsid. */
export interface RemoteContainer {
  /** @throws if the process cannot start */
  start(command: readonly string[], listener: ProcessListener): Promise<RemoteProcess>;
  /** @returns why the container has ended; undefined: it runs */
  findEnd(): Promise<{ problem: 'memory' | 'disk' | 'crashed'; message: string } | undefined>;
  /** Kills its processes and removes it. Idempotent. */
  remove(): Promise<void>;
}
