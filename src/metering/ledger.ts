import { setImmediate as nextTurn } from 'node:timers/promises';
import { currentTimeMs } from '../domain/clock.ts';
import { GatewayError } from '../domain/errors.ts';
import { inTurns } from '../domain/in-turns.ts';
import type { RecordedEntry, LedgerEntry, InFlightEntry } from '../domain/ledger-entry.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import { callStore } from '../platform/storage/call-store.ts';
import type { EntryStore } from '../platform/storage/ports/entries.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import { MAX_COST_NANO_USD, writeDollars } from './cost.ts';
import { type InFlightRequest, type OrphanedRecords, openJournal, serializeEntry } from './journal.ts';
import { storeEntries, storeOrphaned } from './store-entries.ts';

export interface Ledger {
  /**
   * Notes that a request goes out to a provider. Should the process die before it is booked, the next one books the
   * estimate. To be called again for each further attempt.
   *
   * @param before what it returned for the attempt before
   * @returns what `record` is to be told
   * @throws {GatewayError} `unavailable` when it cannot be kept safely: the request must not go out
   */
  begin(underway: InFlightEntry, before?: InFlightRequest): InFlightRequest;
  /**
   * Records an entry: it survives a `kill -9` from here on. Never throws; see `accepting`.
   *
   * @param begun its last attempt; undefined: none went out
   * @returns with `durability: strict` a promise, which never rejects: the entry survives a power cut once it is fulfilled
   */
  record(entry: LedgerEntry, begun?: InFlightRequest): MaybePromise<void>;
  /** False while entries cannot be kept safely (a full disk): the gateway then takes no new work. */
  readonly accepting: boolean;
  /** Entries that are not in the store yet. */
  readonly waiting: number;
  /** Since when the store has rejected entries, Unix milliseconds; undefined: it takes them. */
  readonly notStoredSinceMs: number | undefined;
  /**
   * Looks an entry up, those that are still on their way included.
   *
   * @param workspaceId undefined: of any
   * @throws {GatewayError} `unavailable` when it is not on its way and the store does not answer
   */
  find(workspaceId: string | undefined, id: string): Promise<RecordedEntry | undefined>;
  /** Resolves when all that was booked before is in the store. @throws the store's error */
  flush(): Promise<void>;
  /** Flushes and closes. What the store did not take stays in the journal for the next start. */
  close(): Promise<void>;
}

export interface LedgerOptions {
  /** Folder of the journal. */
  folder: string;
  store: Pick<EntryStore, 'append' | 'find'>;
  /** `strict`: entries are synced to disk before `record` is done. Absent: `standard`. */
  durability?: () => 'standard' | 'strict';
  /** Where lines are put that no store will ever take. */
  quarantineFolder: string;
  /**
   * Gets a line when a streak of failed writes begins or ends, and a line about each cost that cannot be true, each entry
   * that the store will never accept, and unreadable lines of the journal.
   */
  log: WriteLog;
  /** Told at the start what an earlier process left, once it is stored. */
  onOrphaned?: (left: OrphanedRecords) => void;
}

/** How long entries gather before they go to the store in one transaction. */
const GATHER_MS = 100;
/** Entries to a transaction: one or two milliseconds of the embedded store. */
const GROUP = 400;
const RETRY_MS = 1000;
/** Entries in memory at which a store that does not answer stops new work. About 100 MB. */
const MAX_WAITING = 200_000;

/** What can fail, and the messages for the beginning and the end of a streak of failures. */
const troubles = {
  writing: { begins: 'journal write failed', ends: 'journal write recovered' },
  storing: { begins: 'ledger write failed', ends: 'ledger write recovered' },
  syncing: { begins: 'journal sync failed', ends: 'journal sync recovered' },
  shortening: { begins: 'journal truncation failed', ends: 'journal truncation recovered' },
} as const;
type Trouble = keyof typeof troubles;

/** What a request is answered when nothing can be booked. */
export function ledgerUnavailable(cause?: unknown): GatewayError {
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
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { folder, store, log, onOrphaned } = options;
  const opened = openJournal(folder);
  const { journal } = opened;
  try {
    await storeOrphaned(options, opened, onOrphaned);
  } catch (error) {
    journal.close();
    throw error;
  }

  let waiting: LedgerEntry[] = [];
  let unjournalled: { entry: LedgerEntry; begun: InFlightRequest | undefined }[] = []; // those of them that are in memory alone
  let storing: readonly LedgerEntry[] = [];
  /** Trouble → since when, Unix milliseconds. */
  const failing = new Map<Trouble, number>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const fail = (what: Trouble, error: unknown): void => {
    if (failing.has(what)) return;
    failing.set(what, currentTimeMs());
    log(troubles[what].begins, { err: error, ...(what === 'storing' && { queued: waiting.length }) });
  };
  const recover = (what: Trouble): void => {
    if (failing.size > 0 && failing.delete(what)) log(troubles[what].ends);
  };

  async function sync(): Promise<void> {
    try {
      await journal.sync();
      recover('syncing');
    } catch (error) {
      fail('syncing', error);
      schedule(RETRY_MS);
      throw error;
    }
  }

  /** The store keeps what the disk of the journal does not. If neither can, the log says so and no new work is taken. */
  const keep = (isJournalled: boolean): Promise<void> => (isJournalled ? sync().catch(flush) : flush()).catch(() => {});

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
        await storeEntries(options, batch.slice(stored, stored + GROUP));
      }
    } catch (error) {
      waiting = batch.slice(stored).concat(waiting);
      fail('storing', error);
      forgetStored();
      journalLate();
      throw error;
    } finally {
      storing = [];
    }
    forgetStored();
    recover('storing');
    try {
      journal.forget(mark);
      recover('shortening');
    } catch (error) {
      fail('shortening', error);
    }
  }

  function forgetStored(): void {
    if (unjournalled.length === 0) return;
    const left = new Set(waiting);
    unjournalled = unjournalled.filter(({ entry, begun }) => {
      if (begun && !left.has(entry)) journal.settle(begun);
      return left.has(entry);
    });
  }

  /** There may be room by now, though the store is still gone. */
  function journalLate(): void {
    if (unjournalled.length === 0) return;
    try {
      for (let next = unjournalled[0]; next; next = unjournalled[0]) {
        journal.append(next.entry, next.begun);
        unjournalled.shift();
      }
      recover('writing');
    } catch {} // told when it began
  }

  const flush = inTurns(drain);

  function schedule(ms: number): void {
    if (isClosed) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      if (failing.has('syncing')) sync().catch(() => {}); // logged when it began; it comes again
      flush().then(
        () => waiting.length > 0 && schedule(GATHER_MS),
        () => schedule(RETRY_MS),
      );
    }, ms);
  }

  /** A transaction is full: entries that wait any longer only grow old, which costs the garbage collector. */
  function hurry(): void {
    clearTimeout(timer);
    timer = undefined;
    schedule(0);
  }

  return {
    begin(underway, before) {
      try {
        const begun = journal.begin(underway, before);
        recover('writing'); // an end that fits says little: it is a third as long
        return begun;
      } catch (error) {
        fail('writing', error);
        throw ledgerUnavailable(error);
      }
    },
    record(entry, begun) {
      if (entry.costNanoUsd >= MAX_COST_NANO_USD) {
        const { id, model, provider, costNanoUsd } = entry;
        log('cost capped', { generation_id: id, model, provider, cost_usd: writeDollars(costNanoUsd) });
      }
      let isJournalled = true;
      try {
        journal.append(entry, begun);
      } catch (error) {
        isJournalled = false;
        unjournalled.push({ entry, begun });
        fail('writing', error);
      }
      waiting.push(entry);
      if (waiting.length === GROUP) hurry();
      else schedule(GATHER_MS);
      return options.durability?.() === 'strict' ? keep(isJournalled) : undefined;
    },
    get accepting() {
      return unjournalled.length === 0 && waiting.length < MAX_WAITING && !failing.has('syncing');
    },
    get notStoredSinceMs() {
      return failing.get('storing');
    },
    get waiting() {
      return waiting.length + storing.length;
    },
    async find(workspaceId, id) {
      const isMeant = (entry: LedgerEntry) =>
        entry.id === id && (workspaceId === undefined || entry.workspaceId === workspaceId);
      const onItsWay = waiting.findLast(isMeant) ?? storing.find(isMeant);
      if (onItsWay) return onItsWay;
      return callStore(() => store.find(workspaceId, id));
    },
    flush,
    async close() {
      clearTimeout(timer);
      timer = undefined;
      try {
        await flush();
        if (unjournalled.length > 0) await flush(); // what was booked meanwhile
      } catch (error) {
        // The log is the last place where these entries can be written.
        if (unjournalled.length > 0) {
          log('ledger entries lost', { err: error, entries: unjournalled.map(({ entry }) => serializeEntry(entry)) });
        }
        throw error;
      } finally {
        isClosed = true;
        clearTimeout(timer);
        journal.close();
      }
    },
  };
}
