import type { Endpoint } from '../../providers/provider.ts';
import { type Plan, planImageRoute } from '../../routing/plan-route.ts';
import type { ImageAttempt } from '../run/attempt.ts';
import type { ImagePipeline } from '../image-pipeline.ts';
import type { ImageRun } from '../run/image-run.ts';
import { inspectPrompt } from '../run/inspect-input.ts';
import { describePlan, planStep } from '../steps/plan-step.ts';
import type { Step } from '../run/step.ts';

/**
 * Plans the step of an image generation, once its prompt has been inspected.
 *
 * @throws {GatewayError} if the prompt is blocked, no endpoint is left, or the cost exceeds a spending limit
 */
export async function planImages(pipeline: ImagePipeline, run: ImageRun): Promise<Step<ImageAttempt>> {
  const plan = (onRefused: (refused: Plan<Endpoint>) => void) =>
    planImageRoute(run.request, run.caller, pipeline.routingContext(), onRefused);
  try {
    const inspected = inspectPrompt(run, pipeline.inspector);
    if (inspected) await inspected;
  } catch (error) {
    if (run.isBlocked && run.metadata) describePlan(run, plan);
    throw error;
  }
  return planStep(pipeline, run, plan);
}
