import type { Caller } from '../domain/caller.ts';

/** The processes of a container. Those of different tools are separate; its saved files are shared. */
export type ContainerCompute = 'shell' | 'bash' | 'code' | 'editor';

/** The hosts that a container can reach. Absent: none. */
export interface NetworkPolicy {
  /** Lower-case host names or globs, for ports 80 and 443. `*`: every public host. */
  readonly allowedDomains: readonly string[];
}

export interface ContainerRequest {
  /** As in `containerIdShape`. Unknown to the caller: it is created. */
  readonly id: string;
  readonly compute: ContainerCompute;
  /** Fixed while the container runs. */
  readonly network?: NetworkPolicy;
  /** Ids of files of the workspace that are copied into the home folder, unless they are there. */
  readonly fileIds?: readonly string[];
  readonly signal: AbortSignal;
}

export interface ContainerCommand {
  /** For `bash -c`. */
  readonly command: string;
  readonly timeoutMs: number;
  /** Maximum characters of each output stream. */
  readonly maxOutputLength: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Receives output while the command runs. */
  onOutput?(stream: 'stdout' | 'stderr', text: string): void;
}

/** The end of a command. */
export interface ContainerCommandResult {
  /** Invalid UTF-8 is replaced. A last line says how much was dropped. */
  readonly stdout: string;
  readonly stderr: string;
  readonly outcome: { readonly type: 'exit'; readonly exit_code: number } | { readonly type: 'timeout' };
  /** Changed files, the most recently changed first, at most 10. */
  readonly files: readonly ContainerFileCitation[];
  /** What the model must know about the container, such as what is not saved. */
  readonly notes: readonly string[];
}

export interface ContainerFileCitation {
  readonly type: 'container_file_citation';
  readonly container_id: string;
  /** `cfile_` and the path in base64url. */
  readonly file_id: string;
  /** Path below the home folder. */
  readonly filename: string;
  readonly start_index: 0;
  readonly end_index: 0;
}

/** The driver of containers. `simulation` is not a real system, and its description says this to the model. */
export type ContainerKind = 'bubblewrap' | 'docker' | 'kubernetes' | 'simulation';

/** A running container. All methods throw a `ToolError` with a message for the model if it cannot be used. */
export interface OpenContainer {
  readonly id: string;
  /** The driver that runs its commands. */
  readonly kind: ContainerKind;
  /**
   * Runs a command, then saves changed files. They are saved even if the call is cancelled meanwhile. If they cannot be
   * saved, the output of the command is returned with a note.
   */
  run(command: ContainerCommand): Promise<ContainerCommandResult>;
  /** Reads a file as it is in the running container. @returns undefined if there is no such file */
  read(path: string, maxBytes: number): Promise<Buffer | undefined>;
  /** Writes a file and saves it. @returns its citation */
  write(path: string, content: Buffer): Promise<ContainerFileCitation>;
}

/** The containers of callers. The same id is another container for a caller who does not own it. */
export interface Containers {
  /** Why no container can run, and what to install or change; undefined: they can. Costs nothing. */
  readonly problem: string | undefined;
  /** The driver that runs the commands; undefined: none. Costs nothing. */
  readonly kind: ContainerKind | undefined;
  /** @returns the ids of files that the workspace does not have */
  findUnknownFiles(caller: Caller, fileIds: readonly string[]): Promise<readonly string[]>;
  /**
   * Looks for a conflict before a request is sent. `open` decides later, because another request can start the container.
   *
   * @returns the message of the `conflict` that `open` would throw; undefined: there is none now
   */
  findConflict(
    caller: Caller,
    request: Pick<ContainerRequest, 'id' | 'compute' | 'network'>,
  ): Promise<string | undefined>;
  /**
   * Starts the container, or finds it running.
   *
   * @throws {GatewayError} `conflict` if it runs with another network policy
   * @throws {ToolError} if it cannot run, for example because the member has too many
   */
  open(caller: Caller, request: ContainerRequest): Promise<OpenContainer>;
  /** Price of a second in nano-dollars, and the fewest seconds of a call that are charged. */
  readonly price: { readonly perSecondNanoUsd: bigint; readonly minSeconds: number };
}
