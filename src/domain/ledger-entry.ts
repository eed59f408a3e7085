import type { ImageCounts } from './images.ts';
import type { Tags } from './tags.ts';
import type { SpecialCounts } from './usage.ts';

/** How a request ended. */
export const generationOutcomes = ['completed', 'incomplete', 'failed', 'cancelled'] as const;

/**
 * The usage and cost of one response, recorded once under its generation id, even if the client disconnected or the
 * stream was truncated. Money is integer nano-dollars (1 USD = 1,000,000,000). Times are Unix milliseconds.
 */
export interface LedgerEntry {
  /** The generation id (`gen-…`). An entry is recorded once per id. */
  id: string;
  createdAtMs: number;
  /** The kind of request. Absent: a response. */
  apiType?: 'image' | 'embeddings' | 'rerank';
  /**
   * The generation that this one served: the gateway itself made the request. Sums over entries need not consider it,
   * because no entry contains the usage of another one.
   */
  parentId?: string;
  workspaceId: string;
  keyHash: string;
  memberId: string | null;
  /** The slug that the caller sent. */
  requestedModel: string;
  /** The slug of the router that chose the model, such as `router/auto`. Null: the caller named a model. */
  router: string | null;
  /** The task of the conversation according to the router. Null: unknown. */
  task: string | null;
  /** The slug of the model that responded. If none did, the last one that produced output. Null: none did. */
  model: string | null;
  /** Display name of its provider. */
  provider: string | null;
  /** Id of that provider in the configuration. */
  providerId: string | null;
  /** Id of its endpoint. @see `EndpointFacts.id` */
  endpointId: string | null;
  /** The service tier that was used and priced. Null: not reported. */
  tier: string | null;
  /** Whether a BYOK key of the workspace was used. */
  isByok: boolean;
  outcome: (typeof generationOutcomes)[number];
  /** The HTTP status that the caller saw, or would have seen. */
  status: number;
  errorType: string | null;
  streamed: boolean;
  inputTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  /** Absent: all of them are 0. */
  special?: SpecialCounts;
  /** Absent: they were not counted, because the endpoint generates no images or an older build wrote the entry. */
  pictures?: ImageCounts;
  costNanoUsd: bigint;
  /** The input part of `costNanoUsd`. 0 in entries of a build that did not separate the parts. */
  inputCostNanoUsd: bigint;
  /** False: a price was unknown. The cost then lacks a part or is 0, and has no meaning. */
  priced: boolean;
  /** The cost that the provider reported. Null: none. */
  upstreamCostNanoUsd: number | null;
  /** Whether the counts are estimates, because the provider reported no usage. */
  estimated: boolean;
  /** Milliseconds from the accepted request to the first visible output. Null: there was none. */
  firstOutputMs: number | null;
  /** Milliseconds from the accepted request to the end. */
  durationMs: number;
  sessionId: string | null;
  /** The keyed hash of the end user's id. Never the id itself. */
  endUser: string | null;
  /** Absent: it has none. */
  tags?: Tags;
  /** The parts of the sums above, in order. Absent: there is only one. */
  lines?: readonly LedgerLine[];
  /** The JSON of its `RequestHistory`. Absent: the other fields say it all. */
  history?: string;
}

/** An entry with its corrections. */
export interface RecordedEntry extends LedgerEntry {
  /** The sum of later corrections of its cost. Absent: there were none. */
  correction?: {
    costNanoUsd: bigint;
    inputCostNanoUsd: bigint;
    /** The part of `costNanoUsd` for lines of the other kind of key than the entry's. Absent: 0. */
    otherKeysNanoUsd?: bigint;
    count: number;
  };
}

/** The amount that an entry adds to all sums, with its corrections. It counts even if a price was unknown. */
export const summedCost = ({ costNanoUsd, correction }: RecordedEntry): bigint =>
  costNanoUsd + (correction?.costNanoUsd ?? 0n);

/**
 * The part of that cost for lines of the other kind of key than the entry's. BYOK keys and shared keys have separate
 * sums. @see `SpendingStore.readSpending`
 */
export const summedForOtherKeys = ({ lines = [], isByok, correction }: RecordedEntry): bigint =>
  lines
    .filter((line) => line.isByok !== isByok)
    .reduce((sum, { costNanoUsd }) => sum + costNanoUsd, correction?.otherKeysNanoUsd ?? 0n);

/** The cost of an entry with its corrections. Null: a price was never known. */
export const settledCost = (entry: RecordedEntry): bigint | null =>
  entry.priced || entry.correction ? summedCost(entry) : null;

/** A part of the usage and cost of a response. All parts of an entry add up to it. */
export interface LedgerLine extends EntryPart {
  /** An attempt on an endpoint, another turn of the model, or a call of a tool. */
  kind: 'attempt' | 'turn' | 'tool';
  /** As in `router_metadata.attempts`: 200 for the successful one. */
  status: number;
}

/** Whether an entry has lines. One attempt alone is the entry itself. A charge never is. */
export const isSplit = (lines: readonly LedgerLine[]): boolean => lines.length > 1 || lines[0]?.kind === 'tool';

/** The fields that an entry and each of its lines have. */
export type EntryPart = Pick<
  LedgerEntry,
  | 'model'
  | 'provider'
  | 'providerId'
  | 'endpointId'
  | 'tier'
  | 'isByok'
  | 'inputTokens'
  | 'cachedTokens'
  | 'cacheWriteTokens'
  | 'outputTokens'
  | 'reasoningTokens'
  | 'special'
  | 'pictures'
  | 'costNanoUsd'
  | 'inputCostNanoUsd'
  | 'priced'
  | 'upstreamCostNanoUsd'
  | 'estimated'
>;

/** The fields of an entry that are known before there is a response. */
export type EntryOrigin = Pick<
  LedgerEntry,
  | 'id'
  | 'apiType'
  | 'parentId'
  | 'createdAtMs'
  | 'workspaceId'
  | 'keyHash'
  | 'memberId'
  | 'requestedModel'
  | 'router'
  | 'task'
  | 'model'
  | 'provider'
  | 'providerId'
  | 'endpointId'
  | 'tier'
  | 'isByok'
  | 'streamed'
  | 'sessionId'
  | 'endUser'
  | 'tags'
>;

/**
 * A request that is sent to a provider: enough to record it if the process dies before the end. Tokens and cost are
 * those of earlier attempts, plus an estimate of the input of this one.
 */
export type InFlightEntry = EntryOrigin &
  Pick<
    LedgerEntry,
    'inputTokens' | 'outputTokens' | 'costNanoUsd' | 'inputCostNanoUsd' | 'priced' | 'lines' | 'history'
  >;
