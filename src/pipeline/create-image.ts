import { asGatewayError } from '../domain/errors.ts';
import type { ImageEvent } from '../domain/image-events.ts';
import type { Sink } from '../domain/sink.ts';
import { asImageError } from './images/as-image-error.ts';
import { ImageEventStage } from './images/image-event-stage.ts';
import { closeImages } from './images/close-images.ts';
import { imageKind } from './images/image-kind.ts';
import type { ImagePipeline } from './image-pipeline.ts';
import type { ImageRun } from './run/image-run.ts';
import { loadReferences } from './images/load-references.ts';
import { planImages } from './images/plan-images.ts';
import { walkPlan } from './steps/walk-plan.ts';

/**
 * Serves one image generation, from an accepted request to its last image, as `create-response.ts` does for text. Read
 * this file first. A generation is charged completely or not at all, so an interrupted generation is free.
 *
 * @param run comes from `createImageRun`
 * @param client receives partial and finished images; the last one is marked
 * @throws {GatewayError} the failure; if the client has received a part, the caller of this function ends the response
 */
export async function createImage(pipeline: ImagePipeline, run: ImageRun, client: Sink<ImageEvent>): Promise<void> {
  const close = () => closeImages(pipeline, run);
  try {
    const step = await planImages(pipeline, run);
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
