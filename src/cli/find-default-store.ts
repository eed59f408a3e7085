import { hash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DEFAULT_STORE } from '../config/default-store.ts';
import { findFile } from '../config/find-file.ts';
import type { ConfigSources, LoadedConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { version } from './version.ts';

/** In the data folder: the digest of the last file that was valid and named no other store. */
const DIGEST_FILE = 'config.digest';

/**
 * Finds the store of a folder without reading the configuration. The schema of the configuration is half of what a command
 * loads, and not needed for it.
 *
 * @returns undefined if a variable of the environment may name another store, or a file that was not valid the last time
 */
export function findDefaultStore(sources: ConfigSources): Pick<Config, 'storage'> | undefined {
  if (isChangedByEnvironment(sources)) return undefined;
  const { env, flags = {}, cwd = '.' } = sources;
  const folder = resolve(cwd, flags.data || env.HEADGATE_DATA || 'data');
  const digest = computeDigest(sources);
  if (digest !== undefined && digest !== readText(join(folder, DIGEST_FILE))) return undefined;
  return { storage: { url: writeDefaultUrl(folder) } as Config['storage'] };
}

/** Lets the next command find the store without this configuration, if it is valid and names no other one. */
export function rememberConfig(sources: ConfigSources, { config, dataDir, isComplete }: LoadedConfig): void {
  const digest = computeDigest(sources);
  if (!isComplete || digest === undefined || isChangedByEnvironment(sources)) return;
  if (config.storage.url !== writeDefaultUrl(dataDir)) return;
  try {
    const path = join(dataDir, DIGEST_FILE);
    const draft = `${path}.${process.pid}`;
    writeFileSync(draft, digest, { mode: 0o600, flag: 'wx' }); // never through a link, such as one of the folder's owner
    renameSync(draft, path);
  } catch {
    // the folder does not exist, or this user cannot write it: the next command reads the configuration again
  }
}

const isChangedByEnvironment = ({ env }: ConfigSources): boolean =>
  Boolean(env.DATABASE_URL) ||
  Object.keys(env).some((name) => name.startsWith('HEADGATE_') && name !== 'HEADGATE_DATA');

const writeDefaultUrl = (folder: string): string => DEFAULT_STORE.replace('<data>', () => folder);

/** Computes the digest of a file and of the variables that it names. @returns undefined if there is no file */
function computeDigest({ file, env, cwd = '.' }: ConfigSources): string | undefined {
  const path = findFile(file ?? undefined, cwd);
  if (path === undefined) return undefined;
  const text = readText(path);
  const names = text?.match(/\$\{\w+/g) ?? [];
  const parts = [version, text ?? null, names.map((name) => env[name.slice(2)] ?? null)];
  return hash('sha256', JSON.stringify(parts));
}

/** @returns undefined if it cannot be read */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
