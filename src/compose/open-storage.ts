import type { Peer } from '../platform/cluster/peer.ts';
import type { Storage } from '../platform/storage/storage.ts';

export interface StorageOptions {
  /** `storage.url`. */
  url: string;
  dataDir: string;
  /** Maximum connections to PostgreSQL. */
  poolSize?: number;
  /** Only set in a worker. Owns the embedded store. */
  primary?: Peer | undefined;
}

/** Whether every process connects to the store directly. Only one process writes the embedded store. */
export const isSharedStore = (url: string): boolean => /^postgres(ql)?:/.test(url);

/** Opens the embedded store, PostgreSQL, or the embedded store of the primary. Loads only the driver that it needs. */
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
