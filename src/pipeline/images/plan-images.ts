import type { MaybePromise } from '../../domain/maybe-promise.ts';
import { planImageRoute } from '../../routing/plan-route.ts';
import type { ImageAttempt } from '../run/attempt.ts';
import type { ImagePipeline } from '../image-pipeline.ts';
import type { ImageRun } from '../run/image-run.ts';
import { planStep } from '../steps/plan-step.ts';
import type { Step } from '../run/step.ts';

/**
 * Plans the step of an image generation.
 *
 * @returns a promise only if the cost is reserved in another process
 * @throws {GatewayError} if no endpoint is left, or the cost exceeds a spending limit
 */
export const planImages = (pipeline: ImagePipeline, run: ImageRun): MaybePromise<Step<ImageAttempt>> =>
  planStep(pipeline, run, (onRefused) => planImageRoute(run.request, run.caller, pipeline.routingContext(), onRefused));
