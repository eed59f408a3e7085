import type { ImageEvent } from '../../domain/image-events.ts';
import type { EncodedImage } from '../../domain/images.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Sink } from '../../domain/sink.ts';

/** Receives the events of an image generation with one image. */
export class ImageCollector implements Sink<ImageEvent> {
  /** The finished image. Undefined until it arrives. */
  image: EncodedImage | undefined;
  private readonly onPartial: ((bytes: Buffer, index: number) => MaybePromise<void>) | undefined;

  constructor(onPartial: ImageCollector['onPartial']) {
    this.onPartial = onPartial;
  }

  async write(events: ImageEvent[]): Promise<void> {
    for (const event of events) {
      if (event.type === 'image_generation.completed') this.image = event.image;
      else if (event.type === 'image_generation.partial_image') {
        await this.onPartial?.(event.bytes, event.partial_image_index);
      }
    }
  }
}
