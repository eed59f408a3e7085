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
import { type InFlightRequest, openJournal } from './journal.ts';
import { type OrphanedRecords, serializeEntry } from './journal-lines.ts';
import { storeEntries, storeOrphaned } from './store-entries.ts';

export interface Ledger {
  /**
   * Records that a request is sent to a provider. If the process dies before the entry is recorded, the next process
   * records an estimate. Called again for each further attempt.
   *
   * @param before the result for the previous attempt
   * @returns the argument of `record`
   * @throws {GatewayError} `unavailable` if it cannot be written; the request must not be sent
   */
  begin(inFlight: InFlightEntry, before?: InFlightRequest): InFlightRequest;
  /**
   * Records an entry: it survives a `kill -9` from here on. Never throws; see `accepting`.
   *
   * @param begun its last attempt; undefined if none was sent
   * @returns with `durability: strict`, a promise that never rejects; the entry then survives a power failure
   */
  record(entry: LedgerEntry, begun?: InFlightRequest): MaybePromise<void>;
  /** False while entries cannot be written (a full disk). The gateway then accepts no requests. */
  readonly accepting: boolean;
  /**
   * Finds since when requests have been rejected because entries cannot be written, in Unix milliseconds. Tries to reserve
   * space, so that the end of the failure is found without a request.
   */
  findBlockedSinceMs(): number | undefined;
  /** Entries that are not in the store yet. */
  readonly waiting: number;
  /** Time since when the store has rejected entries, in Unix milliseconds. Undefined: it accepts them. */
  readonly notStoredSinceMs: number | undefined;
  /**
   * Finds an entry, including those that are not in the store yet.
   *
   * @param workspaceId undefined: of any
   * @throws {GatewayError} `unavailable` if the entry is not in memory and the store fails
   */
  find(workspaceId: string | undefined, id: string): Promise<RecordedEntry | undefined>;
  /** Resolves when all entries recorded so far are in the store. @throws the store's error */
  flush(): Promise<void>;
  /** Flushes and closes. Entries that the store rejects stay in the journal for the next start. */
  close(): Promise<void>;
}

export interface LedgerOptions {
  /** Folder of the journal. */
  folder: string;
  store: Pick<EntryStore, 'append' | 'find'>;
  /** `strict`: entries are synced to disk before `record` is done. Absent: `standard`. */
  durability?: () => 'standard' | 'strict';
  /** Time to collect entries for one transaction. Default: 100 ms. */
  gatherMs?: number | undefined;
  /** Folder for entries that no store accepts. */
  quarantineFolder: string;
  /**
   * Logs the start and the end of a series of failed writes, each impossible cost, each quarantined entry, and
   * unreadable lines of the journal.
   */
  log: WriteLog;
  /** Called at start with the stored records of an earlier process. */
  onOrphaned?: (left: OrphanedRecords) => void;
}

const DEFAULT_GATHER_MS = 100;
/** Entries per transaction. Takes the embedded store one or two milliseconds. */
const MAX_GROUP = 400;
const RETRY_MS = 500;
/**
 * Time within which every process has stored what it has recorded, once the store is reachable. A failed write is
 * retried after `RETRY_MS`; the rest is for the write.
 */
export const STORED_WITHIN_MS = 2 * RETRY_MS;
/** Entries in memory at which the gateway accepts no more requests. About 100 MB. */
const MAX_WAITING = 200_000;

/** Operations that can fail, with the messages for the start and the end of a series of failures. */
const operations = {
  writing: { begins: 'journal write failed', ends: 'journal write recovered' },
  storing: { begins: 'ledger write failed', ends: 'ledger write recovered' },
  syncing: { begins: 'journal sync failed', ends: 'journal sync recovered' },
  shortening: { begins: 'journal truncation failed', ends: 'journal truncation recovered' },
} as const;
type Operation = keyof typeof operations;

/** The error of requests while the ledger cannot be written. */
export function ledgerUnavailable(cause?: unknown): GatewayError {
  return new GatewayError(
    'unavailable',
    'The gateway cannot write its ledger now (is the disk full?). Try again later.',
    { retryAfterSeconds: 5, cause },
  );
}

/**
 * Opens the ledger and stores what an earlier process left in its journal.
 *
 * @throws the store's or the file system's error if the journal of an earlier process cannot be stored
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { folder, store, log, onOrphaned, gatherMs = DEFAULT_GATHER_MS } = options;
  const opened = openJournal(folder);
  const { journal } = opened;
  try {
    await storeOrphaned(options, opened, onOrphaned);
  } catch (error) {
    journal.close();
    throw error;
  }

  let waiting: LedgerEntry[] = [];
  let notJournaled: { entry: LedgerEntry; begun: InFlightRequest | undefined }[] = []; // those that are only in memory
  let storing: readonly LedgerEntry[] = [];
  /** The last request whose start line could not be written. Undefined: a later one could. */
  let rejected: InFlightEntry | undefined;
  /** Failing operation → since when, in Unix milliseconds. */
  const failing = new Map<Operation, number>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const fail = (operation: Operation, error: unknown): void => {
    if (failing.has(operation)) return;
    failing.set(operation, currentTimeMs());
    log(operations[operation].begins, { err: error, ...(operation === 'storing' && { queued: waiting.length }) });
  };
  const recover = (operation: Operation): void => {
    if (failing.size > 0 && failing.delete(operation)) log(operations[operation].ends);
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

  /** Syncs the journal, or else flushes to the store. If both fail, it logs the failure and sets `accepting` to false. */
  const keep = (isJournalled: boolean): Promise<void> => (isJournalled ? sync().catch(flush) : flush()).catch(() => {});

  async function drain(): Promise<void> {
    const batch = waiting;
    if (batch.length === 0) return;
    const mark = journal.mark();
    waiting = [];
    storing = batch;
    let stored = 0;
    try {
      for (; stored < batch.length; stored += MAX_GROUP) {
        if (stored > 0) await nextTurn(); // an embedded store runs on this thread, so requests run in between
        await storeEntries(options, batch.slice(stored, stored + MAX_GROUP));
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
    if (notJournaled.length === 0) return;
    const left = new Set(waiting);
    notJournaled = notJournaled.filter(({ entry, begun }) => {
      if (begun && !left.has(entry)) journal.settle(begun);
      return left.has(entry);
    });
  }

  /** Writes entries that only memory has, because the disk may have free space again. */
  function journalLate(): void {
    if (notJournaled.length === 0) return;
    try {
      for (let next = notJournaled[0]; next; next = notJournaled[0]) {
        journal.append(next.entry, next.begun);
        notJournaled.shift();
      }
      recover('writing');
    } catch {} // logged when the series began
  }

  const flush = inTurns(drain);

  function schedule(ms: number): void {
    if (isClosed) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      if (failing.has('syncing')) sync().catch(() => {}); // logged when the series began; retried
      flush().then(
        () => waiting.length > 0 && schedule(gatherMs),
        () => schedule(RETRY_MS),
      );
    }, ms);
  }

  /** Stores at once, because a transaction is full. Older entries cost the garbage collector more. */
  function hurry(): void {
    clearTimeout(timer);
    timer = undefined;
    schedule(0);
  }

  return {
    begin(inFlight, before) {
      try {
        const begun = journal.begin(inFlight, before);
        rejected = undefined;
        recover('writing'); // only here: an end line is a third as long, so it may fit on a full disk
        return begun;
      } catch (error) {
        rejected = inFlight;
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
        notJournaled.push({ entry, begun });
        fail('writing', error);
      }
      waiting.push(entry);
      if (waiting.length === MAX_GROUP) hurry();
      else schedule(gatherMs);
      return options.durability?.() === 'strict' ? keep(isJournalled) : undefined;
    },
    get accepting() {
      return notJournaled.length === 0 && waiting.length < MAX_WAITING && !failing.has('syncing');
    },
    findBlockedSinceMs() {
      if (rejected) {
        try {
          journal.reserve(rejected);
          rejected = undefined;
        } catch {} // logged when the series began
      }
      const since = [failing.get('syncing')];
      if (rejected || notJournaled.length > 0) since.push(failing.get('writing'));
      if (waiting.length >= MAX_WAITING) since.push(failing.get('storing'));
      const times = since.filter((time) => time !== undefined);
      return times.length === 0 ? undefined : Math.min(...times);
    },
    get notStoredSinceMs() {
      return failing.get('storing');
    },
    get waiting() {
      return waiting.length + storing.length;
    },
    async find(workspaceId, id) {
      const matches = (entry: LedgerEntry) =>
        entry.id === id && (workspaceId === undefined || entry.workspaceId === workspaceId);
      const pending = waiting.findLast(matches) ?? storing.find(matches);
      if (pending) return pending;
      return callStore(() => store.find(workspaceId, id));
    },
    flush,
    async close() {
      clearTimeout(timer);
      timer = undefined;
      try {
        await flush();
        if (notJournaled.length > 0) await flush(); // entries recorded in the meantime
      } catch (error) {
        // only the log can still keep these entries
        if (notJournaled.length > 0) {
          log('ledger entries lost', { err: error, entries: notJournaled.map(({ entry }) => serializeEntry(entry)) });
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
