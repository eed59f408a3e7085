import type { Peer } from '../platform/cluster/peer.ts';
import type { Storage } from '../platform/storage/storage.ts';

export interface StorageOptions {
  /** `storage.url`. */
  url: string;
  dataDir: string;
  /** Connections to PostgreSQL at most. */
  poolSize?: number;
  /** In a worker: who has the embedded store. */
  primary?: Peer | undefined;
}

/** Does every process reach the store by itself? The embedded one is written by one alone. */
export const isSharedStore = (url: string): boolean => /^postgres(ql)?:/.test(url);

/** The embedded store, PostgreSQL, or the embedded one of the primary; drivers are loaded only where they are needed. */
export async function openStorage({ url, dataDir, poolSize, primary }: StorageOptions): Promise<Storage> {
  if (isSharedStore(url)) {
    const { openPostgresStorage } = await import('../platform/storage/postgres/open.ts');
    return openPostgresStorage(url, { poolSize });
  }
  if (primary) {
    const { openRemoteStorage } = await import('../platform/storage/remote/open.ts');
    return openRemoteStorage(primary);
  }
  const { openSqliteStorage } = await import('../platform/storage/sqlite/open.ts');
  return openSqliteStorage(url.replace(/^file:/, '').replace('<data>', dataDir));
}
