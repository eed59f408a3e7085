import { hash } from 'node:crypto';
import { hostname } from 'node:os';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { createClickHouseTarget } from '../exports/clickhouse/clickhouse-target.ts';
import { createObjectTarget } from '../exports/object-target.ts';
import { createExportState, type ExportTarget, runExport } from '../exports/run-export.ts';
import { HOUR_MS } from '../platform/hourly.ts';
import { runJobs } from '../platform/jobs/run-jobs.ts';
import { withTimeout } from '../platform/with-timeout.ts';
import type { Base } from './open-base.ts';
import { SHUTDOWN_GRACE_MS } from './time-limits.ts';

interface OpenedTarget {
  target: ExportTarget;
  /** Age of the oldest row from which the export is late. */
  lateMs: number;
}

const MINUTE_MS = 60_000;
const RETRY_MS = 5000;

/**
 * Opens the exports of the ledger. A durable job has the progress of each one, and one process of all hosts does it.
 *
 * @param resources collects the resources to close at the end
 */
export function openExports(base: Base, resources: AsyncDisposableStack): void {
  const { config, storage, log, isFirst, exports, options } = base;
  if (!isFirst) return; // one of several workers does the exports
  const opened = openTargets(base, resources);
  if (opened.length === 0) return;
  const states = opened.map(({ target, lateMs }) => {
    const state = createExportState(target.sink);
    exports.add(state, lateMs);
    return state;
  });
  const jobs = listExportJobs(config());
  const runner = runJobs({
    store: storage.jobs,
    holder: `${hostname()}/${process.pid}`,
    now: currentTimeMs,
    elapsed: () => performance.now(),
    // Each export has its own kind, so that only processes with its configuration claim it.
    kinds: opened.map(({ target }, at) => ({
      kind: jobs[at]!,
      work: async (job) => {
        const state = states[at]!;
        try {
          return await runExport(job, {
            target,
            ledger: storage.ledger,
            state,
            now: currentTimeMs,
            log,
            retryMs: options.exportMs,
          });
        } finally {
          state.oldestAtMs = undefined; // another process may continue
          state.waiting = 0;
        }
      },
      maxOwned: () => 1,
    })),
    onTrouble(error, job) {
      if (job) log('job failed', { job: job.id, err: error });
      else log('jobs unavailable', { err: error });
    },
  });
  const closing = new AbortController();
  resources.defer(() => closing.abort());
  void createJobs(closing.signal);
  /** Creates the jobs at the first start, and makes them due. */
  async function createJobs(signal: AbortSignal): Promise<void> {
    try {
      for (const id of jobs) await storage.jobs.wakeJob({ id, kind: id, payload: '{}', dueAtMs: currentTimeMs() });
      runner.notify();
    } catch {
      // The runner logs that the store is unavailable.
      setTimeout(() => signal.aborted || void createJobs(signal), RETRY_MS).unref();
    }
  }
  // An unreachable store must not delay a shutdown.
  resources.defer(() =>
    withTimeout(SHUTDOWN_GRACE_MS, runner.close()).then(
      () => {},
      (error) => log('jobs unavailable', { err: error }),
    ),
  );
}

/** Returns the ids of the jobs of all exports, in their order. Another place of the rows gets all rows from the beginning. */
export function listExportJobs({ ledger: { clickhouse, files: objects }, files }: Config): string[] {
  const name = (sink: string, ...place: string[]): string =>
    `export:${sink}:${hash('sha256', JSON.stringify(place)).slice(0, 16)}`;
  return [
    ...(clickhouse ? [name('clickhouse', new URL(clickhouse.url).origin, clickhouse.database, clickhouse.table)] : []),
    ...(objects ? [name('files', files.url, objects.prefix)] : []),
  ];
}

function openTargets(
  { config, storage, files, options: { exportMs } }: Base,
  resources: AsyncDisposableStack,
): OpenedTarget[] {
  const { clickhouse, files: objects } = config().ledger;
  const opened: OpenedTarget[] = [];
  if (clickhouse) {
    const target = createClickHouseTarget(readClickHousePlace(clickhouse), exportMs);
    resources.defer(() => target.close());
    opened.push({ target, lateMs: MINUTE_MS });
  }
  if (objects) {
    const { prefix, contents } = objects;
    const target = createObjectTarget({
      objects: files.objects,
      prefix,
      contents: contents ? storage.contents : undefined,
      everyMs: exportMs,
    });
    opened.push({ target, lateMs: HOUR_MS + 10 * MINUTE_MS });
  }
  return opened;
}

const readClickHousePlace = ({ timeout_ms: timeoutMs, ...place }: NonNullable<Config['ledger']['clickhouse']>) => ({
  ...place,
  timeoutMs,
});
