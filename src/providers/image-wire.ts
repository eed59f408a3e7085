import type { GatewayError } from '../domain/errors.ts';
import type { EndpointImageRequest, ImageChunk, ImageFacts } from '../domain/images.ts';
import type { Frame, Reader, Target, UpstreamErrorResponse } from './wire.ts';

/**
 * Generates images: the `image` of a `Wire`. All functions are synchronous translation without I/O.
 * `pipeline/images/attempt-image.ts` runs them over `transport.ts`.
 *
 * - **Capabilities**: `facts` are the defaults. The catalog and the configuration override them. The request already
 *   fits the capabilities of the endpoint (`pipeline/images/fit-image.ts`), so a wire need not clamp anything.
 * - **Images are bytes**: `decodeImage` in `kit/image-text.ts` decodes base64. The pipeline finds the media type in the
 *   content, for all wires. Content that is not an image fails the attempt.
 * - **Polling**: the response to a submission is a `Poll`, which is pure data. After `afterMs`, the pipeline requests
 *   its URL and calls `readWhole` with the response, until `readWhole` returns chunks. For an image at a URL, the chunk
 *   is an `image_link`, and the pipeline fetches the URL.
 *
 * To add one, write a file or folder with an `ImageWire`, the `image` of its wire, recordings, and a test that calls
 * `testImageWire` of `image-contract.ts`.
 */
export interface ImageWire<ReaderContext = unknown> {
  /** The capabilities of an endpoint if neither the catalog nor the configuration describes it. */
  readonly facts: ImageFacts;
  /** The capabilities of one model, if models of the protocol differ. */
  factsOf?(upstreamModel: string): ImageFacts;
  /**
   * Other hosts that `Poll.url` may point to, as suffixes: `.example.com`. They receive the key. The base URL's host is
   * always allowed.
   */
  readonly pollHosts?: readonly string[];
  /**
   * Translates a request.
   *
   * @throws {GatewayError} `invalid_request` naming field and endpoint, if the wire cannot carry a field and omitting
   *   it would change the meaning. Fields that are harmless to omit are listed in `dropped`.
   */
  writeRequest(request: EndpointImageRequest, target: Target): ImageUpstreamRequest<ReaderContext>;
  /** Creates the reader of a streamed response. Absent: the wire never requests a stream. */
  createReader?(readerContext: ReaderContext): Reader<ImageChunk>;
  /**
   * Reads a buffered response (parsed JSON) into the chunks that a stream of the same response would give, or returns
   * how to poll.
   *
   * @throws {GatewayError} `upstream_failed` if the body is invalid, or the error that the body reports
   */
  readWhole(body: unknown, readerContext: ReaderContext): ImageChunk[] | Poll;
  /** Interprets a status other than 2xx. Absent: the wire's `readError` is used. */
  readError?(response: UpstreamErrorResponse): GatewayError;
  /** Responds inside this process, without the network. Requires `createReader`. */
  readonly send?: (request: ImageUpstreamRequest<ReaderContext>, signal: AbortSignal) => AsyncIterable<Frame[]>;
}

export interface ImageUpstreamRequest<ReaderContext = unknown> {
  /** Appended to the provider's base URL: `/images/generations`. */
  path: string;
  headers?: Record<string, string>;
  /** A JSON object, or the fields of a form. */
  body: Record<string, unknown> | FormField[];
  /** Request fields that the wire cannot carry, for the metadata. */
  dropped: string[];
  readerContext: ReaderContext;
}

/** A field of `multipart/form-data`: text or a file. */
export interface FormField {
  name: string;
  value: string | { bytes: Buffer; mediaType: string; fileName: string };
}

/** The image is not finished yet. */
export interface Poll {
  type: 'poll';
  /** Milliseconds to wait before the request. */
  afterMs: number;
  method?: 'GET' | 'POST';
  /** A path under the base URL, or a complete URL from the provider. Absent: the URL of the last request. */
  path?: string;
  url?: string;
}

/** Keeps the type of `ReaderContext` between the functions of one wire and hides it from all others. */
export function defineImageWire<ReaderContext>(image: ImageWire<ReaderContext>): ImageWire {
  // Only the wire that created a reader context receives it, so dropping its type is safe.
  return image as unknown as ImageWire;
}
