/** Bytes that become base64 at once: a multiple of three, so that the pieces join without padding between them. */
const PIECE_BYTES = 48 * 1024;

/** Letters of base64 that so many bytes have. */
export const base64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4;

/** The base64 of large bytes, piece by piece, so that a second copy of them never exists as a whole. */
export function* base64Pieces(bytes: Buffer): Generator<string> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
    yield bytes.toString('base64', from, Math.min(from + PIECE_BYTES, bytes.length));
  }
}
