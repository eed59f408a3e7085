import type { IncomingMessage } from 'node:http';

/** Bodies up to this size can have secrets. */
export const MAX_SECRET_BODY_BYTES = 262_144;

/** The body of a request as far as it was read. */
export interface ReadBody {
  bytes: Buffer;
  /** Whether that is all. Otherwise the request has the rest. */
  isWhole: boolean;
}

/**
 * Reads the body of a request that may have placeholders. A long or a compressed one has none.
 *
 * @throws if the client disconnects
 */
export async function readRequestBody(request: IncomingMessage): Promise<ReadBody> {
  const { 'content-length': length, 'content-encoding': coding = 'identity' } = request.headers;
  const isReadable = coding.toLowerCase() === 'identity' && !(Number(length) > MAX_SECRET_BODY_BYTES);
  const pieces: Buffer[] = [];
  let size = 0;
  if (!isReadable) return { bytes: Buffer.alloc(0), isWhole: false };
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const add = (piece: Buffer): void => {
    pieces.push(piece);
    size += piece.length;
    if (size > MAX_SECRET_BODY_BYTES) resolve(false);
  };
  const finish = (): void => resolve(true);
  const fail = (): void => reject(new Error('the client has disconnected'));
  request.on('data', add).once('end', finish).once('close', fail);
  try {
    const isWhole = await promise;
    request.pause();
    return { bytes: Buffer.concat(pieces, size), isWhole };
  } finally {
    request.off('data', add).off('end', finish).off('close', fail);
  }
}
