import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Endpoint } from '../../providers/provider.ts';
import type { Plan } from '../../routing/plan-route.ts';
import type { Attempt } from '../run/attempt.ts';
import { explainModelDefault } from './explain-model-default.ts';
import type { PipelineBase } from '../pipeline.ts';
import type { RunBase } from '../run/run.ts';
import { createStep, type Step } from '../run/step.ts';

/**
 * Plans the first step of a run and reserves its maximum cost. If the reservation is rejected, the run has no such
 * step, so the metadata shows no route.
 *
 * @param plan plans the route; `onRefused` gets the explanation if no endpoint is left
 * @param settings of the request that are different in this step
 * @returns a promise only if another process reserves the cost
 * @throws {GatewayError} if no endpoint is left, or the cost exceeds a spending limit
 */
export function planStep<A extends Attempt, R extends RunBase & { readonly steps: Step<A>[] }>(
  pipeline: PipelineBase<R>,
  run: R,
  plan: (onRefused: (refused: Plan<Endpoint>) => void) => Plan<Endpoint>,
  settings?: Step['settings'],
): MaybePromise<Step<A>> {
  if (run.metadata) run.unknownProviders = pipeline.findUnknownProviders?.(run);
  let made: Plan<Endpoint>;
  try {
    made = plan((refused) => run.steps.push(createStep(refused)));
  } catch (error) {
    throw explainModelDefault(error, run);
  }
  const begin = (reservation: RunBase['reservation']): Step<A> => {
    run.reservation ??= reservation;
    run.stages.push(...made.stages);
    const step = createStep<A>(made, settings && { settings });
    run.steps.push(step);
    return step;
  };
  const reserved = pipeline.reserve?.(run, made);
  return reserved instanceof Promise ? reserved.then(begin) : begin(reserved);
}

/** Adds the step that a blocked run would have had. Nothing is reserved or sent. */
export function describePlan<A extends Attempt>(
  run: RunBase & { readonly steps: Step<A>[] },
  plan: (onRefused: (refused: Plan<Endpoint>) => void) => Plan<Endpoint>,
): void {
  try {
    const made = plan((refused) => run.steps.push(createStep(refused)));
    run.steps.push(createStep(made));
  } catch {
    // the run has an error already
  }
}
