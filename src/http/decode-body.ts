import type { IncomingMessage } from 'node:http';
import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { GatewayError } from '../domain/errors.ts';

const decoders: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
  ['zstd', createZstdDecompress], // Codex
]);

/** Whether a body is sent without compression. */
export const isUncompressed = (encoding: string | undefined): boolean =>
  encoding === undefined || /^\s*(?:identity)?\s*$/i.test(encoding);

/**
 * Returns the body of a request without its compression. The reader limits its size, and destroys it to stop.
 *
 * @throws {GatewayError} `invalid_request` for an encoding that the gateway does not know
 * @see docs/reference/http.md#bodies
 */
export function decodeBody(raw: IncomingMessage): Readable {
  const { 'content-encoding': encoding } = raw.headers;
  if (isUncompressed(encoding)) return raw;
  const create = decoders.get(encoding!.trim().toLowerCase());
  if (!create) {
    const known = [...decoders.keys()].filter((name) => name !== 'x-gzip').join(', ');
    throw new GatewayError(
      'invalid_request',
      `Content-Encoding is ${encoding!.slice(0, 100)}. Use one of ${known}, or send the body without compression.`,
    );
  }
  const decoder = create();
  decoder.on('error', () => {}); // the reader may have stopped
  raw.once('error', (error) => decoder.destroy(error));
  decoder.once('close', () => raw.unpipe(decoder));
  return raw.pipe(decoder);
}

/** Describes the error of a body whose compression is broken or cut off. Other errors stay as they are. */
export function describeDecoding(error: Error & { code?: string }, raw: IncomingMessage): Error {
  if (error instanceof GatewayError || isUncompressed(raw.headers['content-encoding']) || raw.errored !== null)
    return error;
  const encoding = raw.headers['content-encoding']!.slice(0, 100);
  return new GatewayError('invalid_request', `The body is not valid ${encoding} (Content-Encoding).`, { cause: error });
}
