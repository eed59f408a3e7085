import { existsSync } from 'node:fs';
import { ConfigError, type ConfigSources, type LoadedConfig, loadConfig } from '../config/load.ts';
import type { Path } from '../config/path.ts';
import { describeStore, findStoreFile } from './describe-store.ts';
import type { Terminal } from './terminal.ts';

/**
 * The configuration for a command that needs no more than some values of it: what is wrong elsewhere is told in a line and
 * keeps nobody from disabling a key at night.
 *
 * A file that cannot be read may name the store, too. Without it a command goes on only where the store is named
 * otherwise: by the environment, or by a data folder that has one.
 *
 * @param needed paths
 * @throws {ConfigError} when these are wrong, or nobody knows
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
    const more = problems.length > 1 ? ` ("headgate doctor" lists all ${problems.length} mistakes)` : '';
    const say = (goesOn: string): void => void stderr.write(`headgate: ${problems[0]}${more}. ${goesOn}\n`);
    const rest = error.isRead ? error.findSound(needed) : undefined;
    if (rest) {
      say('This command needs nothing of that, and goes on.');
      return rest;
    }
    if (error.isRead) throw error;
    const other = loadWithoutFile(sources, needed);
    if (!other) {
      const hint =
        'Where the store is may stand in there: name a data folder that has one with --data to go on without.';
      throw new ConfigError([...problems, hint]);
    }
    say(`This command goes on without the file, with the store ${describeStore(other.config)}.`);
    return other;
  }
}

function loadWithoutFile(sources: ConfigSources, needed: readonly Path[]): LoadedConfig | undefined {
  if (needed.some(([section]) => section !== 'storage')) return undefined; // of that only the file knows
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
