/** Sums over the ledger by time and dimension. They equal the sums of its entries and corrections. */
export interface UsageStore {
  /**
   * Sums entries by interval and by the dimensions of the query, in any order. An interval without entries has no row.
   * The cost depends on the number of rows and not on the size of the ledger.
   */
  readUsage(query: UsageQuery): Promise<UsageRow[]>;
  /**
   * Compares the sums of one day (UTC) with the ledger.
   *
   * @param repair replaces sums that differ
   * @returns the number of rows that differ, at all levels
   */
  verifyUsage(dayMs: number, repair: boolean): Promise<number>;
  /** The first and the last day (UTC) with entries, in Unix milliseconds. Undefined: the ledger is empty. */
  readUsageDays(): Promise<{ firstMs: number; lastMs: number } | undefined>;
}

/** The unit of time of the sums: all zones differ from UTC by a multiple of it. */
export const SLOT_MS = 900_000;

export const usageDimensions = ['workspace', 'model', 'provider', 'key', 'member', 'tag'] as const;
export type UsageDimension = (typeof usageDimensions)[number];

export interface UsageQuery {
  /** The starts of intervals that follow each other, and the end of the last one: Unix ms, multiples of `SLOT_MS`. */
  boundsMs: readonly number[];
  /** The dimensions by which rows are separate. */
  groupBy: readonly UsageDimension[];
  /** Which tag `groupBy: ['tag']` separates. */
  tagKey?: string | undefined;
  /** Only entries with these values. A tag is written as `key:value`. */
  only: { readonly [Dimension in UsageDimension]?: string | undefined };
  /** Whether rows have histograms. */
  histograms?: boolean;
  /** Number of rows after which reading stops. */
  maxRows?: number;
}

export interface UsageRow {
  /** Index of the interval. */
  interval: number;
  /**
   * The values of the dimensions of `groupBy`. Null: none. The model of an entry without a response is the requested one
   * if it failed with a status from 500 on, and none otherwise. A tag has its value alone.
   */
  of: { [Dimension in UsageDimension]?: string | null };
  requests: number;
  /** Failed requests with a status from 500 on. */
  errors: number;
  /** Other failed requests. */
  rejected: number;
  cancelled: number;
  incomplete: number;
  /** Requests whose price was unknown when they ended. */
  unpriced: number;
  inputTokens: bigint;
  cachedTokens: bigint;
  cacheWriteTokens: bigint;
  outputTokens: bigint;
  reasoningTokens: bigint;
  /** Without the cost of BYOK keys. */
  costNanoUsd: bigint;
  byokNanoUsd: bigint;
  /** Sum of milliseconds. */
  durationMs: number;
  /** Requests by duration, a number for each bucket of `durationBoundsMs`. Absent: not asked for. */
  durations?: number[];
  /** Requests by the time to the first output. One without output is in no bucket. */
  firstOutputs?: number[];
}

/**
 * Upper bounds of the buckets of histograms, in milliseconds, exclusive. One more bucket has the values from the last
 * bound on.
 */
export const durationBoundsMs = [
  50, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 102_400, 204_800,
] as const;
