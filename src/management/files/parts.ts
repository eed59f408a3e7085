import type { Objects } from '../../platform/objects/objects.ts';
import type { FileStore } from '../../platform/storage/ports/files.ts';

/** The dependencies of the use cases of files. */
export interface FileParts {
  files: FileStore;
  /** The contents of files. */
  objects: Objects;
  limits: () => FileLimits;
  /** Unix milliseconds. */
  now: () => number;
}

export interface FileLimits {
  /** Of one file. */
  maxBytes: number;
  /** Of all files of a workspace together. */
  workspaceBytes: number;
  /** Number of files of a workspace. */
  workspaceFiles: number;
}
