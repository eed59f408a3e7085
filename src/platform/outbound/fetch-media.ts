import type { Cancellation } from '../../domain/cancellation.ts';
import type { Outbound } from './outbound.ts';
import { checkImage } from './check-image.ts';
import { explainFetchFailure } from './explain-fetch-failure.ts';

/** The purpose of a fetch of an image or file. */
export interface MediaOptions {
  kind: 'image' | 'file';
  /** The field with the URL, for messages: `input[0].content[1].image_url`. */
  path: string;
  /** Bytes that may still be read. Reduced while data arrives. */
  budget: { left: number };
  cancellation: Cancellation;
  /** Called for each URL before it is requested, also after a redirect. @throws to end the fetch */
  check?: ((url: URL) => void) | undefined;
}

export interface Media {
  bytes: Buffer;
  /** Detected from the bytes if possible, otherwise declared by the server. */
  mediaType: string;
}

/**
 * Fetches the URL in a part of a message, and checks the result before it is passed on.
 *
 * @throws {GatewayError} that names the path
 */
export async function fetchMedia(outbound: Outbound, url: string, options: MediaOptions): Promise<Media> {
  const { kind, path, budget, cancellation, check } = options;
  try {
    const accept = kind === 'image' ? 'image/*' : '*/*';
    const { bytes, contentType } = await outbound.fetchUrl(url, { budget, accept, cancellation, check });
    if (kind === 'file') return { bytes, mediaType: nameFile(bytes, contentType) };
    return { bytes, mediaType: (await checkImage(bytes, { maxBytes: bytes.length }, cancellation.signal)).mediaType };
  } catch (error) {
    throw explainFetchFailure(error, path, kind);
  }
}

/** Media types of RFC 6838. Anything else from a server is not repeated in a data URL. */
const typeShape = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

function nameFile(bytes: Buffer, contentType: string): string {
  // Readers accept some bytes before the signature.
  if (bytes.subarray(0, 1024).includes('%PDF-')) return 'application/pdf';
  return typeShape.test(contentType) ? contentType : 'application/octet-stream';
}
