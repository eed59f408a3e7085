import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { lockFolder } from '../platform/data-folder/data-folder.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import { type OrphanedRecords, openJournal } from './journal.ts';
import { type StoringParts, storeOrphaned } from './store-entries.ts';

export interface OrphanedJournalsParts extends StoringParts {
  /** Holds a folder for each worker. */
  folder: string;
  /** Is this the name of a folder that a worker has, or is about to have? */
  isInUse: (name: string) => boolean;
  /** Told what a worker left, once it is stored. */
  onOrphaned?: (left: OrphanedRecords) => void;
}

/** What workers left in their journals when they ended, on its way to the store. */
export interface OrphanedJournals {
  /** Stores what is there now. @throws the store's or the file system's error */
  store(): Promise<void>;
  /** Stores it soon, and tries again until nothing is left. */
  schedule(): void;
  close(): void;
}

const RETRY_MS = 1000;

/** Its name among the folders of the journal; no two workers ever have the same. */
export const nameWorkerJournal = (slot: number, mark: string): string => `worker-${slot}-${mark}`;
const isWorkerJournal = (name: string): boolean => name.startsWith('worker-');

/**
 * Looks after the journals of workers that ended. One that outlived its primary may still write its last entries: its
 * folder is taken, and its turn comes when it has ended.
 */
export function openOrphanedJournals(parts: OrphanedJournalsParts): OrphanedJournals {
  const { folder, isInUse, log, onOrphaned } = parts;
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve(true);
  let closed = false;
  let troubled = false;

  /** One that cannot be stored holds up no other. @returns whether nothing is left. @throws the first error */
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

  /** One at a time: two must not store the same journal. */
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
        troubled = false;
      } catch (error) {
        if (!troubled) log('orphaned journals not stored', { err: error });
        troubled = true;
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
 * Stores what a process that ended left in the journal of this folder.
 *
 * @param onOrphaned told of it then, if it is anything
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
