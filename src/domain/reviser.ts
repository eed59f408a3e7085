import type { Chunk } from './chunks.ts';
import type { Sink } from './sink.ts';

/**
 * Changes the output of a run on its way to the client. It may hold chunks back: until it passes some of them on, another
 * endpoint can still take over. Whatever it holds back is bounded by itself (`HeldChunks`).
 */
export interface Reviser<Run> {
  /** Called for each attempt. @param out takes what is to go on, the `finish` last */
  open(run: Run, out: Sink<Chunk>): RevisingSink;
}

export interface RevisingSink extends Sink<Chunk> {
  /** The attempt has failed: what is held back is dropped, and nothing may be passed on any more. */
  abandon(): void;
}
