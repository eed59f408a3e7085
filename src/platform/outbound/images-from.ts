import type { Cancellation } from '../../domain/cancellation.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { ImageMediaType, Picture } from '../../domain/images.ts';
import type { Outbound } from './outbound.ts';
import { OutboundError } from './outbound-error.ts';
import { checkPicture } from './picture.ts';
import { tellFailure } from './tell-failure.ts';

/** Pixels of the shorter side of a picture that others are made from. */
const LEAST_EDGE = 16;

/**
 * What image generations need of the open web: the pictures that callers name, and those that providers put elsewhere.
 *
 * @param mayFetch `outbound.fetch`
 */
export function imagesFrom(outbound: Outbound, mayFetch: () => boolean) {
  return {
    references: {
      /** @throws {GatewayError} `image_download_failed`, `image_not_found`, `image_too_large` */
      async fetchReference(url: string, path: string, limitBytes: number, cancellation: Cancellation): Promise<Buffer> {
        if (!mayFetch()) {
          const message = 'This gateway fetches no addresses (outbound.fetch); send the picture as a data URL.';
          throw new GatewayError('invalid_request', `${path}: ${message}`, { errorType: 'image_download_failed' });
        }
        try {
          return (await outbound.fetchUrl(url, { maxBytes: limitBytes, accept: 'image/*', cancellation })).bytes;
        } catch (error) {
          throw tellFailure(error, path, 'image');
        }
      },

      /** Decodes its pixels once. @throws {GatewayError} `invalid_image`, `unsupported_image_format`, `image_too_large`, `image_too_small` */
      async checkReference(
        bytes: Buffer,
        path: string,
        limitBytes: number,
        cancellation: Cancellation,
      ): Promise<Picture> {
        try {
          const limits = { maxBytes: limitBytes, minEdge: LEAST_EDGE };
          const { mediaType, width, height } = await checkPicture(bytes, limits, cancellation.signal);
          return { bytes, mediaType: mediaType as ImageMediaType, width, height }; // of the formats that it takes
        } catch (error) {
          throw tellFailure(error, path, 'image');
        }
      },
    },

    /** What a provider says is its picture: if it cannot be had, that is the provider's failure. @throws {GatewayError} */
    async fetchPicture(url: URL, cancellation: Cancellation, limitBytes: number): Promise<Buffer> {
      try {
        return (await outbound.fetchUrl(url.href, { maxBytes: limitBytes, accept: 'image/*', cancellation })).bytes;
      } catch (error) {
        if (!(error instanceof OutboundError)) throw error;
        const text = `The picture that the provider made cannot be fetched from ${url.host}: ${error.message}`;
        throw new GatewayError('upstream_failed', text, { retryable: true, cause: error });
      }
    },
  };
}
