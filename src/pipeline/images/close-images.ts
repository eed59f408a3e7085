import type { MaybePromise } from '../../domain/maybe-promise.ts';
import { closeRun } from '../accounting/close-run.ts';
import type { ImagePipeline } from '../image-pipeline.ts';
import type { ImageRun } from '../run/image-run.ts';
import { createImageEntry } from './settle-images.ts';

/**
 * Records the run. Idempotent.
 *
 * @returns a promise only if the entry must be on disk before the client has the whole response
 */
export const closeImages = (pipeline: ImagePipeline, run: ImageRun): MaybePromise<void> =>
  closeRun(pipeline, run, createImageEntry);
