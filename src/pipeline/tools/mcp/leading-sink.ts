import type { Chunk } from '../../../domain/chunks.ts';
import type { Sink } from '../../../domain/sink.ts';

/**
 * Writes chunks in front of the first output. Until then the client has seen nothing, so that a failure of all providers
 * keeps its HTTP status.
 */
export class LeadingSink implements Sink<Chunk> {
  private readonly out: Sink<Chunk>;
  private leading: Chunk[];

  constructor(leading: Chunk[], out: Sink<Chunk>) {
    this.leading = leading;
    this.out = out;
  }

  /** Number of chunks that have not been written. */
  get waiting(): number {
    return this.leading.length;
  }

  write(chunks: Chunk[]): Promise<void> | undefined {
    if (this.leading.length === 0 || chunks.length === 0) return this.out.write(chunks);
    const all = [...this.leading, ...chunks];
    this.leading = [];
    return this.out.write(all);
  }
}
