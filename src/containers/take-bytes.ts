/**
 * Yields the first bytes of a stream, and ends it. A file can grow while it is read.
 *
 * @param max 1 or more
 */
export async function* takeBytes(content: AsyncIterable<Uint8Array>, max: number): AsyncGenerator<Uint8Array> {
  let left = max;
  for await (const piece of content) {
    yield piece.length > left ? piece.subarray(0, left) : piece;
    left -= piece.length;
    if (left <= 0) return;
  }
}
