import type { Config } from '../../config/schema.ts';
import { openRedisCounters } from '../../platform/counters/redis/open.ts';
import { readMessage } from '../terminal.ts';
import type { Finding } from './finding.ts';

const CONNECT_MS = 2000;

/** Do the counters answer that several hosts share? In PostgreSQL they stand or fall with the store. */
export async function checkCounters({
  counters: { url },
  storage,
}: Pick<Config, 'counters' | 'storage'>): Promise<Finding> {
  const subject = 'counters';
  if (url === '' || url === 'memory') {
    const isShared = url === '' && !storage.url.startsWith('file:');
    return {
      status: 'ok',
      subject,
      says: isShared ? 'limits and budgets are counted in PostgreSQL' : 'limits and budgets are counted in the process',
    };
  }
  const place = URL.parse(url)?.host ?? 'of counters.url';
  const counters = openRedisCounters(url, CONNECT_MS);
  try {
    await counters.ping();
    return { status: 'ok', subject, says: `limits and budgets are counted at ${place}` };
  } catch (error) {
    return {
      status: 'fail',
      subject,
      says: `${place} does not answer (${readMessage(error)})`,
      mend: 'Check counters.url, and that the server runs and admits this user. Without it each gateway counts for itself.',
    };
  } finally {
    await counters.close();
  }
}
