import type { ImageCounts } from './images.ts';
import type { SpecialCounts } from './usage.ts';

/**
 * What one response used and cost, booked once under its generation id, also when the client left or the stream was
 * cut. Money is integer nano-dollars (1 USD = 1,000,000,000), times are Unix milliseconds.
 */
export interface LedgerEntry {
  /** The generation id (`gen-…`), the key under which an entry is booked once. */
  id: string;
  createdAtMs: number;
  /** What was asked for; absent: a response. */
  apiType?: 'image';
  workspaceId: string;
  keyHash: string;
  memberId: string | null;
  /** The slug that the caller sent. */
  requestedModel: string;
  /** The slug of the router that chose the model, as in `router/auto`; null when the caller named a model. */
  router: string | null;
  /** What a router took the conversation to be about; null when none looked. */
  task: string | null;
  /** The slug of the model that answered; when none did, of the last one that made output, or else null. */
  model: string | null;
  /** The display name of its provider. */
  provider: string | null;
  /** The id of that provider in the configuration. */
  providerId: string | null;
  /** Which of its endpoints. @see `EndpointFacts.id` */
  endpointId: string | null;
  /** The service tier that was used and whose price counts; null when nobody told one. */
  tier: string | null;
  /** An own key of the workspace was used. */
  isByok: boolean;
  outcome: 'completed' | 'incomplete' | 'failed' | 'cancelled';
  /** The HTTP status that the caller saw, or would have seen. */
  status: number;
  errorType: string | null;
  streamed: boolean;
  inputTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  /** Absent where all of them are 0. */
  special?: SpecialCounts;
  /** Absent where nobody counted them: the endpoint makes none, or a build wrote this that did not. */
  pictures?: ImageCounts;
  costNanoUsd: bigint;
  /** The part of `costNanoUsd` that is for input; 0 in entries of a build that did not tell the parts apart. */
  inputCostNanoUsd: bigint;
  /** False when no price was known for a part of it: the cost then lacks that part, or is 0, and says nothing. */
  priced: boolean;
  /** What the provider itself said that it asks; null when it said nothing. */
  upstreamCostNanoUsd: number | null;
  /** True when the provider reported no usage and the counts are ours. */
  estimated: boolean;
  /** Milliseconds from the accepted request to the first visible output; null when there was none. */
  firstOutputMs: number | null;
  /** Milliseconds from the accepted request to the end. */
  durationMs: number;
  sessionId: string | null;
  /** The keyed hash of the end user's id, never the id itself. */
  endUser: string | null;
  /** What the sums above are made of, in order; absent where that is one thing. */
  lines?: readonly LedgerLine[];
}

/** An entry as it stands today. */
export interface RecordedEntry extends LedgerEntry {
  /** What later corrections added to its cost, or took away; absent when there were none. */
  correction?: {
    costNanoUsd: bigint;
    inputCostNanoUsd: bigint;
    /** Of `costNanoUsd` what is for lines of the other kind of key than the entry's; absent where nothing is. */
    otherKeysNanoUsd?: bigint;
    count: number;
  };
}

/** What an entry adds to all sums, as it stands today: also where not all parts of it have a known price. */
export const summedCost = ({ costNanoUsd, correction }: RecordedEntry): bigint =>
  costNanoUsd + (correction?.costNanoUsd ?? 0n);

/**
 * The part of that which is for lines of the other kind of key than the entry's: own provider keys and shared ones are
 * summed apart. @see `LedgerStore.readSpending`
 */
export const summedForOtherKeys = ({ lines = [], isByok, correction }: RecordedEntry): bigint =>
  lines
    .filter((line) => line.isByok !== isByok)
    .reduce((sum, { costNanoUsd }) => sum + costNanoUsd, correction?.otherKeysNanoUsd ?? 0n);

/** The cost of an entry as it stands today: null when no price was ever known for a part of it. */
export const settledCost = (entry: RecordedEntry): bigint | null =>
  entry.priced || entry.correction ? summedCost(entry) : null;

/** A part of what a response used and cost. All parts of an entry add up to it. */
export interface LedgerLine extends EntryPart {
  /** An attempt on an endpoint, a further turn of the model, or a call of a tool. */
  kind: 'attempt' | 'turn' | 'tool';
  /** As `router_metadata.attempts` has it: 200 for the one that answered. */
  status: number;
}

/** What an entry and each of its lines tell. */
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

/** Of an entry, what is known before there is an answer. */
export type EntryOrigin = Pick<
  LedgerEntry,
  | 'id'
  | 'apiType'
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
>;

/**
 * A request that goes out to a provider: enough to book it should the process die before the end. Tokens and cost are
 * what earlier attempts used, and of this one an estimate of its input.
 */
export type InFlightEntry = EntryOrigin &
  Pick<LedgerEntry, 'inputTokens' | 'outputTokens' | 'costNanoUsd' | 'inputCostNanoUsd' | 'priced' | 'lines'>;
