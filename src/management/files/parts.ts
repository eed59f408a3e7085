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
  /** Maximum bytes of one file. */
  maxBytes: number;
  /** Maximum bytes of all files of a workspace together. */
  workspaceBytes: number;
  /** Maximum number of files of a workspace. */
  workspaceFiles: number;
}
