/** Bytes to encode at once: a multiple of three, so that pieces need no padding. */
const PIECE_BYTES = 48 * 1024;

/** Returns the length of the base64 of a number of bytes. */
export const base64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4;

/** Yields the base64 of large bytes in pieces, so that no complete second copy exists. */
export function* base64Pieces(bytes: Buffer): Generator<string> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
    yield bytes.toString('base64', from, Math.min(from + PIECE_BYTES, bytes.length));
  }
}
