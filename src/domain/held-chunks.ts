import type { Chunk } from './chunks.ts';

/** Characters that a reviser may hold back of one attempt. */
export const MAX_HELD_CHARACTERS = 1024 * 1024;

/** Chunks that a reviser holds back, up to a number of characters. */
export class HeldChunks {
  private readonly maxCharacters: number;
  private chunks: Chunk[] = [];
  private characters = 0;

  constructor(maxCharacters = MAX_HELD_CHARACTERS) {
    this.maxCharacters = maxCharacters;
  }

  /** @returns false if there are too many: the reviser must pass on what it holds */
  hold(chunks: readonly Chunk[]): boolean {
    for (const chunk of chunks) {
      this.chunks.push(chunk);
      this.characters += sizeOf(chunk);
    }
    return this.characters <= this.maxCharacters;
  }

  /** All that is held, in order; afterwards nothing is. */
  release(): Chunk[] {
    const { chunks } = this;
    this.chunks = [];
    this.characters = 0;
    return chunks;
  }
}

/** Characters of a chunk, roughly. A chunk without text counts, too. */
function sizeOf(chunk: Chunk): number {
  if ('delta' in chunk) return 1 + chunk.delta.length;
  if (chunk.type === 'part_done') return JSON.stringify(chunk.part).length;
  return chunk.type === 'item' || chunk.type === 'item_done' ? JSON.stringify(chunk.item).length : 1;
}
