// Runs the program on a Node that is new enough, with a compile cache. bin/headgate.js imports this module, or runs it
// on another Node.
import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Maximum number of files. Each version of Node writes about 4,000. Files of other versions and of removed sources stay.
 * Each start on a full disk leaves empty files.
 */
const MAX_CACHE_FILES = 20_000;

const root = new URL('../', import.meta.url);
const source = new URL('src/cli.ts', root);
const isCheckout = existsSync(source);

// The package is bundled: a cache would save 0.07 s per start and cost 8 MB of memory.
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
 * compile cache take precedence. There is no cache if this user cannot write the folder, or if another user could replace
 * the code in it. choice 793
 */
function useCompileCache(folder) {
  if (getCompileCacheDir() !== undefined || process.env.NODE_DISABLE_COMPILE_CACHE !== undefined) return;
  const parent = dirname(folder);
  try {
    mkdirSync(parent, { recursive: true, mode: 0o755 });
    // a group that can write node_modules can change the code of the packages, too
    const trusted = statSync(dirname(parent)).mode & 0o020;
    if (isShared(parent, 0o022 & ~trusted)) return; // checked first: it may be a link to another place
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (isShared(folder, 0o022)) return;
    if (readdirSync(folder, { recursive: true }).length > MAX_CACHE_FILES) {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    }
    enableCompileCache(folder);
  } catch {
    // This user cannot write the clone.
  }
}

/**
 * Whether a folder is a link, or another user could write it. Windows has no such permissions.
 *
 * @param writable permission bits that other users must not have
 */
function isShared(folder, writable) {
  const stats = lstatSync(folder);
  if (!stats.isDirectory()) return true;
  return process.getuid !== undefined && (stats.uid !== process.getuid() || (stats.mode & writable) !== 0);
}
