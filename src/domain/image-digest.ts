import { hash } from 'node:crypto';
import type { EncodedImage } from './images.ts';

/**
 * Describes an image without its content. It is a class, so that a value from a caller or a provider is never mistaken
 * for one.
 */
export class ImageDigest {
  readonly media_type: string;
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly width?: number;
  readonly height?: number;

  constructor({ bytes, mediaType, width, height }: EncodedImage) {
    this.media_type = mediaType;
    this.bytes = bytes.length;
    this.sha256 = hash('sha256', bytes);
    if (width !== undefined) this.width = width;
    if (height !== undefined) this.height = height;
  }
}
