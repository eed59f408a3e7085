import { statSync } from 'node:fs';
import type { Config } from '../config/schema.ts';
import { CommandError, readMessage } from './terminal.ts';

/** The SQLite file of a loaded configuration; undefined if the store is PostgreSQL. */
export const findStoreFile = ({ storage }: Pick<Config, 'storage'>): string | undefined =>
  storage.url.startsWith('file:') ? storage.url.slice('file:'.length) : undefined;

/** Names the store: its file, or its host and database without user and password. */
export function describeStore(config: Pick<Config, 'storage'>): string {
  const url = URL.parse(config.storage.url);
  return findStoreFile(config) ?? (url ? `${url.host}${url.pathname}` : 'of storage.url');
}

/**
 * Returns the SQLite file of the store if it does not exist.
 *
 * @throws {CommandError} if that cannot be known, such as in a folder of another user
 */
export function findMissingFile(config: Pick<Config, 'storage'>): string | undefined {
  const file = findStoreFile(config);
  if (file === undefined || file === ':memory:') return undefined;
  try {
    return statSync(file, { throwIfNoEntry: false }) ? undefined : file;
  } catch (error) {
    throw new CommandError(`The store cannot be read: ${readMessage(error)}`, { cause: error });
  }
}
