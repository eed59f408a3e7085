import type { Config } from '../config/schema.ts';
import { correctClock } from '../domain/clock.ts';
import { ClockWatch } from '../platform/clock-watch.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { findMissingFile, findStoreFile } from './describe-store.ts';
import { CommandError, readMessage, type Terminal } from './terminal.ts';

interface StoreParts {
  config: Pick<Config, 'storage'>;
  stderr: Terminal['stderr'];
}

/**
 * Opens the configured store for a change while the server may run, and closes it afterwards. Reports if it creates a
 * store, because that can be a mistake.
 *
 * @throws {CommandError} if the store cannot be opened, or its schema cannot be updated
 */
export function withStore<Result>(
  { config, stderr }: StoreParts,
  use: (storage: Storage) => Promise<Result>,
): Promise<Result> {
  const file = findMissingFile(config);
  if (file !== undefined) {
    stderr.write(`headgate: creating a new store at ${file}. If your data is elsewhere, use --data.\n`);
  }
  return openAndUse(() => openConfigured(config), use);
}

/**
 * Opens the configured store for a command that only reads. If the store does not exist, uses an empty one in memory,
 * so that no file is created.
 */
export function readStore<Result>(
  { config, stderr }: StoreParts,
  use: (storage: Storage) => Promise<Result>,
): Promise<Result> {
  const file = findMissingFile(config);
  if (file === undefined) return openAndUse(() => openConfigured(config), use);
  stderr.write(`headgate: there is no store at ${file} yet. If your data is elsewhere, use --data.\n`);
  return openAndUse(() => openFile(':memory:'), use);
}

/**
 * Checks that there is a store, before a command for one workspace creates another in the wrong folder.
 *
 * @throws {CommandError}
 */
export function requireStore(config: Pick<Config, 'storage'>): void {
  const file = findMissingFile(config);
  if (file === undefined) return;
  throw new CommandError(
    `There is no store at ${file} yet, so there is no workspace. If your data is elsewhere, use --data.`,
  );
}

const openConfigured = ({ storage }: Pick<Config, 'storage'>): Promise<Storage> => {
  const file = findStoreFile({ storage });
  return file === undefined ? openServer(storage.url) : openFile(file);
};

/** Loads only the adapter that is used. */
async function openFile(file: string): Promise<Storage> {
  const { openSqliteStorage } = await import('../platform/storage/sqlite/open.ts');
  return openSqliteStorage(file);
}

async function openServer(url: string): Promise<Storage> {
  const { openPostgresStorage } = await import('../platform/storage/postgres/open.ts');
  return openPostgresStorage(url, { poolSize: 2 });
}

async function openAndUse<Result>(
  open: () => Promise<Storage>,
  use: (storage: Storage) => Promise<Result>,
): Promise<Result> {
  let storage: Storage | undefined;
  try {
    storage = await open();
    await storage.migrate();
  } catch (error) {
    await storage?.close();
    throw new CommandError(readMessage(error), { cause: error });
  }
  return useAndClose(storage, use);
}

/** Uses the store and closes it. Times that a command stores or compares follow the clock of the store. */
async function useAndClose<Result>(storage: Storage, use: (storage: Storage) => Promise<Result>): Promise<Result> {
  const clock = new ClockWatch({
    readTime: () => storage.readTime(),
    correct: correctClock,
    onSkew() {},
    onAgreement() {},
  });
  try {
    await clock.open();
    return await use(storage);
  } finally {
    clock.close();
    await storage.close();
  }
}

/**
 * Reads the configured store without a change: creates no file and updates no schema.
 *
 * @returns undefined if the store is a file that does not exist
 * @throws the store's error, also if its schema is not that of this build
 */
export async function withReadOnlyStore<Result>(
  config: Pick<Config, 'storage'>,
  use: (storage: Storage) => Promise<Result>,
): Promise<Result | undefined> {
  if (findMissingFile(config) !== undefined) return undefined;
  return useAndClose(await openConfigured(config), use);
}
