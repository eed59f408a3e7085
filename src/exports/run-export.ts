import { setTimeout as delay } from 'node:timers/promises';
import { parseJson } from '../domain/parse-json.ts';
import type { JobOutcome, OwnedJob } from '../platform/jobs/run-jobs.ts';
import { FEED_START, type LedgerRow } from '../platform/storage/ports/entries.ts';
import type { LedgerStore } from '../platform/storage/ports/ledger.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';

/** The rows between two places of the ledger's feed. They are the same whenever they are read, by any process. */
export interface ExportBatch {
  /** Identifies the batch, the same after a crash. */
  token: string;
  /** Id of its last row. */
  lastId: string;
  /** When it was planned, in Unix milliseconds. The same after a crash. */
  plannedAtMs: number;
  /** Whether an earlier attempt may have written all or some of it, in this process or in another one. */
  isRetry: boolean;
  /** Reads the rows, page by page. */
  read(): AsyncIterable<LedgerRow[]>;
}

/** A place outside of the gateway that gets each row of the ledger once. */
export interface ExportTarget {
  /** Name of the sink in the log, in metrics and in `/ready`. */
  sink: string;
  /** Maximum rows of a batch. */
  maxRows: number;
  /** Time between two looks for new rows. An hour begins with the hours of the clock. */
  everyMs: number;
  /**
   * Writes a batch. If an attempt has failed, the same batch is written again until it succeeds, so the result must be the
   * same after any number of attempts.
   */
  write(batch: ExportBatch, signal: AbortSignal): Promise<void>;
}

/** The progress of an export. */
export interface ExportState {
  sink: string;
  /** Time of the oldest row that is not written, in Unix milliseconds. Undefined: all rows are written. */
  oldestAtMs: number | undefined;
  /** Rows that are not written, at most `MAX_COUNTED`. */
  waiting: number;
  /** Rows that this process has written. */
  written: number;
  /** Failed attempts of this process. */
  failures: number;
}

/** The stored progress. */
interface Checkpoint {
  /** The place before the first row that may not be written. */
  after: string;
  /** A batch that may be written. Absent: none was begun. */
  pending?: { until: string; plannedAtMs: number; count: number };
  /** When all rows were written last. */
  lookedAtMs?: number;
}

/** Returns the place before which the target has all rows, whatever happens to the job. @param checkpoint of the job */
export const readExportedPlace = (checkpoint: string | null): string =>
  checkpoint === null ? FEED_START : (parseJson(checkpoint) as Checkpoint).after; // `runExport` wrote it

export interface ExportParts {
  target: ExportTarget;
  ledger: Pick<LedgerStore, 'findRows' | 'readRows'>;
  state: ExportState;
  now: () => number;
  log: WriteLog;
  /** Waits between attempts. */
  retryMs?: number | undefined;
}

/** Rows that are counted of a backlog. */
const MAX_COUNTED = 10_000;
/** Rows that are read at once. More would delay requests of this process. */
const PAGE = 100;
/** Longest time between two looks at the backlog. */
const MEASURE_MS = 60_000;
const MAX_PAUSE_MS = 1000;
const RETRY_MS = 1000;
const MAX_RETRY_MS = 60_000;

export const createExportState = (sink: string): ExportState => ({
  sink,
  oldestAtMs: undefined,
  waiting: 0,
  written: 0,
  failures: 0,
});

/**
 * Writes the rows of the ledger to a target, each one once, as the work of a durable job. The end of a batch is stored before
 * the batch is written. After a crash, the same rows are therefore written with the same token.
 *
 * Ends only by an error: of the store, or because the signal is aborted.
 */
export async function runExport(job: OwnedJob, parts: ExportParts): Promise<JobOutcome> {
  const { target, ledger, state, now } = parts;
  const { signal } = job;
  let checkpoint: Checkpoint =
    job.checkpoint === null ? { after: FEED_START } : (parseJson(job.checkpoint) as Checkpoint); // this function wrote it
  let isRetry = checkpoint.pending !== undefined;
  let lookedAtMs = checkpoint.lookedAtMs ?? 0;
  const save = async (next: Checkpoint): Promise<void> => {
    checkpoint = { ...next, lookedAtMs };
    await job.saveCheckpoint(JSON.stringify(checkpoint));
  };
  noteWaiting(state, 0, undefined);
  for (;;) {
    signal.throwIfAborted();
    const { after, pending } = checkpoint;
    if (!pending) {
      const { everyMs } = target;
      const dueAtMs = (Math.floor(lookedAtMs / everyMs) + 1) * everyMs; // at the beginning of an hour
      const waitMs = Math.min(dueAtMs - now(), everyMs);
      if (waitMs > 0) {
        if (everyMs > MEASURE_MS) await measure(parts, after);
        await job.waitForWake(Math.min(waitMs, MEASURE_MS));
        continue;
      }
      const { position: until, count, firstAtMs } = await ledger.findRows({ after, limit: target.maxRows });
      noteWaiting(state, count, firstAtMs);
      if (count > 0) await save({ after, pending: { until, plannedAtMs: now(), count } });
      else lookedAtMs = now(); // not stored: an idle gateway writes nothing
      continue;
    }
    // A new batch that is not full is all that waits.
    if (isRetry || pending.count === target.maxRows) await measure(parts, after);
    const beganAt = performance.now();
    await write(parts, { after, ...pending }, isRetry, signal);
    isRetry = false;
    state.written += pending.count;
    // A full batch has more rows behind it.
    const isAtEnd = pending.count < target.maxRows;
    if (isAtEnd) {
      lookedAtMs = now();
      noteWaiting(state, 0, undefined);
    }
    await save({ after: pending.until });
    // A long backlog takes half of the time at most, and leaves the rest to requests.
    if (!isAtEnd) await job.waitForWake(Math.min(performance.now() - beganAt, MAX_PAUSE_MS));
  }
}

/** Writes a batch, as often as needed. @throws only if the signal is aborted, or the error of the store */
async function write(
  parts: ExportParts,
  { after, until, plannedAtMs, count }: NonNullable<Checkpoint['pending']> & { after: string },
  mayBeWritten: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { target, ledger, state, log, retryMs = RETRY_MS } = parts;
  const read = () => readPages(ledger, after, until);
  const lastId = until.slice(until.indexOf(':') + 1);
  // Without the place, which a `VACUUM` can change.
  const token = `headgate:${after.slice(after.indexOf(':') + 1)}:${lastId}:${count}`;
  for (let tries = 0; ; tries++) {
    try {
      await target.write({ token, lastId, plannedAtMs, read, isRetry: mayBeWritten || tries > 0 }, signal);
      if (tries > 0) log('ledger export continues', { sink: target.sink });
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ExportReadError) throw error.cause;
      state.failures++;
      const waitMs = Math.min(retryMs * 2 ** Math.min(tries, 10), MAX_RETRY_MS);
      if (tries === 0) log('ledger export failed', { sink: target.sink, err: error });
      await delay(waitMs, undefined, { signal });
      await measure(parts, after);
    }
  }
}

/** The store failed, not the target. */
class ExportReadError extends Error {}

async function* readPages(
  ledger: ExportParts['ledger'],
  after: string,
  until: string,
): AsyncGenerator<LedgerRow[], void> {
  for (let position = after; ; ) {
    const rows = await ledger.readRows({ after: position, until, limit: PAGE }).catch((cause: unknown) => {
      throw new ExportReadError('The ledger cannot be read.', { cause });
    });
    if (rows.length > 0) yield rows;
    if (rows.length < PAGE) return;
    position = rows.at(-1)!.position;
  }
}

async function measure({ ledger, state }: ExportParts, after: string): Promise<void> {
  const { count, firstAtMs } = await ledger.findRows({ after, limit: MAX_COUNTED });
  noteWaiting(state, count, firstAtMs);
}

function noteWaiting(state: ExportState, count: number, firstAtMs: number | undefined): void {
  state.waiting = count;
  state.oldestAtMs = firstAtMs;
}
