import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { RequestSettings } from '../../domain/request.ts';
import { planRoute } from '../../routing/plan-route.ts';
import type { TextAttempt } from '../run/attempt.ts';
import { describePlan, planStep } from './plan-step.ts';
import type { ResponsePipeline } from '../response-pipeline.ts';
import { buildRequest, type Run } from '../run/run.ts';
import type { Step } from '../run/step.ts';

/**
 * Plans the first step of a response.
 *
 * @param settings of the request that are different in this step
 * @returns a promise only if a model classifies first, or another process reserves the cost
 * @throws {GatewayError} if no endpoint is left, or the cost exceeds a spending limit
 */
export function planResponse(
  pipeline: ResponsePipeline,
  run: Run,
  settings?: Partial<RequestSettings>,
): MaybePromise<Step<TextAttempt>> {
  const plan = (task: string | undefined): MaybePromise<Step<TextAttempt>> => {
    const hints = task === undefined ? {} : { task };
    return planStep(
      pipeline,
      run,
      (onRefused) => planRoute(buildRequest(run), run.caller, pipeline.routingContext(), hints, onRefused),
      settings,
    );
  };
  const task = pipeline.findTask?.(run);
  return task ? task.then(plan) : plan(undefined);
}

/** Adds the route that a blocked run would have had, for its metadata. No model classifies its conversation. */
export const describeRoute = (pipeline: ResponsePipeline, run: Run): void =>
  describePlan(run, (onRefused) => planRoute(buildRequest(run), run.caller, pipeline.routingContext(), {}, onRefused));
