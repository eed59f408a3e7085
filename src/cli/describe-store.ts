import type { Config } from '../config/schema.ts';

/** The SQLite file of a loaded configuration; undefined if the store is PostgreSQL. */
export const findStoreFile = ({ storage }: Pick<Config, 'storage'>): string | undefined =>
  storage.url.startsWith('file:') ? storage.url.slice('file:'.length) : undefined;

/** Names the store: its file, or its host and database without user and password. */
export function describeStore(config: Pick<Config, 'storage'>): string {
  const url = URL.parse(config.storage.url);
  return findStoreFile(config) ?? (url ? `${url.host}${url.pathname}` : 'of storage.url');
}
