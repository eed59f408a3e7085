import type { Endpoint } from '../../providers/provider.ts';
import type { Plan } from '../../routing/plan-route.ts';
import type { RetrievalPipeline } from '../retrieval-pipeline.ts';
import type { RetrievalAttempt } from '../run/attempt.ts';
import { applyVerdict } from '../run/inspect-input.ts';
import type { RetrievalFinish, RetrievalRun } from '../run/retrieval-run.ts';
import type { Step } from '../run/step.ts';
import { describePlan, planStep } from '../steps/plan-step.ts';
import type { RetrievalTask } from './retrieval-task.ts';

/**
 * Plans the step, once the input has been inspected.
 *
 * @throws {GatewayError} if the input is blocked, no endpoint is left, or the cost exceeds a spending limit
 */
export async function planRetrieval<R extends RetrievalRun, Call, F extends RetrievalFinish>(
  pipeline: RetrievalPipeline<R>,
  run: R,
  task: Pick<RetrievalTask<R, Call, F>, 'plan'>,
): Promise<Step<RetrievalAttempt>> {
  const plan = (onRefused: (refused: Plan<Endpoint>) => void) =>
    task.plan(run.request, run.caller, pipeline.routingContext(), onRefused);
  try {
    const verdict = pipeline.inspector(run);
    applyVerdict(run, verdict instanceof Promise ? await verdict : verdict, (change) => {
      Object.assign(run.request, change);
    });
  } catch (error) {
    if (run.isBlocked && run.metadata) describePlan(run, plan);
    throw error;
  }
  return planStep(pipeline, run, plan);
}
