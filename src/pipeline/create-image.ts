import { asGatewayError } from '../domain/errors.ts';
import type { ImageEvent } from '../domain/image-events.ts';
import type { Sink } from '../domain/sink.ts';
import { planImageRoute } from '../routing/plan-route.ts';
import { asImageError } from './as-image-error.ts';
import { ImageEventStage } from './build-image-events.ts';
import { closeRun } from './close-run.ts';
import { imageKind } from './image-kind.ts';
import { loadReferences } from './load-references.ts';
import type { ImagePipeline } from './pipeline.ts';
import { planStep } from './plan-step.ts';
import type { ImageRun } from './run.ts';
import { createImageEntry } from './settle-images.ts';
import { walkPlan } from './walk-plan.ts';

/**
 * One image generation, from an accepted request to its last picture: what `create-response.ts` is for text. Read this
 * file first. A generation is paid for whole or not at all, so that whatever breaks it makes it free.
 *
 * @param run what `createImageRun` made of the request
 * @param client takes partial pictures and finished ones; the last says so
 * @throws {GatewayError} everything that went wrong; whoever has told the client of a beginning tells it of this end
 */
export async function createImage(pipeline: ImagePipeline, run: ImageRun, client: Sink<ImageEvent>): Promise<void> {
  const close = () => closeRun(pipeline, run, createImageEntry);
  try {
    const step = await planStep(pipeline, run, (onRefused) =>
      planImageRoute(run.request, run.caller, pipeline.routingContext(), onRefused),
    );
    await loadReferences(run, { ...pipeline.references, ...pipeline.limits() });
    const stage = new ImageEventStage(run, { region: pipeline.region(), close }, client);
    await walkPlan(pipeline, run, step, imageKind, () => stage);
  } catch (error) {
    run.error = asImageError(asGatewayError(error));
    throw run.error;
  } finally {
    const recorded = close();
    if (recorded) await recorded;
  }
}
