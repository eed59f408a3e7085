import { existsSync } from 'node:fs';
import { ConfigError } from '../config/config-error.ts';
import { type ConfigSources, type LoadedConfig, loadConfig } from '../config/load.ts';
import type { Path } from '../config/path.ts';
import { describeStore, findStoreFile } from './describe-store.ts';
import type { Terminal } from './terminal.ts';

/**
 * Loads the configuration for a command that needs some of its values. Prints errors in other values on one line, and
 * continues.
 *
 * A file that cannot be read may name the store. In that case, the command continues only if the store is known from
 * the environment or is in the data folder.
 *
 * @param needed paths
 * @throws {ConfigError} if these are invalid, or unknown
 */
export function loadNeededConfig(
  { stderr }: Pick<Terminal, 'stderr'>,
  sources: ConfigSources,
  needed: readonly Path[],
): LoadedConfig {
  try {
    return loadConfig(sources);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { problems } = error;
    const more = problems.length > 1 ? ` ("headgate doctor" lists all ${problems.length} errors)` : '';
    const say = (goesOn: string): void => void stderr.write(`headgate: ${problems[0]}${more}. ${goesOn}\n`);
    const rest = error.isRead ? error.findSound(needed) : undefined;
    if (rest) {
      say('This command does not need these settings, and continues.');
      return rest;
    }
    if (error.isRead) throw error;
    const other = loadWithoutFile(sources, needed);
    if (!other) {
      const hint = 'The file may name the store. To continue without it, name a data folder that has one with --data.';
      throw new ConfigError([...problems, hint]);
    }
    say(`This command continues without the file, with the store ${describeStore(other.config)}.`);
    return other;
  }
}

function loadWithoutFile(sources: ConfigSources, needed: readonly Path[]): LoadedConfig | undefined {
  if (needed.some(([section]) => section !== 'storage')) return undefined; // only the file contains it
  const { env, flags = {} } = sources;
  const loaded = loadRest({ ...sources, file: null }, needed);
  const isNamed = Boolean(env.DATABASE_URL || env.HEADGATE_STORAGE_URL);
  const isFolderNamed = Boolean(flags.data || env.HEADGATE_DATA);
  const file = loaded && findStoreFile(loaded.config);
  return isNamed || (isFolderNamed && file !== undefined && existsSync(file)) ? loaded : undefined;
}

function loadRest(sources: ConfigSources, needed: readonly Path[]): LoadedConfig | undefined {
  try {
    return loadConfig(sources);
  } catch (error) {
    if (error instanceof ConfigError) return error.findSound(needed);
    throw error;
  }
}
