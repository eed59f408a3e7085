import type { LedgerEntry, RecordedEntry } from '../../../domain/ledger-entry.ts';
import type { Tags } from '../../../domain/tags.ts';

/** Ledger entries and their corrections. */
export interface EntryStore {
  /** Records entries. Idempotent: does not change an existing id. All or none of them are durable on return. */
  append(entries: readonly LedgerEntry[]): Promise<void>;
  /**
   * @param workspaceId undefined: in any workspace
   * @returns the entry with its corrections applied, or undefined if none has this id
   */
  find(workspaceId: string | undefined, id: string): Promise<RecordedEntry | undefined>;
  /** Lists entries with their corrections applied, the oldest first. */
  list(query: EntryQuery): Promise<RecordedEntry[]>;
  /** Lists one page of matching entries with their corrections. Reads a bounded part of the ledger. */
  listPage(query: EntryPageQuery): Promise<EntryPage>;
  /** Counts matching entries. Reads a bounded part of the ledger, the newest first. */
  count(filters: EntryFilters): Promise<EntryCount>;
  /** Reads entries in the order in which any process recorded them. None is skipped. Reads a bounded part of the ledger. */
  readNew(query: NewEntriesQuery): Promise<NewEntries>;
  /** Returns a place before all entries that are recorded later. A few of the last ones can follow it, too. */
  readEnd(): Promise<string>;
  /** Finds the next rows of the feed, entries and corrections. Later calls with the same place find at least the same. */
  findRows(query: { after: string; limit: number }): Promise<FoundRows>;
  /** Reads the rows between two places, in their order. Each call returns the same ones, as they were recorded. */
  readRows(query: RowQuery): Promise<LedgerRow[]>;
  /**
   * Records corrections, all or none of them, as separate entries on the day of the entry that they correct. Skips
   * entries that were corrected since they were read.
   *
   * @returns the number of recorded corrections
   */
  correct(corrections: readonly Correction[], atMs: number): Promise<number>;
  /** Reads the number of corrections that reduced a cost. Each one reduces a sum that otherwise only grows. */
  readReductions(): Promise<number>;
}

export interface EntryQuery {
  /** Unix milliseconds, inclusive. */
  fromMs?: number | undefined;
  /** Unix milliseconds, exclusive. */
  toMs?: number | undefined;
  model?: string | undefined;
  /** Matches the id, or the display name if the entry has no id. */
  provider?: { id: string; name: string } | undefined;
  /** Id of the last entry of the previous page. */
  after?: string | undefined;
  /** At least 1. */
  limit: number;
}

/** Conditions on entries. An absent one matches every entry. */
export interface EntryFilters {
  /** Unix milliseconds, inclusive. */
  fromMs?: number | undefined;
  /** Unix milliseconds, exclusive. */
  toMs?: number | undefined;
  workspaceId?: string | undefined;
  keyHash?: string | undefined;
  memberId?: string | undefined;
  /** The model that responded, or the one that was requested. */
  model?: string | undefined;
  /** Id or display name. */
  provider?: string | undefined;
  outcomes?: readonly LedgerEntry['outcome'][] | undefined;
  /** The first and the last status. */
  statuses?: readonly [number, number] | undefined;
  errorType?: string | undefined;
  /** The type of a server tool that was called, or the name of a charge. */
  tool?: string | undefined;
  /** The entry has all of them. */
  tags?: Tags | undefined;
  /** Includes corrections. An entry without a known price is in no range. */
  minCostNanoUsd?: bigint | undefined;
  maxCostNanoUsd?: bigint | undefined;
  minDurationMs?: number | undefined;
  maxDurationMs?: number | undefined;
  streamed?: boolean | undefined;
  /** Whether a part of the input came from a cache. */
  cached?: boolean | undefined;
  sessionId?: string | undefined;
  /** The keyed hash of the end user's id. */
  endUser?: string | undefined;
  /** The last characters of the id. */
  idEnd?: string | undefined;
}

/** The values that order a list. Entries with the same cost or duration are in the order of their time. */
export const entryOrders = ['time', 'cost', 'duration'] as const;

export interface EntryPageQuery extends EntryFilters {
  /** Absent: `time`. An unknown price counts as the recorded cost. */
  order?: (typeof entryOrders)[number] | undefined;
  /** Whether the smallest value is first. Absent: the largest is, so the newest entry. */
  isAscending?: boolean | undefined;
  /** `next` of the previous page. */
  after?: string | undefined;
  /** At least 1. */
  limit: number;
}

export interface EntryPage {
  /** May be fewer than the limit, or none, although there are more. */
  entries: RecordedEntry[];
  /** Used as `after` of the next page. Undefined: this is the last page. */
  next: string | undefined;
  /** Set if the time range has too many entries for an order by cost or duration. The page is empty then. */
  isTooLarge?: boolean;
}

/** Maximum entries of a time range that can be ordered by cost or duration, whether or not they match. */
export const MAX_ORDERED = 500_000;

export interface EntryCount {
  count: number;
  /** False: the ledger has more entries than were read, so there are at least this many. */
  isExact: boolean;
}

export interface NewEntriesQuery {
  filters: EntryFilters;
  /** From `readEnd`, or `position` of the previous read. */
  after: string;
  /** At least 1. */
  limit: number;
}

export interface NewEntries {
  /** In the order in which they were recorded, each with the place after it. */
  entries: { entry: RecordedEntry; position: string }[];
  /** The place after all entries that were read, also those that do not match. */
  position: string;
  /** Whether there were no more entries. */
  isAtEnd: boolean;
}

/** The place before all rows of the feed. */
export const FEED_START = '0:';

export interface FoundRows {
  /** The place after them. */
  position: string;
  count: number;
  /** Unix milliseconds of the first one. Undefined: there is none. */
  firstAtMs: number | undefined;
}

export interface RowQuery {
  after: string;
  /** `position` of `findRows`. */
  until: string;
  /** At least 1. */
  limit: number;
}

/** An entry or a correction, as it was recorded. Neither ever changes. */
export interface LedgerRow {
  /** A correction has the facts of its entry, its own id, counts of 0 and the amounts that it adds. */
  entry: LedgerEntry;
  /** Absent: it is an entry. */
  correction?: { of: string; atMs: number };
  /** The place after it. */
  position: string;
}

/** Amounts to add to an entry, as it was read. Negative: the entry cost too much. */
export interface Correction {
  entry: RecordedEntry;
  costNanoUsd: bigint;
  inputCostNanoUsd: bigint;
  /** The part of `costNanoUsd` for lines whose kind of key (BYOK or not) differs from the entry's. */
  otherKeysNanoUsd?: bigint;
}
