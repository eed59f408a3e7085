import { GatewayError } from '../domain/errors.ts';
import type { EndpointImageRequest, ImageChunk, ImageFacts } from '../domain/images.ts';
import type { Frame, Reader, Target, UpstreamErrorResponse, Wire } from './wire.ts';

/**
 * How a wire makes pictures: the `image` of a `Wire`, beside its text functions. All of it is pure translation;
 * `pipeline/images/attempt-image.ts` does what it says over `transport.ts`.
 *
 * **What an endpoint can do** is told by `facts`, over which the catalogue and the configuration speak. The request has
 * been fitted to that before a wire sees it (`pipeline/images/fit-image.ts`), so a wire need not clamp anything.
 *
 * **Pictures are bytes**: `decodeImage` in `kit/image-text.ts` decodes base64. What they are is made out from their
 * content, later and for all wires; a picture that is none fails the attempt.
 *
 * **Hosts that are polled** answer the submission with a `Poll`, pure data: after `afterMs` the pipeline asks for that
 * address, and the next answer goes to `readWholeImage` again, until it gives chunks. Where the picture lies at a URL, the
 * chunk is an `image_link`, and the pipeline fetches it.
 *
 * To add one: a file or folder with an `ImageWire`, named in the `image` of its wire (`defineImageOnlyWire` for a protocol
 * that has no text), recordings, and a test that calls `testImageWire` of `image-contract.ts`.
 */
export interface ImageWire<ReaderContext = unknown> {
  /** What an endpoint of this wire can do, where neither catalogue nor configuration say. */
  readonly facts: ImageFacts;
  /** The same for one model, where the protocol is not the same for all. */
  factsOf?(upstreamModel: string): ImageFacts;
  /** Other hosts that `Poll.url` may lead to, as suffixes: `.example.com`. The key goes there. The base URL's own always may. */
  readonly pollHosts?: readonly string[];
  /**
   * Translates a request.
   *
   * @throws {GatewayError} `invalid_request` naming field and endpoint, when the wire cannot carry a field and leaving
   *   it out would change the meaning. What is harmless to leave out is listed in `dropped`.
   */
  writeImageRequest(ask: EndpointImageRequest, target: Target): ImageUpstreamRequest<ReaderContext>;
  /** Reads a streamed answer. Absent: the wire never asks for one. */
  createImageReader?(readerContext: ReaderContext): Reader<ImageChunk>;
  /**
   * Reads a whole answer (parsed JSON) into the chunks a stream of the same answer would give, or says what to ask next.
   *
   * @throws {GatewayError} `upstream_failed` when the body makes no sense, or what the body says when it is an error
   */
  readWholeImage(body: unknown, readerContext: ReaderContext): ImageChunk[] | Poll;
  /** What a status other than 2xx means; absent: as the wire reads it. */
  readError?(answer: UpstreamErrorResponse): GatewayError;
  /** For a provider inside this process: answers in place of the network. */
  readonly answerImage?: (request: ImageUpstreamRequest<ReaderContext>, signal: AbortSignal) => AsyncIterable<Frame[]>;
}

export interface ImageUpstreamRequest<ReaderContext = unknown> {
  /** Appended to the provider's base URL: `/images/generations`. */
  path: string;
  headers?: Record<string, string>;
  /** JSON, or the fields of a form. */
  body: Record<string, unknown> | FormField[];
  /** Request fields left out because the wire has no place for them; for the metadata. */
  dropped: string[];
  readerContext: ReaderContext;
}

/** A field of `multipart/form-data`: a text, or a file. */
export interface FormField {
  name: string;
  value: string | { bytes: Buffer; mediaType: string; fileName: string };
}

/** The picture is not there yet. */
export interface Poll {
  type: 'poll';
  /** Milliseconds to wait first. */
  afterMs: number;
  method?: 'GET' | 'POST';
  /** A path under the base URL, or a whole URL that the provider gave. Neither: where it was asked before. */
  path?: string;
  url?: string;
}

/** Keeps the type of `ReaderContext` between the functions of one wire and hides it from everybody else. */
export function defineImageWire<ReaderContext>(wire: ImageWire<ReaderContext>): ImageWire {
  // The reading of a wire only ever goes back to the wire that made it, so forgetting its type is safe.
  return wire as unknown as ImageWire;
}

/** A wire that makes pictures and nothing else: whatever else it is asked, it refuses. */
export function defineImageOnlyWire(
  wire: Pick<Wire, 'id' | 'authorize' | 'readError'> &
    Partial<Pick<Wire, 'checkDialect' | 'headers'>> & { image: ImageWire },
): Wire {
  const refuse = (): never => {
    throw new GatewayError(
      'wrong_endpoint',
      `The wire ${wire.id} makes pictures only: send the request to POST /images.`,
    );
  };
  return { ...wire, generatesText: false, writeRequest: refuse, createReader: refuse, readWhole: refuse };
}
