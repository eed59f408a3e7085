import { open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { createFolder } from '../../data-folder/create-folder.ts';
import { createSqlStorage } from '../sql-storage.ts';
import type { Storage } from '../storage.ts';
import type { Tables } from '../tables/database.ts';
import { createEntryAppender } from './append-entries.ts';
import { createSqliteDialect } from './dialect.ts';
import { openSearches } from './open-searches.ts';
import { readResultCode, resultCodes } from './result-codes.ts';
import { busyTimeoutMs, waitWhileBusy } from './wait-while-busy.ts';

/**
 * Opens or creates the database in one file. Each write is durable on return, even after a power failure. `migrate()`
 * creates the schema.
 *
 * @param path of the file; a missing folder is created for the owner only. `:memory:` stores nothing
 * @throws with the remedy if the file cannot be read and written
 */
export async function openSqliteStorage(path: string): Promise<Storage> {
  if (path !== ':memory:') await prepareFile(path);
  let database: DatabaseSync | undefined;
  try {
    const opened = new DatabaseSync(path, { timeout: 0, readBigInts: true, enableForeignKeyConstraints: true });
    database = opened;
    await waitWhileBusy(() => opened.exec('pragma journal_mode = wal'));
    opened.exec('pragma synchronous = full');
    opened.exec('pragma fullfsync = on'); // macOS: fsync alone leaves data in the disk's cache
    // A read-only file fails here and not during the first request.
    await waitWhileBusy(() => opened.exec('begin immediate; rollback'));
  } catch (error) {
    database?.close();
    throw explain(path, error);
  }
  const db = new Kysely<Tables>({ dialect: createSqliteDialect(database) });
  const appender = createEntryAppender(database, db, path);
  const searches = path === ':memory:' ? undefined : openSearches(path);
  const storage = await createSqlStorage(db, { ...appender, searches: searches?.db });
  const close = async (): Promise<void> => {
    await searches?.close();
    await storage.close().finally(() => appender.close());
  };
  return { ...storage, close };
}

/** Creates the main file. SQLite gives its side files the same permissions. */
async function prepareFile(path: string): Promise<void> {
  const folder = dirname(resolve(path));
  try {
    createFolder(folder);
  } catch (error) {
    throw new Error(
      `The folder of the database, '${folder}', does not exist and cannot be created (${reason(error)}). ` +
        'Create it, or choose another folder with storage.url or --data.',
      { cause: error },
    );
  }
  try {
    if ((await stat(path).catch(() => undefined))?.isDirectory()) throw new Error('it is a folder');
    await (await open(path, 'a', 0o600)).close();
  } catch (error) {
    throw cannotBeWritten(path, error);
  }
}

function cannotBeWritten(path: string, error: unknown): Error {
  return new Error(
    `The database '${path}' cannot be written (${reason(error)}). ` +
      'Give the user who runs Headgate read and write access to the file and its folder, or choose another file with storage.url or --data.',
    { cause: error },
  );
}

function explain(path: string, error: unknown): Error {
  switch (readResultCode(error)) {
    case resultCodes.corrupt:
    case resultCodes.notADatabase:
      return new Error(
        `The file '${path}' is damaged or is not a SQLite database (${reason(error)}). ` +
          'Move it away together with its -wal and -shm files, and restore a backup. Without a backup, the next start creates a new database.',
        { cause: error },
      );
    case resultCodes.full:
    case resultCodes.ioError: // also if there is no room for the index of the log
      return new Error(
        `The database '${path}' cannot be used (${reason(error)}). Its disk is full or failing. Free some space, or see the log of the system.`,
        { cause: error },
      );
    case resultCodes.readOnly:
    case resultCodes.cannotOpen: // the file exists, so the log beside it cannot be created
      return cannotBeWritten(path, error);
    case resultCodes.busy:
      return new Error(
        `The database '${path}' has been locked by another process for more than ${busyTimeoutMs / 1000} s. ` +
          'Stop that process, or use PostgreSQL if several processes must write.',
        { cause: error },
      );
    default:
      return new Error(`The database '${path}' cannot be opened (${reason(error)}). Check the file and its folder.`, {
        cause: error,
      });
  }
}

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));
