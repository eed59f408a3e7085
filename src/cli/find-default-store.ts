import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { DEFAULT_STORE } from '../config/default-store.ts';
import type { ConfigSources } from '../config/load.ts';
import type { Config } from '../config/schema.ts';

/**
 * Finds the store of a folder without a configuration. The schema of the configuration is half of what a command loads, and
 * not needed for it.
 *
 * @returns undefined if a file, or a variable of the environment, may name another store
 */
export function findDefaultStore({
  file,
  env,
  flags = {},
  cwd = '.',
}: ConfigSources): Pick<Config, 'storage'> | undefined {
  if (file !== undefined || env.DATABASE_URL || existsSync(resolve(cwd, 'headgate.yaml'))) return undefined;
  if (Object.keys(env).some((name) => name.startsWith('HEADGATE_') && name !== 'HEADGATE_DATA')) return undefined;
  const folder = resolve(cwd, flags.data || env.HEADGATE_DATA || 'data');
  return { storage: { url: DEFAULT_STORE.replace('<data>', folder) } as Config['storage'] };
}
