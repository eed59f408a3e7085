import { asGatewayError, GatewayError } from '../../domain/errors.ts';
import type { Sink } from '../../domain/sink.ts';
import { untilCancelled } from '../../domain/until-cancelled.ts';
import { beginAttempt } from '../accounting/close-run.ts';
import { cleanName } from '../attempts/clean-names.ts';
import { dispatch } from '../attempts/exchange.ts';
import type { RetrievalPipeline } from '../retrieval-pipeline.ts';
import type { RetrievalAttempt } from '../run/attempt.ts';
import type { RetrievalFinish, RetrievalRun } from '../run/retrieval-run.ts';
import { CallExchange } from './exchange-calls.ts';
import type { RetrievalTask } from './retrieval-task.ts';
import { writeInFlightRetrieval } from './settle-retrieval.ts';

/**
 * Makes an attempt: splits the request into calls, sends some of them at a time, and joins their results. The attempt
 * fails if one of them does.
 *
 * @param out receives the result, once
 * @throws {GatewayError} the failure; `retryable` if another endpoint may succeed
 */
export async function attemptRetrieval<R extends RetrievalRun, Call, F extends RetrievalFinish>(
  task: RetrievalTask<R, Call, F>,
  pipeline: RetrievalPipeline<R>,
  run: R,
  attempt: RetrievalAttempt,
  out: Sink<F>,
): Promise<void> {
  const { endpoint, memory } = attempt;
  const name = `${endpoint.model} at ${endpoint.provider.name}`;
  const wire = task.findWire(attempt.wire);
  if (!wire) throw new GatewayError('wrong_endpoint', `${name} has no ${task.path}.`, { retryable: true });
  const calls = task.listCalls(run.request, endpoint);
  const exchange = new CallExchange(run, attempt, wire, { name, task, limits: pipeline.limits() });
  const first = exchange.write(calls[0]!); // a request has an input; an invalid one fails before anything is recorded
  const tokens = calls.reduce((sum, call) => sum + task.estimateCall(call), 0);
  try {
    const held = memory.hold(task.expectBytes(run.request));
    if (held) await untilCancelled(held, run.cancellation);
    beginAttempt(pipeline, run, attempt, () => writeInFlightRetrieval(run, attempt, task.apiType, tokens));
    await dispatch(attempt, async () => {
      const finishes = await exchange.runAll(calls, first);
      const result = await task.join(run, finishes).catch((error: unknown) => {
        throw blameProvider(error, endpoint.provider.name);
      });
      const { model } = result;
      attempt.finish = { type: 'finish', usage: attempt.counted[0] };
      if (model !== undefined) attempt.upstreamModel = cleanName(model, endpoint.provider);
      const written = out.write([result]);
      if (written) await written;
    });
  } catch (error) {
    memory.free();
    throw asGatewayError(error);
  }
}

/** A result that contradicts the request is a failure of the provider. */
function blameProvider(error: unknown, name: string): GatewayError {
  if (error instanceof GatewayError) return error;
  const message = `${name} returned an invalid result. ${error instanceof Error ? error.message : ''}`.trim();
  return new GatewayError('upstream_failed', message, { retryable: true, cause: error });
}
