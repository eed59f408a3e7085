import { ImageDigest } from '../../domain/image-digest.ts';
import type { EncodedImage } from '../../domain/images.ts';
import type { ImageRun } from '../run/image-run.ts';
import { isLogged } from '../run/run.ts';
import { committedOf } from '../run/step.ts';

/** Records the size of an image in the attempt that generated it, and its digest if the workspace keeps outputs. */
export function noteImage(run: ImageRun, image: EncodedImage): void {
  const { width, height } = image;
  committedOf(run)?.made.push({
    width,
    height,
    ...(isLogged(run) && { digest: new ImageDigest(image) }),
  });
}
