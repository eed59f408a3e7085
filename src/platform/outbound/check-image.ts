import { GatewayError } from '../../domain/errors.ts';
import { MAX_PIXELS } from '../../domain/parse-image.ts';
import { findUnsafeContent } from './check-svg.ts';
import { findImageFormat, mediaTypes, type ImageFileFormat } from './image-format.ts';
import { Semaphore } from './semaphore.ts';

/** What a picture must be to be passed on. */
export interface ImageLimits {
  formats: readonly ImageFileFormat[];
  maxBytes: number;
  /** Of a vector picture, which is text that is searched on our own thread. */
  maxSvgBytes: number;
  /** Pixels of the shorter and of the longer side; vector pictures have none. */
  minEdge: number;
  maxEdge: number;
  /** Of all frames together. */
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
  /** Of the bytes, whatever anybody said. */
  mediaType: string;
  /** Pixels; of a vector picture what it says, 0 when it says nothing. */
  width: number;
  height: number;
  /** More than 1: it moves. */
  frames: number;
}

/** `error_type` of the interface. */
export type ImageFault = 'invalid_image' | 'image_too_large' | 'image_too_small' | 'unsupported_image_format';

/** Why the bytes are no picture that may be passed on. The message may be told to the caller. */
export class ImageError extends Error {
  readonly fault: ImageFault;

  constructor(fault: ImageFault, message: string) {
    super(message);
    this.name = 'ImageError';
    this.fault = fault;
  }
}

/** Decoding is the dearest thing that a caller can ask of the gateway: never more than these at once. */
const decoders = new Semaphore(() => 2);
const DECODE_SECONDS = 10;

/**
 * Looks at the bytes of a picture: what it is, how large, and whether all of it can be read. The pixels are not kept.
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
  if (format === undefined) throw new ImageError('invalid_image', 'It is no picture.');
  if (!all.formats.includes(format)) {
    throw new ImageError('unsupported_image_format', `It is ${format}; what is taken is ${all.formats.join(', ')}.`);
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
  if (!isIt) throw new ImageError('invalid_image', 'It is not what its first bytes say.');
  const { width = 0, height = 0, pages: frames = 1 } = head;
  const image: CheckedImage = { format, mediaType: mediaTypes[format], width, height, frames };
  if (format === 'svg') return image; // it was parsed; nobody draws it here
  const { minEdge, maxEdge, maxPixels } = limits;
  const size = `It is ${width} × ${height} pixels${frames > 1 ? ` in ${frames} frames` : ''}`;
  if (Math.max(width, height) > maxEdge) {
    throw new ImageError('image_too_large', `${size}; the longest side may be ${maxEdge}.`);
  }
  if (width * height * frames > maxPixels) {
    throw new ImageError('image_too_large', `${size}; ${maxPixels} pixels in all may be.`);
  }
  if (Math.min(width, height) < minEdge) {
    throw new ImageError('image_too_small', `${size}; the shortest side must be ${minEdge}.`);
  }
  // Read to its end, line by line, and thrown away: a picture that was cut ends here.
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
  // What the library says may hold paths; the caller learns no more than that it did not work.
  throw Object.assign(new ImageError('invalid_image', 'It cannot be decoded.'), { cause: error });
}

let loading: Promise<typeof import('sharp').default> | undefined;

/** Loaded when the first picture comes: it is a native library of 20 MB, and most gateways never see one. */
function loadSharp(): Promise<typeof import('sharp').default> {
  loading ??= import('sharp').then(
    ({ default: sharp }) => {
      sharp.cache(false); // every picture is seen once; the cache would hold the pixels of the last ones
      sharp.concurrency(1); // threads of one picture hold lines of it each, and take the cores from the event loop
      return sharp;
    },
    (error) => {
      loading = undefined;
      throw new GatewayError('internal', 'The gateway cannot look at pictures: sharp is missing.', { cause: error });
    },
  );
  return loading;
}
