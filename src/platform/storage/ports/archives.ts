import type { LedgerTotals } from './activity.ts';

/** The rows of a workspace on a day (UTC). They are archived together. */
export interface ArchiveUnit {
  /** Days since 1970-01-01. */
  day: number;
  workspaceId: string;
}

/**
 * `begun`: the rows do not change any more, and all of them are in the ledger. `written`: the files have all rows, which are
 * being deleted. `deleted`: only the files have the rows.
 */
export type ArchiveState = 'begun' | 'written' | 'deleted';

/** The files of an archive by format. */
export type ArchiveFiles = Record<'jsonl' | 'parquet', { bytes: number; sha256: string }>;

/** An archive of a unit. Entries that are recorded later make another part. At most the last part is not `deleted`. */
export interface ArchiveRecord extends ArchiveUnit {
  /** From 1 on. */
  part: number;
  state: ArchiveState;
  /** Number of entries and corrections. */
  rows: number;
  /** Null: they are not written yet. */
  files: ArchiveFiles | null;
  /** Sums of the deleted rows. */
  deleted: LedgerTotals & { rows: number };
}

/**
 * The types of the columns of a row: `integer` has 64 bits, `time` is Unix milliseconds, `flag` is 0 or 1, `json` is a
 * text. A question mark: may be null.
 */
export type RowType = 'text' | 'text?' | 'integer' | 'integer?' | 'time' | 'time?' | 'flag' | 'json?';
export type RowValue = string | bigint | null;

/** The columns of a row. A correction has the amounts that it adds, and zero counts. */
export const archiveColumns = {
  id: 'text',
  created_at_ms: 'time',
  workspace_id: 'text',
  key_hash: 'text',
  member_id: 'text?',
  parent_id: 'text?',
  corrects: 'text?',
  corrected_at_ms: 'time?',
  api_type: 'text?',
  requested_model: 'text',
  router: 'text?',
  task: 'text?',
  model: 'text?',
  provider: 'text?',
  provider_id: 'text?',
  endpoint_id: 'text?',
  tier: 'text?',
  is_byok: 'flag',
  outcome: 'text',
  status: 'integer',
  error_type: 'text?',
  streamed: 'flag',
  input_tokens: 'integer',
  cached_tokens: 'integer',
  cache_write_tokens: 'integer',
  cache_write_1h_tokens: 'integer',
  input_audio_tokens: 'integer',
  cached_audio_tokens: 'integer',
  input_image_tokens: 'integer',
  input_images: 'integer',
  output_tokens: 'integer',
  output_audio_tokens: 'integer',
  output_image_tokens: 'integer',
  reasoning_tokens: 'integer',
  web_searches: 'integer',
  output_images: 'integer?',
  output_pixels: 'integer?',
  reference_images: 'integer?',
  reference_pixels: 'integer?',
  picture_tier: 'text?',
  cost_nano_usd: 'integer',
  input_cost_nano_usd: 'integer',
  upstream_cost_nano_usd: 'integer?',
  priced: 'flag',
  estimated: 'flag',
  first_output_ms: 'integer?',
  duration_ms: 'integer',
  session_id: 'text?',
  end_user: 'text?',
  tags: 'json?',
  history: 'json?',
} as const satisfies Record<string, RowType>;

/** A row of the ledger as it is stored: an entry with its lines, or a correction. */
export interface ArchiveRow {
  /** The values of `archiveColumns`. */
  values: Record<string, RowValue>;
  /** In order. */
  lines: Record<string, RowValue>[];
}

/** Orders the rows of a unit. */
export interface RowPosition {
  createdAtMs: number;
  id: string;
}

export interface ArchiveRowQuery extends ArchiveUnit {
  /** Absent: from the first row on. */
  after?: RowPosition | undefined;
  /** Unix milliseconds. Absent: the whole day. */
  fromMs?: number | undefined;
  /** Exclusive. */
  toMs?: number | undefined;
  limit: number;
}

/** A range of days, the end exclusive. */
export interface ArchiveRange {
  fromDay: number;
  toDay: number;
  workspaceId?: string | undefined;
}

/**
 * Days of the ledger that move to the store of files. The sums over the ledger do not change: those of an archived unit
 * cannot be compared with it any more.
 *
 * No correction of an archived unit is recorded. A new entry of one waits outside of the ledger, until `admitLate` records
 * it or `dropLate` finds that the archive has it.
 */
export interface ArchiveStore {
  /** Lists the units that have entries according to the sums, in the order of their days and workspaces. */
  listUnits(range: ArchiveRange): Promise<ArchiveUnit[]>;
  /** Lists the units before a day that have no archive, in the same order. */
  listUnarchived(beforeDay: number): Promise<ArchiveUnit[]>;
  /** Lists archives in the order of their days, workspaces and parts. */
  listArchives(range: ArchiveRange): Promise<ArchiveRecord[]>;
  /** Lists archives that are not `deleted`, in the same order. */
  listUnfinished(): Promise<ArchiveRecord[]>;
  /**
   * Begins the first archive of a unit. From then on, its rows do not change. Idempotent.
   *
   * @returns its last archive
   */
  begin(unit: ArchiveUnit): Promise<ArchiveRecord>;
  /** Reads rows in the order of their times and ids. */
  readRows(query: ArchiveRowQuery): Promise<ArchiveRow[]>;
  /** Records that the files of a `begun` archive are durable. Later calls change nothing. */
  saveFiles(archive: ArchiveRecord, files: ArchiveFiles): Promise<void>;
  /**
   * Deletes some rows of a `written` archive. The embedded store keeps the newest row of the ledger, because numbers of
   * rows would be used again.
   *
   * @param places of the feed of rows. A row is deleted only if it is before all of them
   * @returns the number of deleted rows. 0: the rest cannot be deleted now
   */
  deleteRows(archive: ArchiveRecord, places: readonly string[], limit: number): Promise<number>;
  /** Lists units with late entries. */
  listLateUnits(): Promise<ArchiveUnit[]>;
  /** Returns those of these ids that belong to late entries. */
  findLate(ids: readonly string[]): Promise<string[]>;
  /** Removes late entries that an archive has. */
  dropLate(ids: readonly string[]): Promise<void>;
  /**
   * Records late entries and begins an archive of them, if all earlier parts are `deleted`.
   *
   * @returns undefined if there are none, or an earlier part is not `deleted`
   */
  admitLate(unit: ArchiveUnit, limit: number): Promise<ArchiveRecord | undefined>;
}
