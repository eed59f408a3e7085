import type { Chunk } from '../domain/chunks.ts';
import type { Run } from './run.ts';

/** Looks at chunks on their way out and may change, hold back or add some. Sees them in order, a batch at a time. */
export interface Reviser {
  revise(chunks: Chunk[], run: Run): Chunk[];
}

/** Runs every batch through the revisers in order; without any, the chunks pass untouched. */
export function reviseChunks(
  run: Run,
  revisers: readonly Reviser[],
  chunks: AsyncIterable<Chunk[]>,
): AsyncIterable<Chunk[]> {
  return revisers.length === 0 ? chunks : reviseEach(run, revisers, chunks);
}

async function* reviseEach(run: Run, revisers: readonly Reviser[], batches: AsyncIterable<Chunk[]>) {
  for await (const batch of batches) {
    yield revisers.reduce((chunks, reviser) => reviser.revise(chunks, run), batch);
  }
}
