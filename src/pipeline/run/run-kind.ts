import type { GatewayError } from '../../domain/errors.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Sink } from '../../domain/sink.ts';
import type { Endpoint } from '../../providers/provider.ts';
import type { Wire } from '../../providers/wire.ts';
import type { AttemptOutcome } from '../../routing/health.ts';
import type { Attempt, AttemptCost, AttemptTurn } from './attempt.ts';
import type { RunBase } from './run.ts';

/** The differences between the kinds of runs that walk a plan: the form of the output, and how to request it. */
export interface RunKind<R extends RunBase, A extends Attempt, C, P> {
  createAttempt(endpoint: Endpoint, turn: AttemptTurn, pipeline: P): A;
  /** @throws {GatewayError} the failure; `retryable` if another endpoint may succeed */
  attempt(pipeline: P, run: R, attempt: A, out: Sink<C>): Promise<void>;
  /** Whether the client may see something of this chunk. The chunks before the first such chunk are buffered. */
  isOutput(run: R, chunk: C): boolean;
  /** Whether a chunk is passed on even if its attempt fails. */
  isKept(chunk: C): boolean;
  /**
   * Returns why an attempt that ended regularly is not passed on yet: it has no output, or not what was requested. Absent:
   * any end is a success.
   *
   * @param held the buffered chunks, in which it may repair the output
   */
  judgeEnd?(run: R, attempt: A, held: C[]): MaybePromise<PoorEnd | undefined>;
  /** Returns the outcome of an ended attempt, for the health of its endpoint. */
  describeOutcome(run: R, attempt: A): AttemptOutcome;
  /**
   * Finds the wire for another attempt, if the server does not have the path of this one. Absent: there is no other.
   *
   * @returns why the endpoint cannot be used otherwise
   */
  findOtherWire?(attempt: A, failure: GatewayError): MaybePromise<Wire | GatewayError>;
  /** Whether the endpoint can be tried again without what the failure refuses. Absent: never. */
  canLearn?(pipeline: P, attempt: A, failure: GatewayError): boolean;
  /** Remembers what an attempt has left out that the provider has accepted. */
  remember?(attempt: A): void;
  /**
   * Measures an attempt that failed before the client received any output. Absent: such failures cost nothing.
   *
   * @param held the buffered chunks
   */
  measureFailed?(run: R, attempt: A, held: readonly C[]): AttemptCost | undefined;
}

/** A regular end without the requested output. Another endpoint may have it. */
export interface PoorEnd {
  failure: GatewayError;
  /** Whether the client gets it if no other endpoint has a better one. */
  isAnswer: boolean;
}

/** The chain of sinks for the output of one attempt. */
export interface AttemptSink<C> {
  readonly first: Sink<C>;
  /** Whether all of the attempt's output has been passed on. */
  readonly isFinished: boolean;
  /** Drops all buffers after the attempt has failed. */
  abandon(): void;
}
