import type { GatewayError } from '../domain/errors.ts';
import type { CompletedImageEvent, ImageEvent } from '../domain/image-events.ts';

/** JSON with the base64 of an image between two texts. */
export interface ImageText {
  head: string;
  /** Undefined: there is no image, and `head` is everything. */
  bytes?: Buffer;
  tail?: string;
}

/** How an API writes generated images. */
export interface ImageShape {
  /** @returns an event with its line end; undefined if the API has no such event */
  writeEvent(event: ImageEvent): ImageText | undefined;
  /** Writes the failure of a stream as an event. */
  writeFailure(error: GatewayError): string;
  /** Writes the entry of an image in a body. */
  writeEntry(event: CompletedImageEvent): ImageText;
  /**
   * Writes the fields around the entries of a body.
   *
   * @param last undefined if there is no image
   */
  writeBody(last: CompletedImageEvent | undefined): { before: object; after: object };
}
