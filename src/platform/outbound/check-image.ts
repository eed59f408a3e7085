import { GatewayError } from '../../domain/errors.ts';
import { MAX_PIXELS } from '../../domain/parse-image.ts';
import { findUnsafeContent } from './check-svg.ts';
import { findImageFormat, mediaTypes, type ImageFileFormat } from './image-format.ts';
import { Semaphore } from './semaphore.ts';

/** Requirements for an image that is passed on. */
export interface ImageLimits {
  formats: readonly ImageFileFormat[];
  maxBytes: number;
  /** Maximum bytes of a vector image, which is text that is parsed on the main thread. */
  maxSvgBytes: number;
  /** Pixels of the shorter and of the longer side. Vector images have none. */
  minEdge: number;
  maxEdge: number;
  /** Maximum pixels of all frames together. */
  maxPixels: number;
}

const imageLimits: ImageLimits = {
  formats: ['png', 'jpeg', 'webp', 'gif'],
  maxBytes: 20 * 1024 * 1024,
  maxSvgBytes: 8 * 1024 * 1024,
  minEdge: 1,
  maxEdge: 16_384,
  maxPixels: MAX_PIXELS,
};

export interface CheckedImage {
  format: ImageFileFormat;
  /** Detected from the bytes, not as declared. */
  mediaType: string;
  /** Pixels. For a vector image the declared ones, or 0. */
  width: number;
  height: number;
  /** More than 1 if the image is animated. */
  frames: number;
}

/** `error_type` of the interface. */
export type ImageFault = 'invalid_image' | 'image_too_large' | 'image_too_small' | 'unsupported_image_format';

/** The reason why an image is rejected. The message is for the caller. */
export class ImageError extends Error {
  readonly fault: ImageFault;

  constructor(fault: ImageFault, message: string) {
    super(message);
    this.name = 'ImageError';
    this.fault = fault;
  }
}

/** Bounds parallel decoding, which is the most expensive operation that a caller can request. */
const decoders = new Semaphore(() => 2);
const DECODE_SECONDS = 10;

/**
 * Checks the bytes of an image: its format, its size, and whether all of it can be decoded. The pixels are not kept.
 *
 * @throws {ImageError} and the reason of the signal
 */
export async function checkImage(
  bytes: Uint8Array,
  limits: Partial<ImageLimits> = {},
  signal?: AbortSignal,
): Promise<CheckedImage> {
  const all = { ...imageLimits, ...limits };
  const format = findImageFormat(bytes);
  const maxBytes = format === 'svg' ? Math.min(all.maxSvgBytes, all.maxBytes) : all.maxBytes;
  if (bytes.length > maxBytes) throw new ImageError('image_too_large', `It is larger than ${maxBytes} bytes.`);
  if (format === undefined) throw new ImageError('invalid_image', 'It is not an image.');
  if (!all.formats.includes(format)) {
    throw new ImageError('unsupported_image_format', `It is ${format}; accepted are ${all.formats.join(', ')}.`);
  }
  const danger = format === 'svg' ? await findUnsafeContent(bytes) : undefined;
  if (danger !== undefined) throw new ImageError('invalid_image', `It contains ${danger}.`);
  using _place = await decoders.take(signal);
  return decode(bytes, format, all);
}

async function decode(bytes: Uint8Array, format: ImageFileFormat, limits: ImageLimits): Promise<CheckedImage> {
  const sharp = await loadSharp();
  const head = await sharp(bytes, { failOn: 'error', limitInputPixels: false }).metadata().catch(unreadable);
  const isIt = head.format === (format === 'avif' || format === 'heic' ? 'heif' : format);
  if (!isIt) throw new ImageError('invalid_image', 'Its content does not match its first bytes.');
  const { width = 0, height = 0, pages: frames = 1 } = head;
  const image: CheckedImage = { format, mediaType: mediaTypes[format], width, height, frames };
  if (format === 'svg') return image; // it is parsed and is not rendered
  const { minEdge, maxEdge, maxPixels } = limits;
  const size = `It is ${width} × ${height} pixels${frames > 1 ? ` in ${frames} frames` : ''}`;
  if (Math.max(width, height) > maxEdge) {
    throw new ImageError('image_too_large', `${size}; the maximum of the longest side is ${maxEdge}.`);
  }
  if (width * height * frames > maxPixels) {
    throw new ImageError('image_too_large', `${size}; the maximum is ${maxPixels} pixels in all.`);
  }
  if (Math.min(width, height) < minEdge) {
    throw new ImageError('image_too_small', `${size}; the minimum of the shortest side is ${minEdge}.`);
  }
  // Decodes to the end, line by line, and discards the pixels. A truncated image fails here.
  const whole = sharp(bytes, {
    failOn: 'error',
    limitInputPixels: maxPixels,
    sequentialRead: true,
    animated: frames > 1,
  });
  await whole.resize(8, 8, { fit: 'fill' }).raw().timeout({ seconds: DECODE_SECONDS }).toBuffer().catch(unreadable);
  return image;
}

function unreadable(error: Error): never {
  // Errors of the library may contain paths, so the caller gets no details.
  throw Object.assign(new ImageError('invalid_image', 'It cannot be decoded.'), { cause: error });
}

let loading: Promise<typeof import('sharp').default> | undefined;

/** Loads the library for the first image. It is a native library of 20 MB, and most gateways never need it. */
function loadSharp(): Promise<typeof import('sharp').default> {
  loading ??= import('sharp').then(
    ({ default: sharp }) => {
      sharp.cache(false); // each image is decoded once, so a cache would only keep the pixels of the last images
      sharp.concurrency(1); // each thread would buffer lines of an image and take a core from the event loop
      return sharp;
    },
    (error) => {
      loading = undefined;
      throw new GatewayError('internal', 'The gateway cannot check images: sharp is missing.', { cause: error });
    },
  );
  return loading;
}
