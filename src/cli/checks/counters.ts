import { isSharedStore } from '../../compose/open-storage.ts';
import type { Config } from '../../config/schema.ts';
import { listUrls } from '../../domain/list-urls.ts';
import { openRedisCounters } from '../../platform/counters/redis/open.ts';
import { readMessage } from '../terminal.ts';
import type { Finding } from './finding.ts';

const CONNECT_MS = 2000;

/**
 * Checks whether shared counters respond.
 *
 * @param store the finding of the store check, which also applies to counters in PostgreSQL
 */
export async function checkCounters(
  { counters: { url, sentinel }, storage }: Pick<Config, 'counters' | 'storage'>,
  store: Finding,
): Promise<Finding> {
  const subject = 'counters';
  if (url === '' && isSharedStore(storage.url)) {
    return store.status === 'fail'
      ? { status: 'fail', subject, says: 'limits and budgets are counted in PostgreSQL, which does not respond' }
      : { status: 'ok', subject, says: 'limits and budgets are counted in PostgreSQL' };
  }
  if (url === '' || url === 'memory') {
    return { status: 'ok', subject, says: 'limits and budgets are counted in the process' };
  }
  const place = listUrls(url)
    .map((each) => new URL(each).host)
    .join(', ');
  const counters = openRedisCounters(url, CONNECT_MS, sentinel);
  try {
    await counters.ping();
    return { status: 'ok', subject, says: `limits and budgets are counted at ${place}` };
  } catch (error) {
    return {
      status: 'fail',
      subject,
      says: `${place} does not respond (${readMessage(error)})`,
      fix: 'Check counters.url, and that the server runs and accepts this user. Without it, each gateway counts on its own.',
    };
  } finally {
    await counters.close();
  }
}
