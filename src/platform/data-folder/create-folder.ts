import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder (0700) and its parents. An existing folder stays unchanged.
 *
 * It creates one level at a time, because Node's recursive call never returns on a system that rejects folders in an
 * existing one with ENOENT (`/proc`, a lost mount).
 *
 * @throws the system's error, also if the path is a file
 */
export function createFolder(folder: string): void {
  if (isFolder(folder)) return;
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Node's file system errors have a code.
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && isFolder(folder)) return; // another process created it first
    const above = dirname(folder);
    if (code !== 'ENOENT' || above === folder || existsSync(above)) throw error;
    createFolder(above);
    createFolder(folder);
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
