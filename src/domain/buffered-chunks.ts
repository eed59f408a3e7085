import type { Chunk } from './chunks.ts';

/** Maximum characters that a reviser buffers in one attempt. */
export const MAX_BUFFERED_CHARACTERS = 1024 * 1024;

/** A bounded buffer of chunks, for revisers. */
export class BufferedChunks {
  private readonly maxCharacters: number;
  private chunks: Chunk[] = [];
  private characters = 0;

  constructor(maxCharacters = MAX_BUFFERED_CHARACTERS) {
    this.maxCharacters = maxCharacters;
  }

  /** @returns false if there are too many; the reviser must then pass them on */
  add(chunks: readonly Chunk[]): boolean {
    for (const chunk of chunks) {
      this.chunks.push(chunk);
      this.characters += sizeOf(chunk);
    }
    return this.characters <= this.maxCharacters;
  }

  /** Removes and returns all chunks, in order. */
  release(): Chunk[] {
    const { chunks } = this;
    this.chunks = [];
    this.characters = 0;
    return chunks;
  }
}

/** Returns the approximate characters of a chunk. A chunk without text counts as one. */
function sizeOf(chunk: Chunk): number {
  if ('delta' in chunk) return 1 + chunk.delta.length;
  if (chunk.type === 'part_done') return JSON.stringify(chunk.part).length;
  return chunk.type === 'item' || chunk.type === 'item_done' ? JSON.stringify(chunk.item).length : 1;
}
