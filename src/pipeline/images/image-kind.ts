import { isImageOutput } from '../../domain/images.ts';
import { createImageAttempt, type ImageAttempt } from '../run/attempt.ts';
import { attemptImage } from './attempt-image.ts';
import type { CheckedImageChunk } from './image-check.ts';
import type { ImagePipeline } from '../image-pipeline.ts';
import type { ImageRun } from '../run/image-run.ts';
import type { RunKind } from '../run/run-kind.ts';

/** The kind of runs that generate images. */
export const imageKind: RunKind<ImageRun, ImageAttempt, CheckedImageChunk, ImagePipeline> = {
  createAttempt: (endpoint, turn, { budget }) => createImageAttempt(endpoint, turn, budget.share()),
  attempt: attemptImage,
  isOutput: ({ request }, chunk) => (request.stream === true ? isImageOutput(chunk) : chunk.type === 'finish'),
  isKept: () => false,
  describeOutcome(_run, { error, dispatchedAt, endedAt, finish }) {
    const atMs = Date.now();
    if (error || dispatchedAt === undefined) return { atMs, error };
    const durationMs = endedAt === undefined ? undefined : endedAt - dispatchedAt;
    return { atMs, error, durationMs, outputTokens: finish?.usage?.outputTokens, toolCalls: 'none' };
  },
};
