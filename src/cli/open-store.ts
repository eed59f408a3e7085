import { existsSync } from 'node:fs';
import type { Config } from '../config/schema.ts';
import { ClockWatch } from '../platform/clock-watch.ts';
import { openPostgresStorage } from '../platform/storage/postgres/open.ts';
import { openSqliteStorage } from '../platform/storage/sqlite/open.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { findStoreFile } from './describe-store.ts';
import { CommandError, readMessage, type Terminal } from './terminal.ts';

/**
 * Opens the configured store for a command beside the server, and closes it after.
 *
 * A store that is new is told of: it may be a mistake.
 *
 * @throws {CommandError} when the store cannot be opened, or its schema cannot be brought up to date
 */
export async function withStore<Result>(
  { config, stderr }: { config: Config; stderr: Terminal['stderr'] },
  use: (storage: Storage) => Promise<Result>,
): Promise<Result> {
  let storage: Storage | undefined;
  try {
    const file = findStoreFile(config);
    if (file !== undefined && !existsSync(file)) {
      stderr.write(`headgate: there was no store at ${file}, so a new one is made. Data elsewhere? Say --data.\n`);
    }
    storage = await (file === undefined
      ? openPostgresStorage(config.storage.url, { poolSize: 2 })
      : openSqliteStorage(file));
    await storage.migrate();
  } catch (error) {
    await storage?.close();
    throw new CommandError(readMessage(error), { cause: error });
  }
  return useAndClose(storage, use);
}

/** Times that a command stores or compares follow the clock of the store. */
async function useAndClose<Result>(storage: Storage, use: (storage: Storage) => Promise<Result>): Promise<Result> {
  const clock = new ClockWatch({ readTime: () => storage.readTime(), onSkew() {}, onAgreement() {} });
  try {
    await clock.open();
    return await use(storage);
  } finally {
    clock.close();
    await storage.close();
  }
}

/**
 * Looks into the configured store and changes nothing: no file is made, no schema brought up to date.
 *
 * @returns undefined when the store is a file that is not there yet
 * @throws the store's error, also when its schema is not that of this build
 */
export async function withReadOnlyStore<Result>(
  config: Pick<Config, 'storage'>,
  use: (storage: Storage) => Promise<Result>,
): Promise<Result | undefined> {
  const file = findStoreFile(config);
  if (file !== undefined && !existsSync(file)) return undefined;
  const storage = await (file === undefined
    ? openPostgresStorage(config.storage.url, { poolSize: 1 })
    : openSqliteStorage(file));
  return useAndClose(storage, use);
}
