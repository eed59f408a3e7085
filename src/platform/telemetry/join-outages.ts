import { currentTimeMs } from '../../domain/clock.ts';
import type { LogMessage, WriteLog } from './log-messages.ts';
import type { OutageFields, OutageReports } from './outage-log.ts';

/** Messages about work that needs the store and is tried again, with those that report the recovery. */
const needStore: readonly (readonly [failure: LogMessage, recovery: LogMessage | undefined])[] = [
  ['key refresh failed', 'key refresh recovered'],
  ['limit refresh failed', undefined],
  ['orphaned journals not stored', undefined],
  ['ledger write failed', 'ledger write recovered'],
  ['spending rollup failed', undefined],
  ['traffic refresh failed', undefined],
  ['content write failed', undefined],
  ['content deletion failed', undefined],
  ['file index failed', undefined],
  ['file sweep failed', undefined],
  ['job failed', undefined],
  ['jobs unavailable', undefined],
  ['container leases not renewed', undefined],
  ['vault sweep failed', undefined],
  ['container sweep failed', undefined],
  ['bus disconnected', 'bus reconnected'],
];
const needCounters = ['counters unavailable', 'counters recovered'] as const;
const RETRY_MS = 1000;

export interface JoinedOutages {
  log: WriteLog;
  reports: OutageReports;
  /** @throws if the store is unreachable, within a time limit */
  ping: () => Promise<unknown>;
  /** Whether the store also has the counters. */
  hasCounters: boolean;
  retryMs?: number;
}

/**
 * Joins the lines that the loss of one service causes. If the store does not respond to a ping after a failure that is
 * in `needStore`, the outage is reported once, and the lines of the parts that need it are at `debug` until it ends.
 * Outages of counters are reported, too.
 */
export function joinOutages({ log, reports, ping, hasCounters, retryMs = RETRY_MS }: JoinedOutages) {
  /** Unix milliseconds. Undefined: the store responds. */
  let lostSinceMs: number | undefined;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  const failures = new Map([...needStore, ...(hasCounters ? [needCounters] : [])]);
  const failureOf = new Map([...failures].flatMap(([failure, recovery]) => (recovery ? [[recovery, failure]] : [])));
  /** Failures at `debug`, whose recoveries are, too. */
  const hidden = new Set<LogMessage>();
  /** Lines wait for the ping of earlier ones. */
  let queue: Promise<void> = Promise.resolve();

  function lose(err: unknown): void {
    if (lostSinceMs !== undefined || isClosed) return;
    lostSinceMs = currentTimeMs();
    reports.begin('store', { err });
    schedule();
  }
  function schedule(): void {
    timer = setTimeout(async () => {
      try {
        await ping();
      } catch {
        if (!isClosed) schedule();
        return;
      }
      lostSinceMs = undefined;
      reports.end('store');
    }, retryMs).unref();
  }
  /** Writes a line, or reports the outage that it is about. */
  const writeNow: WriteLog = (message, fields, level) => {
    if (message === 'counters unavailable') reports.begin('counters', fields as OutageFields);
    else if (message === 'counters recovered') reports.end('counters');
    else log(message, fields, level);
  };
  const write: WriteLog = (message, fields, level) => {
    const failure = failureOf.get(message) ?? (failures.has(message) ? message : undefined);
    if (failure === undefined) return writeNow(message, fields, level);
    queue = queue.then(async () => {
      if (failure !== message ? hidden.delete(failure) : await findOutage()) {
        if (failure === message) hidden.add(failure);
        log(message, fields, 'debug' as typeof level);
      } else writeNow(message, fields, level);
    });
  };
  async function findOutage(): Promise<boolean> {
    if (lostSinceMs === undefined && !isClosed) await ping().catch(lose);
    return lostSinceMs !== undefined;
  }
  return {
    write,
    /** Since when the store does not respond, Unix milliseconds. Undefined: it responds. */
    storeLostSinceMs: () => lostSinceMs,
    close(): void {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
