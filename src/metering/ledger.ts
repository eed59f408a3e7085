import { setImmediate as nextTurn } from 'node:timers/promises';
import { GatewayError } from '../domain/errors.ts';
import type { BookedEntry, LedgerEntry, UnderwayEntry } from '../domain/ledger-entry.ts';
import { type Leftover, openJournal, writeEntry } from './journal.ts';

/** What the ledger needs of the store. @see platform/storage/storage.ts */
export interface EntryStore {
  append(entries: readonly LedgerEntry[]): Promise<void>;
  find(workspaceId: string, id: string): Promise<BookedEntry | undefined>;
}

export interface Ledger {
  /**
   * Notes that a request goes out to a provider. Should the process die before it is booked, the next one books the
   * estimate. To be called again for each further attempt.
   *
   * @throws {GatewayError} `unavailable` when it cannot be kept safely: the request must not go out
   */
  begin(underway: UnderwayEntry): void;
  /** Books an entry: it outlives a `kill -9` from here on. Never throws; see `accepting`. */
  book(entry: LedgerEntry): void;
  /** False while entries cannot be kept safely (a full disk): the gateway then takes no new work. */
  readonly accepting: boolean;
  /** Entries that are not in the store yet. */
  readonly waiting: number;
  /**
   * Looks an entry up, those that are still on their way included.
   *
   * @throws {GatewayError} `unavailable` when it is not on its way and the store does not answer
   */
  find(workspaceId: string, id: string): Promise<BookedEntry | undefined>;
  /** Resolves when all that was booked before is in the store. @throws the store's error */
  flush(): Promise<void>;
  /** Flushes and closes. What the store did not take stays in the journal for the next start. */
  close(): Promise<void>;
}

export interface LedgerOptions {
  /** Folder of the journal. */
  folder: string;
  store: EntryStore;
  /** Called when a write fails, once per streak. */
  onTrouble: (message: string, error: unknown) => void;
  /** Told at the start what an earlier process left, once it is stored. */
  onLeft?: (left: Leftover) => void;
}

/** How long entries gather before they go to the store in one transaction. */
const GATHER_MS = 100;
/** Entries to a transaction: one or two milliseconds of the embedded store. */
const GROUP = 400;
const RETRY_MS = 1000;
/** Entries in memory at which a store that does not answer stops new work. About 100 MB. */
const MAX_WAITING = 200_000;

const cannotBeWritten = 'The journal of the ledger cannot be written; no new work is taken until it can.';

/** What a request is answered when nothing can be booked. */
export function booksAreClosed(cause?: unknown): GatewayError {
  return new GatewayError(
    'unavailable',
    'The gateway cannot keep its books now (is the disk full?); try again later.',
    { retryAfterSeconds: 5, cause },
  );
}

/**
 * Opens the ledger and stores what an earlier process left in its journal.
 *
 * @throws the store's or the file system's error, when the journal of an earlier process cannot be stored
 */
export async function openLedger({ folder, store, onTrouble, onLeft }: LedgerOptions): Promise<Ledger> {
  const { journal, left, forgetLeft } = openJournal(folder);
  try {
    if (left.entries.length > 0) await store.append(left.entries);
    forgetLeft();
    if (left.entries.length > 0) onLeft?.(left);
  } catch (error) {
    journal.close();
    throw error;
  }

  let waiting: LedgerEntry[] = [];
  let unjournalled: LedgerEntry[] = []; // those of them that are in memory alone
  let storing: readonly LedgerEntry[] = [];
  let troubled = false;
  let timer: NodeJS.Timeout | undefined;
  let draining: Promise<void> | undefined;

  const trouble = (message: string, error: unknown): void => {
    if (!troubled) onTrouble(message, error);
    troubled = true;
  };

  async function drain(): Promise<void> {
    const batch = waiting;
    if (batch.length === 0) return;
    const mark = journal.mark();
    waiting = [];
    storing = batch;
    let stored = 0;
    try {
      for (; stored < batch.length; stored += GROUP) {
        if (stored > 0) await nextTurn(); // an embedded store works on our thread: let requests pass in between
        await store.append(batch.slice(stored, stored + GROUP));
      }
    } catch (error) {
      waiting = batch.slice(stored).concat(waiting);
      trouble('The store does not take ledger entries; they wait in the journal.', error);
      forgetStored();
      journalLate();
      throw error;
    } finally {
      storing = [];
    }
    forgetStored();
    troubled = false;
    try {
      journal.forget(mark);
    } catch (error) {
      trouble('The journal of the ledger cannot be shortened.', error);
    }
  }

  function forgetStored(): void {
    if (unjournalled.length === 0) return;
    const left = new Set(waiting);
    unjournalled = unjournalled.filter((entry) => {
      if (!left.has(entry)) journal.settle(entry.id);
      return left.has(entry);
    });
  }

  /** There may be room by now, though the store is still gone. */
  function journalLate(): void {
    try {
      for (let entry = unjournalled[0]; entry; entry = unjournalled[0]) {
        journal.append(entry);
        unjournalled.shift();
      }
    } catch {} // told when it began
  }

  /** One drain at a time; a caller during one waits for the next, which holds its entries. */
  async function flush(): Promise<void> {
    while (draining) await draining.catch(() => {});
    draining = drain();
    try {
      await draining;
    } finally {
      draining = undefined;
    }
  }

  function schedule(ms: number): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      flush().then(
        () => waiting.length > 0 && schedule(GATHER_MS),
        () => schedule(RETRY_MS),
      );
    }, ms);
  }

  return {
    begin(underway) {
      try {
        journal.begin(underway);
      } catch (error) {
        trouble(cannotBeWritten, error);
        throw booksAreClosed(error);
      }
    },
    book(entry) {
      try {
        journal.append(entry);
      } catch (error) {
        unjournalled.push(entry);
        trouble(cannotBeWritten, error);
      }
      waiting.push(entry);
      schedule(GATHER_MS);
    },
    get accepting() {
      return unjournalled.length === 0 && waiting.length < MAX_WAITING;
    },
    get waiting() {
      return waiting.length + storing.length;
    },
    async find(workspaceId, id) {
      const isMeant = (entry: LedgerEntry) => entry.id === id && entry.workspaceId === workspaceId;
      const onItsWay = waiting.findLast(isMeant) ?? storing.find(isMeant);
      if (onItsWay) return onItsWay;
      try {
        return await store.find(workspaceId, id);
      } catch (cause) {
        throw new GatewayError('unavailable', 'The store does not answer; try again later.', {
          cause,
          retryAfterSeconds: 5,
        });
      }
    },
    flush,
    async close() {
      clearTimeout(timer);
      timer = undefined;
      try {
        await flush();
      } catch (error) {
        // The log is the last place where they can be told.
        if (unjournalled.length > 0)
          onTrouble(`Lost from the ledger: ${unjournalled.map(writeEntry).join('\n')}`, error);
        throw error;
      } finally {
        clearTimeout(timer);
        journal.close();
      }
    },
  };
}
