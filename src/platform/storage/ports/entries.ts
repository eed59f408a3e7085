import type { LedgerEntry, RecordedEntry } from '../../../domain/ledger-entry.ts';

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
  /**
   * Lists one page of matching entries with their corrections, the newest first. Reads a bounded part of the ledger.
   */
  listRecent(query: RecentQuery): Promise<RecentPage>;
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

/** Filters of `listRecent`. An absent filter matches every entry. */
export interface RecentQuery {
  /** `next` of the previous page. */
  before?: string | undefined;
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
  sessionId?: string | undefined;
  /** The keyed hash of the end user's id. */
  endUser?: string | undefined;
  /** The last characters of the id. */
  idEnd?: string | undefined;
  /** At least 1. */
  limit: number;
}

export interface RecentPage {
  /** May be fewer than the limit, or none, although there are more. */
  entries: RecordedEntry[];
  /** Used as `before` of the next page. Undefined: this is the last page. */
  next: string | undefined;
}

/** Amounts to add to an entry, as it was read. Negative: the entry cost too much. */
export interface Correction {
  entry: RecordedEntry;
  costNanoUsd: bigint;
  inputCostNanoUsd: bigint;
  /** The part of `costNanoUsd` for lines whose kind of key (BYOK or not) differs from the entry's. */
  otherKeysNanoUsd?: bigint;
}
