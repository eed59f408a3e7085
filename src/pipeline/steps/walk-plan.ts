import { asGatewayError, GatewayError, type RefusalLesson } from '../../domain/errors.ts';
import type { Wire } from '../../providers/wire.ts';
import type { Attempt } from '../run/attempt.ts';
import { EndpointQueue } from './endpoint-queue.ts';
import { withHistory } from '../run/explain-failures.ts';
import { Gate } from './gate.ts';
import type { PipelineBase } from '../pipeline.ts';
import { raiseReservation } from '../accounting/raise-reservation.ts';
import type { RunBase } from '../run/run.ts';
import type { AttemptSink, RunKind } from '../run/run-kind.ts';
import type { Step } from '../run/step.ts';

/** Maximum number of times that an endpoint is tried again without what its server has refused. */
const MAX_LESSONS = 6;

/**
 * Walks the plan of a step until an attempt succeeds. Output is buffered until some of it is visible (for a buffered
 * response: until its end), so the client sees nothing of an attempt that fails before.
 *
 * An endpoint is tried again with its other keys if it rejects one, with another wire of its provider if its server
 * does not have the path, and without a parameter that its server refuses. After a failure, the next endpoint is tried at once. When no other endpoint is left, those
 * with a transient failure are retried, as their providers allow. A model whose limit (`limits.models`) is reached is
 * skipped. Failures caused by an endpoint affect its health. An end without output is a failure as long as another endpoint
 * may have some.
 *
 * @param open opens the sinks for the output of an attempt
 * @returns the sinks of the attempt that succeeded
 * @throws {GatewayError} of the last attempt, with the earlier ones in `metadata.previous_errors`; `rate_limited` if
 *   all models were skipped
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
  const kept: C[] = []; // chunks of failed attempts that are still passed on
  let entered: string | undefined; // the model whose limit has admitted the run
  let limited: GatewayError | undefined; // the rejection of the first model whose limit was reached
  let failure: GatewayError | undefined;
  let poor: { attempt: A; held: C[] } | undefined; // the first end without the requested output that the client may get

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
    const { provider } = endpoint;
    let fallback: Wire | undefined; // replaces a wire whose path the server does not have
    let lessons: readonly RefusalLesson[] = []; // what the server has refused
    for (let keysLeft = provider.keys.size; ; ) {
      const raised = raiseReservation(run);
      if (raised instanceof Promise) await raised;
      const isLast = turn.isLast && keysLeft <= 1 && (fallback !== undefined || !provider.finder);
      const attempt = kind.createAttempt(
        endpoint,
        { wire: fallback ?? provider.wire, isLast, isRetry, lessons },
        pipeline,
      );
      step.attempts.push(attempt);
      const sink = open(attempt);
      const gate = new Gate(run, attempt, kind, sink.first, kept);
      inFlight.begin(endpoint.id);
      try {
        await kind.attempt(pipeline, run, attempt, gate);
        const judged = gate.end();
        const end = judged instanceof Promise ? await judged : judged;
        if (end?.isAnswer) poor ??= { attempt, held: gate.held };
        if (end) throw end.failure;
        if (!sink.isFinished) await finishOutput(sink, gate);
        health.record(endpoint.id, kind.describeOutcome(run, attempt));
        return sink;
      } catch (error) {
        failure = asGatewayError(error);
      } finally {
        inFlight.end(endpoint.id);
      }
      const other = fallback ? undefined : await kind.findOtherWire?.(attempt, failure);
      if (other instanceof GatewayError) failure = other;
      attempt.status = failure.status;
      attempt.error = failure;
      sink.abandon();
      if (other && !(other instanceof GatewayError)) {
        fallback = other;
        continue;
      }
      const mayLearn = !step.committed && !cancellation.reason && lessons.length < MAX_LESSONS;
      if (mayLearn && kind.canLearn?.(pipeline, attempt, failure)) {
        lessons = [...lessons, failure.lesson!];
        continue;
      }
      const hasOtherKey = restKey(attempt, failure) && --keysLeft > 0;
      if (!hasOtherKey) health.record(endpoint.id, kind.describeOutcome(run, attempt));
      if (step.committed) throw failure; // the client already has a part
      attempt.spent = kind.measureFailed?.(run, attempt, gate.held);
      const next = cancellation.reason ? 'nowhere' : whereNext(failure);
      if (next === 'nowhere') throw withHistory(step, failure);
      if (next === 'model') queue.dropModel(endpoint.model); // the provider blamed the request
      if (!hasOtherKey) break;
    }
    queue.fail(endpoint, failure);
  }
  if (poor) return passOnPoor(poor, open);
  throw failure ? withHistory(step, failure) : limited!; // a plan has at least one endpoint
}

/** Passes on a response without the requested output, because no other endpoint had a better one. */
async function passOnPoor<A extends Attempt, C, S extends AttemptSink<C>>(
  { attempt, held }: { attempt: A; held: C[] },
  open: (attempt: A) => S,
): Promise<S> {
  attempt.status = 200;
  attempt.error = undefined;
  const sink = open(attempt);
  await finishOutput(sink, { passing: sink.first.write(held) });
  return sink;
}

/** Waits until the buffered output has been passed on. @throws {GatewayError} if its end never is */
async function finishOutput<C>(sink: AttemptSink<C>, gate: { passing: Promise<void> | undefined }): Promise<void> {
  await gate.passing;
  if (!sink.isFinished) throw new GatewayError('internal', 'A reviser did not pass on the end of the output.');
}

/**
 * Disables the key of a failed attempt for a while if it caused the failure.
 *
 * @returns whether another key is available
 */
const restKey = ({ endpoint, key }: Attempt, failure: GatewayError): boolean =>
  failure.blamesKey && key !== undefined && endpoint.provider.keys.rest(key, failure);

/** Records why the endpoints of a model are not tried. */
function skipModel({ plan, skipped }: Step, model: string, { message }: GatewayError): void {
  for (const endpoint of plan.endpoints) {
    if (endpoint.model === model) skipped.push({ endpoint, code: 'limits', reason: message });
  }
}

/** Returns what may be tried after a failure: the next endpoint, only another model, or nothing. */
function whereNext(failure: GatewayError): 'endpoint' | 'model' | 'nowhere' {
  // A wire that cannot carry a field throws before anything is sent. Another wire may carry it.
  if (failure.retryable || failure.kind === 'invalid_request') return 'endpoint';
  switch (failure.kind) {
    case 'upstream_rejected':
    case 'payload_too_large':
    case 'context_length_exceeded':
    case 'content_policy':
    case 'unprocessable':
      return 'model';
    default:
      return 'nowhere';
  }
}
