import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { flushCompileCache, getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

/**
 * Minimum free space of the disk. A full cache has 20 MB. If the disk is full, Node 26 leaks a file descriptor for each of
 * its 4,000 files.
 */
const MIN_FREE_BYTES = 64 * 1024 * 1024;

/**
 * Writes the code that this process has compiled to Node's compile cache. Node itself writes it when a process exits, which
 * a process that is killed never does. Without a cache, or with a full disk, it writes nothing.
 *
 * The write blocks this process for 80 ms if all code is new, and for 2 ms if none is. choice 793
 */
export async function saveCompiledCode(): Promise<void> {
  const folder = getCompileCacheDir();
  if (folder === undefined) return;
  try {
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize >= MIN_FREE_BYTES) flushCompileCache();
  } catch {
    // The folder was removed. The next start creates it again.
  }
}

/**
 * Returns the environment variable with which a child process uses the compile cache of this process. Returns none if the
 * cache was removed: Node would create it again, with the default permissions.
 */
export function shareCompiledCode(): { NODE_COMPILE_CACHE?: string } {
  const folder = getCompileCacheDir();
  if (folder === undefined || !existsSync(folder)) return {};
  return { NODE_COMPILE_CACHE: dirname(folder) }; // without the name for this version of Node
}
