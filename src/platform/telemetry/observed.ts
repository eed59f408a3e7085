import type { Caller } from '../../domain/caller.ts';
import type { FinishChunk } from '../../domain/chunks.ts';
import type { GatewayError } from '../../domain/errors.ts';
import type { LedgerEntry } from '../../domain/ledger-entry.ts';
import type { Origin } from '../../domain/origin.ts';
import type { ResponseRequest } from '../../domain/request.ts';

/*
 * The port: what telemetry reads of a run that has ended. `Run` of the pipeline has all of it. Times are of
 * `performance.now()`.
 */

/** The endpoint of an attempt. */
export interface ObservedEndpoint {
  readonly id: string;
  readonly model: string;
  /** The slug of the configuration, when `model` is one that its `*` matched. */
  readonly pattern?: string | undefined;
  readonly upstreamModel: string;
  readonly provider: { readonly id: string; readonly name: string };
}

export interface ObservedAttempt {
  readonly endpoint: ObservedEndpoint;
  readonly status: number;
  readonly error?: GatewayError | undefined;
  /** Undefined unless it failed after it was sent; of the one that answered the run tells. */
  readonly dispatchedAt?: number | undefined;
  readonly endedAt?: number | undefined;
}

export interface ObservedRun {
  readonly request: Pick<ResponseRequest, 'trace' | 'session_id' | 'max_output_tokens' | 'temperature' | 'top_p'>;
  readonly caller: Caller;
  readonly generationId: string;
  /** Of a response. */
  readonly responseId?: string;
  /** Undefined when the gateway itself asked, in the course of a caller's request. */
  readonly origin?: Origin | undefined;
  readonly endUser: string | undefined;
  readonly attempts: readonly ObservedAttempt[];
  readonly selected: ObservedEndpoint | undefined;
  readonly upstreamModel: string | undefined;
  readonly dispatchedAt: number | undefined;
  readonly firstOutputAt: number | undefined;
  readonly upstreamEndedAt: number | undefined;
  readonly finish: { readonly type: 'finish'; readonly reason?: FinishChunk['reason'] } | undefined;
  readonly error: GatewayError | undefined;
}

/** Told once of every run, when it is booked. Must not throw and must not wait. */
export type Observe = (run: ObservedRun, entry: LedgerEntry) => void;
