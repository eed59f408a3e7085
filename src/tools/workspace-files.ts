import type { Caller } from '../domain/caller.ts';

/** A stored file, as a model sees it. */
export interface WorkspaceFile {
  readonly id: string;
  readonly filename: string;
  readonly mimeType: string;
  readonly bytes: number;
  /** Unix milliseconds. */
  readonly createdAtMs: number;
}

/** The stored files of the workspace of a caller. All methods throw a GatewayError with a message for the model. */
export interface WorkspaceFiles {
  /** Lists the oldest first. @param filter a part of the name */
  list(
    caller: Caller,
    filter: string | undefined,
    limit: number,
  ): Promise<{ files: WorkspaceFile[]; hasMore: boolean }>;
  /** Finds a file by its id, or the newest one with a name. */
  find(caller: Caller, by: { id: string } | { filename: string }): Promise<WorkspaceFile | undefined>;
  /** Reads at most the given number of bytes from the start. */
  read(caller: Caller, file: WorkspaceFile, maxBytes: number): Promise<Buffer>;
  /** Stores a new file. Does not change existing files of the same name. */
  write(caller: Caller, filename: string, text: string): Promise<WorkspaceFile>;
  /** Deletes a file if it exists. */
  remove(caller: Caller, file: WorkspaceFile): Promise<void>;
}
