import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isSharedStore } from '../compose/open-storage.ts';
import { type MasterKeyTexts, readMasterKeys } from '../compose/read-master-keys.ts';
import type { LoadedConfig } from '../config/load.ts';
import { CommandError } from './terminal.ts';

/** Reads the master key for a command. Never creates one for a store that other hosts use. @throws {CommandError} */
export function readNeededMasterKeys({ config, dataDir }: LoadedConfig): MasterKeyTexts {
  const { master_key: text, master_key_file: file, master_key_command: command } = config.secrets;
  const isConfigured = [text, file, command].some((source) => source !== undefined);
  if (!isConfigured && isSharedStore(config.storage.url) && !existsSync(join(dataDir, 'master.key'))) {
    throw new CommandError(
      `The master key is not configured, and ${dataDir} has none. Use the configuration of the gateway, or its data folder with --data.`,
    );
  }
  return readMasterKeys(config, dataDir);
}
