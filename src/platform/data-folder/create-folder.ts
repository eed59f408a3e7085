import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder (0700) and its parents. An existing folder stays unchanged.
 *
 * It works level by level, because Node's own recursive call never returns on a system that rejects folders in an
 * existing one with ENOENT (`/proc`, a lost mount).
 *
 * @throws the system's error, including for a file of that name
 */
export function createFolder(folder: string): void {
  if (isFolder(folder)) return;
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Node's errors of the file system carry a code.
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && isFolder(folder)) return; // another process was faster
    const above = dirname(folder);
    if (code !== 'ENOENT' || above === folder || existsSync(above)) throw error;
    createFolder(above);
    createFolder(folder);
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
