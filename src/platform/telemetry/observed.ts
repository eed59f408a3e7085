import type { Caller } from '../../domain/caller.ts';
import type { FinishChunk } from '../../domain/chunks.ts';
import type { ContentParts } from '../../domain/content-record.ts';
import type { GatewayError } from '../../domain/errors.ts';
import type { LedgerEntry } from '../../domain/ledger-entry.ts';
import type { Origin } from '../../domain/origin.ts';
import type { ResponseRequest } from '../../domain/request.ts';

/*
 * The port: the data that telemetry reads of a run that has ended. `Run` of the pipeline has all of it. Times are those
 * of `performance.now()`.
 */

/** The endpoint of an attempt. */
export interface ObservedEndpoint {
  readonly id: string;
  readonly model: string;
  /** The slug of the configuration, if its `*` matched `model`. */
  readonly pattern?: string | undefined;
  readonly upstreamModel: string;
  readonly provider: { readonly id: string; readonly name: string };
}

export interface ObservedAttempt {
  readonly endpoint: ObservedEndpoint;
  /** Whether its endpoint was tried before and failed. */
  readonly isRetry: boolean;
  /** Index of the provider's key. Undefined without keys. */
  readonly key: number | undefined;
  readonly status: number;
  readonly error: GatewayError | undefined;
  readonly upstreamModel: string | undefined;
  /** The rules that the refusals before it have taught. */
  readonly learned?: readonly { readonly name: string; readonly settings: Readonly<Record<string, unknown>> }[];
  /** The provider's id of its request. Undefined: it sent none. */
  readonly upstreamRequestId?: string | undefined;
  /** Undefined if it failed before it was sent. */
  readonly dispatchedAt: number | undefined;
  readonly firstOutputAt: number | undefined;
  /** Undefined while its output is read. */
  readonly endedAt: number | undefined;
  readonly finish: { readonly type: 'finish'; readonly reason?: FinishChunk['reason'] } | undefined;
}

/** One model call. */
export interface ObservedStep {
  readonly attempts: readonly ObservedAttempt[];
  /** The attempt whose output was passed on. */
  readonly committed: ObservedAttempt | undefined;
}

/** A call of a server tool. */
export interface ObservedToolCall {
  /** The type of the tool. Undefined: the model named none of the gateway. */
  readonly tool: string | undefined;
  /** The number of its step, or of the next one if it ran before the first. */
  readonly step: number;
  readonly startedAt: number;
  readonly endedAt: number;
  /** `ok`, or the class of the failure. */
  readonly outcome: string;
}

export interface ObservedRun {
  readonly request: Pick<ResponseRequest, 'trace' | 'session_id' | 'max_output_tokens' | 'temperature' | 'top_p'>;
  readonly caller: Caller;
  readonly generationId: string;
  /** The id of a response. */
  readonly responseId?: string;
  /** Undefined if the gateway itself made the request on behalf of a caller's request. */
  readonly origin?: Origin | undefined;
  readonly endUser: string | undefined;
  readonly steps: readonly ObservedStep[];
  /** Absent: the run has no server tools. */
  readonly toolLoop?: { readonly calls: readonly ObservedToolCall[] } | undefined;
  readonly firstOutputAt: number | undefined;
  readonly error: GatewayError | undefined;
}

export const listAttempts = ({ steps }: ObservedRun): readonly ObservedAttempt[] =>
  steps.length === 1 ? steps[0]!.attempts : steps.flatMap(({ attempts }) => attempts);

/** Returns how long the run waited for providers, over all attempts, in milliseconds. */
export function sumUpstreamMs({ steps }: ObservedRun, now: number): number {
  let sum = 0;
  for (const { attempts } of steps) {
    for (const { dispatchedAt, endedAt = now } of attempts) {
      if (dispatchedAt !== undefined) sum += Math.min(endedAt, now) - dispatchedAt;
    }
  }
  return sum;
}

/** Writes the contents of a run, with at most that many bytes. @returns undefined if they are not kept */
export type ReadContents = (maxBytes: number) => ContentParts | undefined;

/**
 * Called once for every run, when it is recorded. Must not throw and must not wait.
 *
 * @param readContents undefined: the contents are not kept
 */
export type Observe = (run: ObservedRun, entry: LedgerEntry, readContents?: ReadContents) => void;
