import { type Availability, asGatewayError, createAvailability, GatewayError } from '../domain/errors.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { Sink } from '../domain/sink.ts';
import { totalOf } from '../metering/cost.ts';
import type { Endpoint } from '../providers/provider.ts';
import { type AttemptOutcome, isEndpointFault } from '../routing/health.ts';
import type { Attempt, AttemptTurn } from './attempt.ts';
import type { AttemptCost } from './attempt-cost.ts';
import { copyError } from './copy-error.ts';
import { EndpointQueue } from './endpoint-queue.ts';
import { Gate } from './gate.ts';
import type { PipelineBase } from './pipeline.ts';
import type { RunBase } from './run.ts';
import { attemptsOf, type Step } from './step.ts';

/** What differs between the kinds of runs that walk a plan: what output consists of, and how to request it. */
export interface RunKind<R extends RunBase, A extends Attempt, C, P> {
  createAttempt(endpoint: Endpoint, turn: AttemptTurn): A;
  /** @throws {GatewayError} what went wrong; `retryable` if another endpoint may do better */
  attempt(pipeline: P, run: R, attempt: A, out: Sink<C>): Promise<void>;
  /** Whether the client may see something of this chunk: all before it is held back. */
  isOutput(run: R, chunk: C): boolean;
  /** Whether a chunk is passed on even if its attempt fails. */
  isKept(chunk: C): boolean;
  /** What an attempt that has ended says of its endpoint. */
  describeOutcome(run: R, attempt: A): AttemptOutcome;
  /**
   * What an attempt used that failed before the client saw any of it. Absent: such failures cost nothing.
   *
   * @param held what it produced and was held back
   */
  measureFailed?(run: R, attempt: A, held: readonly C[]): AttemptCost | undefined;
}

/** Where the output of one attempt goes. */
export interface AttemptSink<C> {
  readonly first: Sink<C>;
  /** Whether all of the attempt's output has been passed on. */
  readonly isFinished: boolean;
  /** The attempt has failed: what is held back is dropped. */
  abandon(): void;
}

/**
 * Walks the plan of a step until an attempt succeeds. Output is held back until some of it is visible (for a buffered
 * response: until its end), so that an attempt that fails before leaves no trace but its record.
 *
 * An endpoint is tried again with its other keys if it refuses one. After a failure the next endpoint is tried at once; when
 * none is left, those whose failure was transient are retried, as their providers allow. A model whose limit
 * (`limits.models`) is reached is skipped. Failures that are the endpoint's go to its health.
 *
 * @param open opens what takes the output of an attempt
 * @returns the one of the attempt that succeeded
 * @throws {GatewayError} of the last attempt, with the earlier ones in `metadata.previous_errors`; `rate_limited` if all
 *   models were skipped
 * @see docs/reference/routing.md#attempts
 */
export async function walkPlan<
  A extends Attempt,
  R extends RunBase & { readonly steps: Step<A>[] },
  C,
  P extends PipelineBase<R>,
  S extends AttemptSink<C>,
>(pipeline: P, run: R, step: Step<A>, kind: RunKind<R, A, C, P>, open: (attempt: A) => S): Promise<S> {
  const { health, inFlight } = pipeline.routingContext();
  const { retry } = pipeline;
  const { cancellation } = run;
  const queue = new EndpointQueue(step.plan.endpoints, pipeline.maxAttempts(), cancellation.deadlineAt, retry);
  const kept: C[] = []; // of attempts that failed
  let entered: string | undefined; // the model whose limit has admitted the run
  let limited: GatewayError | undefined; // why the first of those that did not
  let failure: GatewayError | undefined;

  for (let turn = queue.next(); turn; turn = queue.next()) {
    const { endpoint, isRetry } = turn;
    if (run.modelLimits && endpoint.model !== entered) {
      const entering = run.modelLimits.enter(endpoint.model);
      const rejection = entering instanceof Promise ? await entering : entering;
      if (rejection) {
        queue.dropModel(endpoint.model);
        skipModel(step, endpoint.model, rejection);
        limited ??= rejection;
        continue;
      }
      entered = endpoint.model;
    }
    if (!isRetry) retry.budget.countRequest(endpoint.provider.id);
    else {
      await retry.wait(turn.delayMs, cancellation).catch((reason) => {
        throw withHistory(step, asGatewayError(reason));
      });
    }
    for (let keysLeft = endpoint.provider.keys.size; ; ) {
      const raised = raiseReservation(run);
      if (raised instanceof Promise) await raised;
      const attempt = kind.createAttempt(endpoint, { isLast: turn.isLast && keysLeft <= 1, isRetry });
      step.attempts.push(attempt);
      const sink = open(attempt);
      const gate = new Gate(run, attempt, kind, sink.first, kept);
      inFlight.begin(endpoint.id);
      try {
        await kind.attempt(pipeline, run, attempt, gate);
        if (!sink.isFinished) await finishOutput(sink, gate);
        health.record(endpoint.id, kind.describeOutcome(run, attempt));
        return sink;
      } catch (error) {
        failure = asGatewayError(error);
      } finally {
        inFlight.end(endpoint.id);
      }
      attempt.status = failure.status;
      attempt.error = failure;
      sink.abandon();
      const hasOtherKey = restKey(attempt, failure) && --keysLeft > 0;
      if (!hasOtherKey) health.record(endpoint.id, kind.describeOutcome(run, attempt));
      if (step.committed) throw failure; // the client has seen some of it
      attempt.spent = kind.measureFailed?.(run, attempt, gate.held);
      const next = cancellation.reason ? 'nowhere' : whereNext(failure);
      if (next === 'nowhere') throw withHistory(step, failure);
      if (next === 'model') queue.dropModel(endpoint.model); // it blamed the request
      if (!hasOtherKey) break;
    }
    queue.fail(endpoint, failure);
  }
  throw failure ? withHistory(step, failure) : limited!; // there is an endpoint at least
}

/** Waits until what was held back has been passed on. @throws {GatewayError} if the end of it never is */
async function finishOutput<C>(sink: AttemptSink<C>, gate: { passing: Promise<void> | undefined }): Promise<void> {
  await gate.passing;
  if (!sink.isFinished) throw new GatewayError('internal', 'A reviser did not pass on the end of the output.');
}

/** Sets the key of a failed attempt aside if it is to blame. @returns whether another key may be free */
const restKey = ({ endpoint, key }: Attempt, failure: GatewayError): boolean =>
  failure.blamesKey && key !== undefined && endpoint.provider.keys.rest(key, failure);

/**
 * Adds the cost of failed attempts to the reservation.
 *
 * @returns a promise only if the money is reserved elsewhere
 * @throws {GatewayError} if it must not be spent, with those attempts in its metadata
 */
function raiseReservation(run: RunBase): MaybePromise<void> {
  if (!run.reservation) return undefined;
  const failed = attemptsOf(run).flatMap(({ endpoint, spent }) =>
    spent ? { costNanoUsd: totalOf(spent.cost), isByok: endpoint.workspace !== undefined } : [],
  );
  if (failed.length === 0) return undefined;
  const refuse = (error: unknown): never => {
    const refusal = asGatewayError(error);
    const metadata = { ...refusal.metadata, previous_errors: describeErrors(attemptsOf(run)) };
    throw copyError(refusal, refusal.message, { metadata });
  };
  try {
    const raised = run.reservation.raise(failed);
    return raised instanceof Promise ? raised.catch(refuse) : undefined;
  } catch (error) {
    return refuse(error);
  }
}

/** Notes why the endpoints of a model are not tried. */
function skipModel({ plan, skipped }: Step, model: string, { message }: GatewayError): void {
  for (const endpoint of plan.endpoints) {
    if (endpoint.model === model) skipped.push({ endpoint, code: 'limits', reason: message });
  }
}

/** Where a failed attempt may go on: to the next endpoint, to the next model only, or nowhere. */
function whereNext(failure: GatewayError): 'endpoint' | 'model' | 'nowhere' {
  // A wire that cannot carry a field says so before anything is sent; another wire may.
  if (failure.retryable || failure.kind === 'invalid_request') return 'endpoint';
  switch (failure.kind) {
    case 'upstream_rejected':
    case 'context_length_exceeded':
    case 'content_policy':
    case 'unprocessable':
      return 'model';
    default:
      return 'nowhere';
  }
}

/**
 * The last failure, telling of the others, and whether it is worth to come again. That a provider does not have the model
 * is told only when no endpoint failed otherwise: those may serve it later.
 */
function withHistory(step: Step, failure: GatewayError): GatewayError {
  const tried = step.attempts.filter((attempt) => attempt.error !== undefined);
  const other = tried.findLast(({ error }) => error?.kind !== 'model_unavailable');
  const last = (failure.kind === 'model_unavailable' && other?.error) || failure;
  const availability = describeAvailability(step, tried, last);
  if (tried.length < 2) return availability ? copyError(last, last.message, { availability }) : last;
  const waits = tried.flatMap(({ error }) => error?.retryAfterSeconds ?? []);
  return copyError(last, last.message, {
    metadata: {
      ...last.metadata,
      previous_errors: describeErrors(tried.filter(({ error }) => error !== last)),
    },
    ...(availability === undefined ? undefined : { availability }),
    ...(waits.length === 0 ? undefined : { retryAfterSeconds: Math.min(...waits) }),
  });
}

const describeErrors = (tried: readonly Attempt[]) =>
  tried.map(({ endpoint, status, error }) => ({
    provider: endpoint.provider.name,
    code: error?.providerCode ?? error?.errorType,
    status,
  }));

/**
 * When every attempt failed for want of capacity, or of a provider that works or has the model. The code goes with the
 * status that the caller is told, whatever the other attempts came to. @see docs/reference/errors.md#errormetadata
 */
function describeAvailability({ plan }: Step, tried: readonly Attempt[], told: GatewayError): Availability | undefined {
  const isGone = told.kind === 'model_unavailable';
  const isLimited = told.kind === 'rate_limited';
  const isDown = tried.every(
    ({ error }) => error !== undefined && (isEndpointFault(error) || error.kind === 'rate_limited'),
  );
  // A path that is missing stays missing until the operator corrects the configuration.
  const isLasting = tried.every(({ error }) => error?.kind === 'upstream_path_missing');
  if (tried.length === 0 || !isDown || isLasting) return undefined;
  const waits = tried.flatMap(({ error }) => error?.retryAfterSeconds ?? []);
  const code = isGone ? 'model_unavailable_upstream' : isLimited ? 'capacity_exhausted' : 'temporarily_unavailable';
  return createAvailability(code, plan.slugs, {
    retryable: !isGone,
    affected_providers: [...new Set(tried.map(({ endpoint }) => endpoint.provider.name))],
    ...(waits.length === 0 ? undefined : { retry_after: Math.min(...waits) }),
  });
}
