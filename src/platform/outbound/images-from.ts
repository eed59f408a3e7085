import type { Cancellation } from '../../domain/cancellation.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { ImageMediaType, EncodedImage } from '../../domain/images.ts';
import { parseImage, MAX_PIXELS } from '../../domain/parse-image.ts';
import type { Outbound } from './outbound.ts';
import { OutboundError } from './outbound-error.ts';
import { checkImage, ImageError, type ImageLimits } from './check-image.ts';
import { explainFetchFailure } from './explain-fetch-failure.ts';

/** Pixels of the shorter side of a reference image. */
const MIN_EDGE = 16;

/** The reader has already enforced the size limit. */
const madeLimits: Partial<ImageLimits> = {
  formats: ['png', 'jpeg', 'webp', 'gif', 'svg'],
  maxBytes: Number.POSITIVE_INFINITY,
};

/**
 * The fetches of image generations: images in URLs of callers, and images that providers return as URLs.
 *
 * @param settings `outbound.fetch` and `images.check`
 */
export function createImageFetchers(outbound: Outbound, settings: () => { fetch: boolean; check: 'decode' | 'head' }) {
  return {
    references: {
      /** @throws {GatewayError} `image_download_failed`, `image_not_found`, `image_too_large` */
      async fetchReference(
        url: string,
        path: string,
        limits: { maxBytes: number; budget: { left: number } },
        { cancellation, check }: { cancellation: Cancellation; check?: ((url: URL) => void) | undefined },
      ): Promise<Buffer> {
        if (!settings().fetch) {
          const message = 'This gateway fetches no URLs (outbound.fetch). Send the image as a data URL.';
          throw new GatewayError('invalid_request', `${path}: ${message}`, { errorType: 'image_download_failed' });
        }
        try {
          return (await outbound.fetchUrl(url, { ...limits, accept: 'image/*', cancellation, check })).bytes;
        } catch (error) {
          throw explainFetchFailure(error, path, 'image');
        }
      },

      /**
       * Decodes the pixels of a reference once.
       *
       * @throws {GatewayError} `invalid_image`, `unsupported_image_format`, `image_too_large`, `image_too_small`
       */
      async checkReference(
        bytes: Buffer,
        path: string,
        limitBytes: number,
        cancellation: Cancellation,
      ): Promise<EncodedImage> {
        try {
          const limits = { maxBytes: limitBytes, minEdge: MIN_EDGE };
          const { mediaType, width, height } = await checkImage(bytes, limits, cancellation.signal);
          return { bytes, mediaType: mediaType as ImageMediaType, width, height }; // one of the accepted formats
        } catch (error) {
          throw explainFetchFailure(error, path, 'image');
        }
      },
    },

    /**
     * Checks the image of a provider with the rules for images of a caller.
     *
     * @param name of the provider, for messages
     * @throws {GatewayError} `upstream_failed`, and the reason of the cancellation
     */
    checkImage(bytes: Buffer, name: string, cancellation: Cancellation): EncodedImage | Promise<EncodedImage> {
      if (settings().check === 'decode') return decodeMade(bytes, name, cancellation);
      const image = parseImage(bytes);
      if (image) return image;
      throw refuseMade(
        name,
        new ImageError('invalid_image', 'It is truncated, malformed, too large or of an unknown format.'),
      );
    },

    /**
     * Fetches the image that a provider returned as a URL. Any failure counts as a failure of the provider.
     *
     * @throws {GatewayError}
     */
    async fetchImage(url: URL, cancellation: Cancellation, limitBytes: number): Promise<Buffer> {
      try {
        return (await outbound.fetchUrl(url.href, { maxBytes: limitBytes, accept: 'image/*', cancellation })).bytes;
      } catch (error) {
        if (!(error instanceof OutboundError)) throw error;
        const text = `The image of the provider cannot be fetched from ${url.host}: ${error.message}`;
        throw new GatewayError('upstream_failed', text, { retryable: true, cause: error });
      }
    },
  };
}

async function decodeMade(bytes: Buffer, name: string, cancellation: Cancellation): Promise<EncodedImage> {
  try {
    const { mediaType, width, height } = await checkImage(bytes, madeLimits, cancellation.signal);
    // A vector image may have no size, or an implausible one.
    const isSized = width > 0 && height > 0 && width * height <= MAX_PIXELS;
    const size = isSized ? { width, height } : { width: undefined, height: undefined };
    return { bytes, mediaType: mediaType as ImageMediaType, ...size }; // one of the formats above
  } catch (error) {
    throw error instanceof ImageError ? refuseMade(name, error) : error;
  }
}

const refuseMade = (name: string, cause: ImageError): GatewayError =>
  new GatewayError('upstream_failed', `The image of ${name} is not passed on. ${cause.message}`, {
    retryable: true,
    cause,
  });
