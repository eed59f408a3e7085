import { hostname } from 'node:os';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { archiveLedger, type LedgerRetention } from '../metering/archive/archive-ledger.ts';
import { readExportedPlace } from '../exports/run-export.ts';
import { HOUR_MS } from '../platform/hourly.ts';
import { runJobs } from '../platform/jobs/run-jobs.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { WorkspaceReader } from '../platform/storage/ports/workspaces.ts';
import type { Storage } from '../platform/storage/storage.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import { listExportJobs } from './open-exports.ts';
import { SHUTDOWN_GRACE_MS } from './time-limits.ts';

export interface OpenArchivingParts {
  config: () => Config;
  storage: Pick<Storage, 'archives' | 'jobs' | 'management'>;
  objects: Objects;
  log: WriteLog;
  /** Whether this process archives. One of several workers does so for all. */
  isFirst: boolean;
}

/** What this process has archived since its start. */
export interface ArchivingState {
  readonly rows: number;
  /** Unix milliseconds. Undefined: nothing has failed, or a later try succeeded. */
  readonly failingSinceMs: number | undefined;
}

/** The id and the kind of the job. All hosts of a store share it. */
const ARCHIVE_JOB = 'ledger-archive';
/** Interval of looking for the job. */
const POLL_MS = 2000;
const PAGE = 500;
/** Time without a failure after which another host has the job. It is tried again within a minute. */
const FORGET_MS = 900_000;

/** Archives old days of the ledger every hour. @param resources collects the resources to close at the end */
export function openArchiving(
  { config, storage, objects, log, isFirst }: OpenArchivingParts,
  resources: AsyncDisposableStack,
): ArchivingState {
  let rows = 0;
  let failure: { sinceMs: number; lastMs: number } | undefined;
  const state: ArchivingState = {
    get rows() {
      return rows;
    },
    get failingSinceMs() {
      return failure && currentTimeMs() - failure.lastMs < FORGET_MS ? failure.sinceMs : undefined;
    },
  };
  if (!isFirst) return state;
  const readRetention = async (): Promise<LedgerRetention> => ({
    days: config().ledger.retention_days,
    ofWorkspaces: await listRetentions(storage.management),
  });
  const exports = listExportJobs(config()); // a start reads them
  const readExportedPlaces = async (): Promise<string[]> =>
    (await storage.jobs.readCheckpoints(exports)).map(readExportedPlace);
  const fail = (error: unknown): void => {
    const nowMs = currentTimeMs();
    if (state.failingSinceMs === undefined) log('ledger archive failed', { err: error });
    failure = { sinceMs: state.failingSinceMs ?? nowMs, lastMs: nowMs };
  };
  const runner = runJobs({
    store: storage.jobs,
    holder: `${hostname()}/${process.pid}`,
    now: currentTimeMs,
    elapsed: () => performance.now(),
    pollMs: POLL_MS,
    kinds: [
      {
        kind: ARCHIVE_JOB,
        maxOwned: () => 1,
        async work({ signal }) {
          const parts = { archives: storage.archives, objects, readRetention, readExportedPlaces, now: currentTimeMs };
          const before = rows;
          const onDeleted = (deleted: number): void => {
            rows += deleted;
          };
          const archives = await archiveLedger({ ...parts, onDeleted }, signal);
          if (failure) log('ledger archive recovered');
          failure = undefined;
          if (archives > 0) log('ledger archived', { archives, rows: rows - before });
          return { retryInMs: HOUR_MS };
        },
      },
    ],
    onTrouble(error, job) {
      if (job) fail(error); // otherwise the store is unavailable, which is logged elsewhere
    },
  });
  const created = storage.jobs
    .wakeJob({ id: ARCHIVE_JOB, kind: ARCHIVE_JOB, payload: '{}', dueAtMs: currentTimeMs() })
    .then(() => runner.notify(), fail);
  // An unreachable store must not delay a shutdown.
  resources.defer(() =>
    withTimeout(SHUTDOWN_GRACE_MS, Promise.all([runner.close(), created])).then(
      () => {},
      (error) => log('jobs unavailable', { err: error }),
    ),
  );
  return state;
}

async function listRetentions({
  listWorkspaces,
}: Pick<WorkspaceReader, 'listWorkspaces'>): Promise<Map<string, number>> {
  const days = new Map<string, number>();
  for (let offset = 0; ; offset += PAGE) {
    const { rows } = await listWorkspaces({ offset, limit: PAGE });
    for (const { id, settings } of rows) {
      if (settings.ledgerRetentionDays !== null) days.set(id, settings.ledgerRetentionDays);
    }
    if (rows.length < PAGE) return days;
  }
}
