import type { Chunk } from './chunks.ts';
import type { Sink } from './sink.ts';

/**
 * Changes the output of a run before the client receives it. It may buffer chunks, and bounds its buffer itself
 * (`BufferedChunks`). Until it passes a chunk on, the run can fall back to another endpoint.
 */
export interface Reviser<Run> {
  /** Called for each attempt. @param out receives the revised chunks, `finish` last */
  open(run: Run, out: Sink<Chunk>): RevisingSink;
}

export interface RevisingSink extends Sink<Chunk> {
  /** Drops the buffer after the attempt has failed. Afterwards, it must not pass anything on. */
  abandon(): void;
}
