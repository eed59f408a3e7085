import type { LedgerEntry, RecordedEntry } from '../../../domain/ledger-entry.ts';

/** Ledger entries and their corrections. */
export interface EntryStore {
  /** Records entries. Idempotent: an id that exists is left as it is. All or none of them are durable on return. */
  append(entries: readonly LedgerEntry[]): Promise<void>;
  /**
   * @param workspaceId undefined: in any workspace
   * @returns the entry with its corrections applied, or undefined if none has this id
   */
  find(workspaceId: string | undefined, id: string): Promise<RecordedEntry | undefined>;
  /** Lists entries with their corrections applied, the oldest first. */
  list(query: EntryQuery): Promise<RecordedEntry[]>;
  /** Lists one page of matching entries with their corrections, the newest first. Reads a bounded part of the ledger. */
  listRecent(query: RecentQuery): Promise<RecentPage>;
  /**
   * Records corrections, all or none of them: entries of their own, on the day of the entry that they correct. Skips
   * entries that were corrected since they were read.
   *
   * @returns how many were recorded
   */
  correct(corrections: readonly Correction[], atMs: number): Promise<number>;
  /** Number of corrections that reduced a cost. Each makes a sum smaller that otherwise only grows. */
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
  /** Id of the last entry of the page before. */
  after?: string | undefined;
  /** At least 1. */
  limit: number;
}

/** Filters of `listRecent`. An absent one matches every entry. */
export interface RecentQuery {
  /** `next` of the page before. */
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
  /** At least 1. */
  limit: number;
}

export interface RecentPage {
  /** Can be fewer than the limit, or none, although there are more. */
  entries: RecordedEntry[];
  /** For `before` of the next page. Undefined: this is the last page. */
  next: string | undefined;
}

/** Amounts by which an entry, as it was read, costs too little; below 0: too much. */
export interface Correction {
  entry: RecordedEntry;
  costNanoUsd: bigint;
  inputCostNanoUsd: bigint;
  /** The part of `costNanoUsd` for lines whose kind of key (BYOK or not) differs from the entry's. */
  otherKeysNanoUsd?: bigint;
}
