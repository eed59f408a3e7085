// Runs the program on a Node that is new enough, with a compile cache. bin/headgate.js imports this module, or runs it
// on another Node.
import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Maximum number of files. A version of Node has about 4,000 here. Files of other versions and of removed sources stay, and
 * so do empty files of each start on a full disk.
 */
const MAX_CACHE_FILES = 20_000;

const root = new URL('../', import.meta.url);
const source = new URL('src/cli.ts', root);
const isCheckout = existsSync(source);

// the package is bundled: a cache would save it 0.07 s, and cost 8 MB of memory
if (isCheckout) useCompileCache(fileURLToPath(new URL('node_modules/.cache/headgate', root)));
try {
  await import(isCheckout ? source.href : new URL('dist/cli.js', root).href);
} catch (error) {
  if (!isCheckout || error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  const [name = 'a package'] = /'[^']+'/.exec(error.message) ?? [];
  process.stderr.write(`headgate: The dependencies are incomplete: ${name} is not installed. Run: npm ci\n`);
  process.exitCode = 1;
}

/**
 * Keeps compiled code in a folder, which halves the duration of the next start of a clone. Node's own variables for its
 * compile cache take precedence. If the folder cannot be written, or another user could write it, there is no cache.
 * choice 793
 */
function useCompileCache(folder) {
  if (getCompileCacheDir() !== undefined || process.env.NODE_DISABLE_COMPILE_CACHE !== undefined) return;
  try {
    mkdirSync(dirname(folder), { recursive: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Some systems create folders that the group of the user can write.
    if (isShared(dirname(folder), 0o002) || isShared(folder, 0o022)) return;
    if (readdirSync(folder, { recursive: true }).length > MAX_CACHE_FILES) {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    }
    enableCompileCache(folder);
  } catch {
    // The package is read-only for this user.
  }
}

/** Whether another user could put code there, which this process would run. Windows has no such permissions. */
function isShared(folder, writable) {
  const { uid, mode } = lstatSync(folder);
  return process.getuid !== undefined && (uid !== process.getuid() || (mode & writable) !== 0);
}
