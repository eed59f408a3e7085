import type { Chunk } from '../domain/chunks.ts';

/** Takes each batch of chunks on its way out, in order, and gives what goes on instead. */
export type Reviser = (chunks: Chunk[]) => Chunk[];

/** Runs every batch through the revisers in order; without any, the chunks pass untouched. */
export function reviseChunks(revisers: readonly Reviser[], batches: AsyncIterable<Chunk[]>): AsyncIterable<Chunk[]> {
  return revisers.length === 0 ? batches : reviseEach(revisers, batches);
}

async function* reviseEach(revisers: readonly Reviser[], batches: AsyncIterable<Chunk[]>): AsyncGenerator<Chunk[]> {
  for await (const batch of batches) yield revisers.reduce((chunks, revise) => revise(chunks), batch);
}
