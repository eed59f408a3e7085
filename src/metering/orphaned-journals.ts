import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { lockFolder } from '../platform/data-folder/data-folder.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import { openJournal } from './journal.ts';
import type { OrphanedRecords } from './journal-lines.ts';
import { type StoringParts, storeOrphaned } from './store-entries.ts';

export interface OrphanedJournalsParts extends StoringParts {
  /** Contains a folder for each worker. */
  folder: string;
  /** Whether a worker uses, or is about to use, the folder of this name. */
  isInUse: (name: string) => boolean;
  /** Called with the records of a worker once they are stored. */
  onOrphaned?: (left: OrphanedRecords) => void;
}

/** Stores the journals of workers that have ended. */
export interface OrphanedJournals {
  /** Stores the current journals. @throws the store's or the file system's error */
  store(): Promise<void>;
  /** Stores them soon and retries until none is left. */
  schedule(): void;
  close(): void;
}

const RETRY_MS = 1000;

/** Returns the unique name of a worker's journal folder. */
export const nameWorkerJournal = (slot: number, mark: string): string => `worker-${slot}-${mark}`;
const isWorkerJournal = (name: string): boolean => name.startsWith('worker-');

/**
 * Stores the journals of workers that have ended. A worker that outlives its primary may still write. Its folder is
 * locked until it ends.
 */
export function openOrphanedJournals(parts: OrphanedJournalsParts): OrphanedJournals {
  const { folder, isInUse, log, onOrphaned } = parts;
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve(true);
  let closed = false;
  let isFailing = false;

  /** A journal that fails does not stop the others. @returns whether none is left. @throws the first error */
  async function run(): Promise<boolean> {
    let isDone = true;
    const failures: unknown[] = [];
    for (const name of listWorkerJournals(folder)) {
      if (isInUse(name)) continue;
      const path = join(folder, name);
      const unlock = lockFolder(path);
      if (!unlock) {
        isDone = false;
        continue;
      }
      try {
        await storeJournal(path, parts, onOrphaned);
      } catch (error) {
        failures.push(error);
        continue;
      } finally {
        unlock();
      }
      rmSync(path, { recursive: true, force: true });
    }
    if (failures.length > 0) throw failures[0];
    return isDone;
  }

  /** Runs one at a time, so that no journal is stored twice. */
  const runNext = (): Promise<boolean> => {
    running = running.then(run, run);
    return running;
  };

  function schedule(ms = 0): void {
    if (closed) return;
    timer ??= setTimeout(async () => {
      timer = undefined;
      try {
        if (!(await runNext())) schedule(RETRY_MS);
        isFailing = false;
      } catch (error) {
        if (!isFailing) log('orphaned journals not stored', { err: error });
        isFailing = true;
        schedule(RETRY_MS);
      }
    }, ms).unref();
  }

  return {
    async store() {
      if (!(await runNext())) schedule(RETRY_MS);
    },
    schedule: () => schedule(),
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/**
 * Stores the records in the journal of a folder whose process has ended.
 *
 * @param onOrphaned called afterwards, if there were any
 * @throws the store's or the file system's error
 */
export async function storeJournal(
  folder: string,
  parts: StoringParts,
  onOrphaned?: (left: OrphanedRecords) => void,
): Promise<void> {
  const opened = openJournal(folder);
  try {
    await storeOrphaned(parts, opened, onOrphaned);
  } finally {
    opened.journal.close();
  }
}

function listWorkerJournals(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory() && isWorkerJournal(entry.name)).map(({ name }) => name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Logs how many requests were in flight when their process ended. The ledger has estimates of them. */
export function logInterrupted(log: WriteLog, { interrupted: requests }: OrphanedRecords): void {
  if (requests > 0) log('interrupted requests recorded', { requests });
}
