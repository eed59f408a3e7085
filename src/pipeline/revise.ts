import type { Chunk } from '../domain/chunks.ts';
import type { Sink } from '../domain/sink.ts';

/** Takes each batch of chunks on its way out, in order, and gives what goes on instead. */
export type Reviser = (chunks: Chunk[]) => Chunk[];

/** Runs every batch through the revisers in order; without any, the chunks pass untouched. */
export function reviseChunks(revisers: readonly Reviser[], out: Sink<Chunk>): Sink<Chunk> {
  if (revisers.length === 0) return out;
  return { write: (batch) => out.write(revisers.reduce((chunks, revise) => revise(chunks), batch)) };
}
