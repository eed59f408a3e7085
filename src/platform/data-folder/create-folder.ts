import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder (0700) and those above it; one that is there stays as it is.
 *
 * Level by level, since Node's own recursive call never returns where a system takes no folder in one that is there and
 * says that it is not (`/proc`, a mount that is gone).
 *
 * @throws the system's error, also when a file stands in its place
 */
export function createFolder(folder: string): void {
  if (isFolder(folder)) return;
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Node's errors of the file system carry a code.
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && isFolder(folder)) return; // somebody else was faster
    const above = dirname(folder);
    if (code !== 'ENOENT' || above === folder || existsSync(above)) throw error;
    createFolder(above);
    createFolder(folder);
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
