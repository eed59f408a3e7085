import type { Chunk } from './chunks.ts';
import type { Sink } from './sink.ts';

/**
 * Changes the output of a run on its way to the client. It may buffer chunks. Until it passes some of them on, another
 * endpoint can still take over. It bounds its buffer itself (`BufferedChunks`).
 */
export interface Reviser<Run> {
  /** Called for each attempt. @param out receives the revised chunks, `finish` last */
  open(run: Run, out: Sink<Chunk>): RevisingSink;
}

export interface RevisingSink extends Sink<Chunk> {
  /** Drops the buffer after the attempt has failed. Nothing may be passed on afterwards. */
  abandon(): void;
}
