import { isSharedStore } from '../../compose/open-storage.ts';
import type { Config } from '../../config/schema.ts';
import { describeSkew, NOTED_SKEW_MS } from '../../platform/clock-watch.ts';
import { listUrls } from '../../domain/list-urls.ts';
import { openRedisCounters } from '../../platform/counters/redis/open.ts';
import { openPostgresStorage } from '../../platform/storage/postgres/open.ts';
import type { Finding } from './finding.ts';

const CONNECT_MS = 2000;

/**
 * Compares the clocks of this host, the shared store and shared counters. Other checks report an unreachable store or
 * counters.
 *
 * @param store the finding of the store check
 */
export async function checkClocks(
  { counters, storage }: Pick<Config, 'counters' | 'storage'>,
  store: Finding,
): Promise<Finding[]> {
  const subject = 'clock';
  const isReachable = isSharedStore(storage.url) && store.status !== 'fail';
  const storeAheadMs = isReachable ? await measureStore(storage.url) : undefined;
  const findings: Finding[] = [];
  if (storeAheadMs !== undefined) {
    findings.push(
      Math.abs(storeAheadMs) < NOTED_SKEW_MS
        ? { status: 'ok', subject, says: 'this host agrees with PostgreSQL' }
        : {
            status: 'warn',
            subject,
            says: `this host is ${describeSkew(-storeAheadMs)} PostgreSQL, whose clock all hosts follow`,
            fix: 'Correct the clock of this host, or that of PostgreSQL: it decides when budgets reset and keys expire.',
          },
    );
  }
  const redisAheadMs = counters.url.includes('://') ? await measureRedis(counters) : undefined;
  if (redisAheadMs === undefined) return findings;
  const aheadMs = redisAheadMs - (storeAheadMs ?? 0);
  if (Math.abs(aheadMs) < NOTED_SKEW_MS) return findings;
  findings.push({
    status: 'warn',
    subject,
    says: `the counters at ${new URL(listUrls(counters.url)[0]!).host} are ${describeSkew(aheadMs)} ${storeAheadMs === undefined ? 'this host' : 'PostgreSQL'}`,
    fix: 'Correct the clock of that server: beyond an hour, budgets may reset at the wrong time.',
  });
  return findings;
}

/** @returns milliseconds by which the clock is ahead of this host; undefined if it does not respond */
async function measure(readTime: () => Promise<number>): Promise<number | undefined> {
  const startedMs = Date.now();
  try {
    return (await readTime()) - (startedMs + Date.now()) / 2;
  } catch {
    return undefined;
  }
}

async function measureStore(url: string): Promise<number | undefined> {
  const store = await openPostgresStorage(url, { poolSize: 1 }).catch(() => undefined);
  if (!store) return undefined;
  try {
    await store.readTime(); // connects
    return await measure(() => store.readTime());
  } catch {
    return undefined;
  } finally {
    await store.close();
  }
}

async function measureRedis({ url, sentinel }: Config['counters']): Promise<number | undefined> {
  const counters = openRedisCounters(url, CONNECT_MS, sentinel);
  try {
    await counters.ping();
    return await measure(() => counters.readTime());
  } catch {
    return undefined;
  } finally {
    await counters.close();
  }
}
