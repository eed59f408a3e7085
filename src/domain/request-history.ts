/**
 * The parts of a request that its ledger entry does not have: every attempt, tool call and stage. It has no contents and
 * no values of keys. Stored as JSON, so a field that most records do not need is absent.
 */
export interface RequestHistory {
  /** The message of the error that the client got. Absent: no error. */
  message?: string;
  /** The route of a request that was rejected before it had a run. Absent: it had one. */
  route?: string;
  /** Number of further requests of the same key and minute that were rejected and have no entry. Absent: none. */
  omittedRequests?: number;
  /** In order. Absent: there were none. */
  attempts?: readonly AttemptRecord[];
  /** Calls of server tools, in the order in which they ended. Absent: there were none. */
  tools?: readonly ToolRecord[];
  /** Absent: no stage checked or changed anything. */
  stages?: readonly HistoryStage[];
  /** Number of records that were left out, because the history is bounded. Absent: none. */
  omitted?: { readonly attempts?: number; readonly tools?: number; readonly stages?: number };
}

/** An attempt on an endpoint. Durations are in milliseconds. */
export interface AttemptRecord {
  /** The number of its model call, from 1. Absent: 1. */
  step?: number;
  /** The index of its usage and cost in the lines of the entry; the entry itself if it has none. Absent: it used nothing. */
  line?: number;
  /** Its endpoint. Absent if `line` says it. */
  endpoint?: {
    readonly id: string;
    readonly model: string;
    readonly provider: string;
    readonly providerId: string;
    readonly isByok?: true;
  };
  /** The name of the provider's key, never its value. Absent: unknown, or it has none. */
  key?: string;
  /** The HTTP status, as in `router_metadata.attempts`. */
  status: number;
  errorType?: string;
  message?: string;
  /** The provider's id of its request. Absent: it sent none. */
  upstreamRequestId?: string;
  /** From the accepted request to the dispatch. Absent: it failed before it was sent. */
  startMs?: number;
  /** From the dispatch to the first output of the provider. Absent: there was none. */
  firstByteMs?: number;
  /** From the dispatch to the end. Absent: it had not ended. */
  durationMs?: number;
}

/** A call of a server tool. */
export interface ToolRecord {
  /** The type of the tool. Absent: the model named none of the gateway. */
  tool?: string;
  /** The number of its model call, from 1. */
  step: number;
  /** `ok`, or the class of the failure. */
  outcome: string;
  /** From the accepted request. */
  startMs: number;
  durationMs: number;
}

/** A stage of `router_metadata.pipeline`, without what may have contents. */
export interface HistoryStage {
  type: string;
  name: string;
  summary?: string;
  guardrail_id?: string;
  guardrail_scope?: string;
  data?: Record<string, unknown>;
  cost_usd?: number;
}

/** Parses the history of an entry. Undefined: it has none, or another build wrote it in a form that this one cannot read. */
export function readHistory(text: string | undefined): RequestHistory | undefined {
  if (text === undefined) return undefined;
  try {
    const history = JSON.parse(text) as unknown;
    return typeof history === 'object' && history !== null ? history : undefined;
  } catch {
    return undefined;
  }
}
