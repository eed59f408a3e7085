import type { Config } from '../config/schema.ts';
import { STORED_WITHIN_MS } from '../metering/ledger.ts';
import type { Peer } from '../platform/cluster/peer.ts';
import type { Counters, SharedCounters } from '../platform/counters/counters.ts';
import { GuardedCounters, type GuardParts } from '../platform/counters/guarded-counters.ts';
import { MemoryCounters } from '../platform/counters/memory/memory-counters.ts';
import { isSharedStore } from './open-storage.ts';

export interface CountersOptions extends Pick<GuardParts, 'sums' | 'log' | 'onFailure'> {
  /** Read each time, because a reload may change it. */
  config: () => Pick<Config, 'counters' | 'storage'>;
  /** Only set in a worker. Counts for all workers of this host. */
  primary?: Peer | undefined;
}

/** Minimum time limit of a connection, however short `counters.timeout_ms` is. */
const SHORTEST_CONNECT_MS = 1000;

/** Whether every process connects to the counters directly. Counters in memory belong to one process. */
export const areSharedCounters = ({ counters: { url }, storage }: Pick<Config, 'counters' | 'storage'>): boolean =>
  url === '' ? isSharedStore(storage.url) : url !== 'memory';

/**
 * Opens the Redis or Valkey of `counters.url`, the PostgreSQL that is the store, or the memory of this host. Loads only
 * the client that it needs. Does not reject if a server is unreachable: see `guarded-counters.ts`.
 */
export async function openCounters({ config, primary, sums, log, onFailure }: CountersOptions): Promise<Counters> {
  const { counters, storage } = config();
  if (!areSharedCounters({ counters, storage })) {
    if (!primary) return new MemoryCounters();
    const { openRemoteCounters } = await import('../platform/counters/remote/open.ts');
    return openRemoteCounters(primary);
  }
  const connectMs = Math.max(counters.timeout_ms, SHORTEST_CONNECT_MS);
  const guarded = new GuardedCounters({
    store: await openShared(counters, storage.url, connectMs),
    settings() {
      const { timeout_ms, on_failure, grace_ms } = config().counters;
      return { timeoutMs: timeout_ms, onFailure: on_failure, graceMs: grace_ms };
    },
    sums,
    storedMs: STORED_WITHIN_MS,
    log,
    onFailure,
  });
  await guarded.open(connectMs);
  return guarded;
}

async function openShared(
  { url, sentinel }: Config['counters'],
  storageUrl: string,
  connectMs: number,
): Promise<SharedCounters> {
  if (url === '') {
    const { openPostgresCounters } = await import('../platform/counters/postgres/open.ts');
    return openPostgresCounters(storageUrl, connectMs);
  }
  const { openRedisCounters } = await import('../platform/counters/redis/open.ts');
  return openRedisCounters(url, connectMs, sentinel);
}
