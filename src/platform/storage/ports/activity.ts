/** Statistics of the requests in the ledger. */
export interface ActivityStore {
  /** Sums over a workspace, or over all. */
  readTotals(workspaceId?: string): Promise<LedgerTotals>;
  /**
   * Sums by task and model over the responses of all workspaces since `sinceMs`, in any order. Counts responses that a
   * model ended (`completed` or `incomplete`) and that have a price.
   *
   * @param sinceMs Unix milliseconds
   */
  readTraffic(sinceMs: number): Promise<TrafficRow[]>;
  /** Sums by day (UTC), model and provider over the entries that have an endpoint, in any order. */
  readActivity(query: ActivityQuery): Promise<ActivityRow[]>;
}

export interface LedgerTotals {
  entries: number;
  inputTokens: bigint;
  outputTokens: bigint;
  costNanoUsd: bigint;
}

export interface TrafficRow {
  /** Null: no router classified the requests. */
  task: string | null;
  model: string;
  answers: number;
  costNanoUsd: bigint;
  inputCostNanoUsd: bigint;
  inputTokens: bigint;
}

export interface ActivityQuery {
  /** The start of a day (UTC) in Unix milliseconds, inclusive. */
  fromMs: number;
  /** The start of another day, exclusive. */
  toMs: number;
  workspaceId?: string | undefined;
  keyHash?: string | undefined;
  memberId?: string | undefined;
  /** The keyed hash of the end user's id. */
  endUser?: string | undefined;
  /** The property by which rows are separate. Absent: `group` is null in all rows. */
  groupBy?: ActivityGroup | undefined;
  /** Number of rows after which reading stops. There may then be more rows, and their sums are incomplete. */
  maxRows?: number;
}

export type ActivityGroup = 'workspace' | 'key' | 'member' | 'endUser';

export interface ActivityRow {
  /** Days since 1970-01-01. */
  day: number;
  /** The id of the workspace or member, or the hash of the key or end user. Null: not grouped, or there is none. */
  group: string | null;
  model: string;
  /** Display name. */
  provider: string;
  requests: number;
  /** Without the cost of BYOK keys. */
  costNanoUsd: bigint;
  byokNanoUsd: bigint;
  inputTokens: bigint;
  outputTokens: bigint;
  reasoningTokens: bigint;
}
