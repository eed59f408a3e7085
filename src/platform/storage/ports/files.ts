import type { Change } from './management.ts';

/** A file of a workspace, without its content, which is an object. The row decides whether the file exists. */
export interface FileRecord {
  /** Sorts by creation time. */
  id: string;
  workspaceId: string;
  /** Several files may have the same name. */
  filename: string;
  mimeType: string;
  bytes: number;
  /** SHA-256 of the content, lower-case hex. */
  sha256: string;
  /** Whether callers can read the content. False for uploads. */
  downloadable: boolean;
  /** As the caller named it. Null: not named. */
  purpose: string | null;
  createdAtMs: number;
}

export interface FileUsage {
  files: number;
  bytes: number;
}

export interface FileListQuery {
  workspaceId: string;
  /** Only files that follow this id in the order of the list. It need not exist. */
  after?: string | undefined;
  /** Only files whose name contains it, in any case of the letters A to Z. */
  filter?: string | undefined;
  /** Only files whose name begins with it. */
  folder?: string | undefined;
  /** Only files with this purpose. `user_data` is that of files without one. */
  purpose?: string | undefined;
  /** Absent: the oldest first. */
  order?: 'asc' | 'desc' | undefined;
  limit: number;
}

/** Why a file is not stored: a limit of its workspace, or the workspace does not exist. */
export type FileRefusal = 'bytes' | 'files' | 'workspace';

/** Files of workspaces. Writes record an audit entry in the same transaction, and change no revision. */
export interface FileStore {
  /**
   * Adds a file if its workspace stays within the limits. Calls of all processes run one at a time.
   *
   * @param limits of all files of the workspace together
   * @returns why it was not added; undefined: it was
   */
  addFile(file: FileRecord, limits: FileUsage, change: Change): Promise<FileRefusal | undefined>;
  findFile(workspaceId: string, id: string): Promise<FileRecord | undefined>;
  /** Finds the newest file of this name. */
  findFileByName(workspaceId: string, filename: string): Promise<FileRecord | undefined>;
  listFiles(query: FileListQuery): Promise<FileRecord[]>;
  readFileUsage(workspaceId: string): Promise<FileUsage>;
  /** @returns the file as it was; undefined if it does not exist */
  deleteFile(workspaceId: string, id: string, change: Change): Promise<FileRecord | undefined>;
  /** Returns those of the ids that exist, in any order. */
  listExistingFiles(ids: readonly string[]): Promise<string[]>;
}
