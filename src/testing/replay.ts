import type { Chunk } from '../domain/chunks.ts';
import { type Recording, readRecording } from '../exchanges/recording.ts';
import type { Reader } from '../providers/wire.ts';
import { FrameCutter } from '../providers/sse-frames.ts';

export { type Recording, readRecording };

/**
 * Feeds a recorded stream to a reader in pieces, as from a network.
 *
 * @param size bytes of a piece, 1 or more; several sizes are cycled through
 * @returns the chunks of the whole stream, including those of its end
 */
export function replay<C = Chunk>(url: URL, reader: Reader<C>, size: number | readonly number[] = 1000): C[] {
  return replayBody(readRecording(url).body, reader, size);
}

/** `replay` for bytes in memory. @throws what the reader throws */
export function replayBody<C = Chunk>(body: Buffer, reader: Reader<C>, size: number | readonly number[] = 1000): C[] {
  const sizes = typeof size === 'number' ? [size] : size;
  const cutter = new FrameCutter();
  const chunks: C[] = [];
  for (let from = 0, turn = 0; from < body.length; turn++) {
    const to = from + sizes[turn % sizes.length]!;
    for (const frame of cutter.push(body.subarray(from, to))) chunks.push(...reader.read(frame));
    from = to;
  }
  for (const frame of cutter.end()) chunks.push(...reader.read(frame));
  chunks.push(...reader.end());
  return chunks;
}
