import { ChildCancellation } from '../domain/child-cancellation.ts';
import type { ImageEvent } from '../domain/image-events.ts';
import type { ImageRequest } from '../domain/images.ts';
import type { Sink } from '../domain/sink.ts';
import { estimateImageTokens } from './accounting/reserved-tokens.ts';
import { createImage } from './create-image.ts';
import type { ImagePipeline } from './image-pipeline.ts';
import { createImageRun } from './run/create-run.ts';
import { createInnerOrigin } from './run/inner-origin.ts';
import { isOverLimit, type RunBase } from './run/run.ts';
import { lastAttemptOf } from './run/step.ts';

/** An image generation that the gateway itself makes to serve a caller's request. */
export interface InnerImageRequest {
  request: ImageRequest;
  timeoutMs: number;
  /** The run that it serves. Its caller is charged. */
  parent: RunBase;
  /** Cancels it. */
  cancellation: RunBase['cancellation'];
}

/** Changes of the request to fit the endpoint. */
export interface ImageAdjustments {
  /** In sentences. */
  clamped: readonly string[];
  /** Names of fields. */
  dropped: readonly string[];
}

/**
 * Serves an inner image generation on the same path as `POST /images`. It is planned for the same caller, and admitted
 * by the limits of its models. It has its own reservation, and its own ledger entry, which names the parent. The
 * response of the parent adds its cost.
 *
 * @param sink receives partial and finished images; the last one is marked
 * @throws {GatewayError} the failure
 */
export async function createInnerImage(
  pipeline: ImagePipeline,
  { request, timeoutMs, parent, cancellation: outer }: InnerImageRequest,
  sink: Sink<ImageEvent>,
): Promise<ImageAdjustments> {
  using cancellation = new ChildCancellation(outer, timeoutMs, `No image was generated within ${timeoutMs} ms.`);
  const origin = createInnerOrigin(parent, cancellation, {
    isInspected: false, // a model has written the prompt
    estimateTokens: () => estimateImageTokens(request),
  });
  const { generationId, modelLimits } = origin;
  const run = createImageRun(pipeline, request, origin);
  try {
    await createImage(pipeline, run, sink);
    const { adjustments = [], droppedFields = [] } = lastAttemptOf(run) ?? {};
    return { clamped: adjustments, dropped: droppedFields };
  } finally {
    lastAttemptOf(run)?.memory.free();
    modelLimits?.end(run.recordedTokens ?? 0, isOverLimit(run));
    parent.innerRuns.push({ generationId, cost: run.cost!, usage: undefined }); // the run is closed
  }
}
