import type { Cancellation } from '../../domain/cancellation.ts';
import type { Outbound } from './outbound.ts';
import { checkImage } from './check-image.ts';
import { explainFetchFailure } from './explain-fetch-failure.ts';

/** What an address of a picture or file was fetched for. */
export interface MediaOptions {
  kind: 'image' | 'file';
  /** Of the field that holds the address, for messages: `input[0].content[1].image_url`. */
  path: string;
  /** What may still be read, in bytes; counted down as it comes. */
  budget: { left: number };
  cancellation: Cancellation;
}

export interface Media {
  bytes: Buffer;
  /** By the bytes where they tell, otherwise as the server says. */
  mediaType: string;
}

/**
 * Fetches what a part of a message points to, and looks at it before it is passed on.
 *
 * @throws {GatewayError} that names the path
 */
export async function fetchMedia(outbound: Outbound, url: string, options: MediaOptions): Promise<Media> {
  const { kind, path, budget, cancellation } = options;
  try {
    const accept = kind === 'image' ? 'image/*' : '*/*';
    const { bytes, contentType } = await outbound.fetchUrl(url, { budget, accept, cancellation });
    if (kind === 'file') return { bytes, mediaType: nameFile(bytes, contentType) };
    return { bytes, mediaType: (await checkImage(bytes, { maxBytes: bytes.length }, cancellation.signal)).mediaType };
  } catch (error) {
    throw explainFetchFailure(error, path, kind);
  }
}

/** Types as RFC 6838 has them; what a server says besides is not repeated in a data URL. */
const typeShape = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

function nameFile(bytes: Buffer, contentType: string): string {
  if (bytes.subarray(0, 1024).includes('%PDF-')) return 'application/pdf'; // readers take some bytes before it
  return typeShape.test(contentType) ? contentType : 'application/octet-stream';
}
