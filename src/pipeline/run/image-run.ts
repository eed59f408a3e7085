import type { EncodedImage, ImageRequest } from '../../domain/images.ts';
import type { Digested, ImageAttempt } from './attempt.ts';
import type { RunBase } from './run.ts';
import type { Step } from './step.ts';

/** The run of an image generation. */
export interface ImageRun extends RunBase {
  readonly request: ImageRequest;
  readonly steps: Step<ImageAttempt>[];
  /** In the order of `input_references`, once they are loaded. */
  references: readonly (EncodedImage & Digested)[];
  /** Whether the response is complete. */
  isComplete: boolean;
}
