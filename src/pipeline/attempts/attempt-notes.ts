import type { Chunk, ItemKey } from '../../domain/chunks.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { Sink } from '../../domain/sink.ts';
import type { TextAttempt } from '../run/attempt.ts';

/**
 * Notes on an attempt what its chunks say of it as a whole. It stands before everything that may hold output back or change
 * it, so that what was produced is counted as the provider produced it.
 */
export class AttemptNotes implements Sink<Chunk> {
  private readonly attempt: TextAttempt;
  private readonly out: Sink<Chunk>;
  /** Characters of deltas by item, on wires that have items of their own. */
  private lengths: Map<ItemKey, number> | undefined;

  constructor(attempt: TextAttempt, out: Sink<Chunk>) {
    this.attempt = attempt;
    this.out = out;
  }

  write(chunks: Chunk[]): Promise<void> | undefined {
    for (const chunk of chunks) this.note(chunk);
    return this.out.write(chunks);
  }

  private note(chunk: Chunk): void {
    switch (chunk.type) {
      case 'text':
      case 'tool_call_arguments':
      case 'reasoning':
      case 'reasoning_summary':
      case 'refusal':
        this.attempt.producedLength += chunk.delta.length;
        if (chunk.key !== undefined) this.addTo(chunk.key, chunk.delta.length);
        break;
      case 'item_done':
        this.addRest(chunk.key, lengthOf(chunk.item));
        break;
      case 'part_done':
        this.addRest(chunk.key, lengthOfParts([chunk.part]));
        break;
      case 'start':
        if (chunk.model !== undefined) this.attempt.upstreamModel = chunk.model;
        break;
      case 'finish':
        this.attempt.finish = chunk;
        if (chunk.dropped) this.attempt.droppedUpstreamFields = chunk.dropped;
        break;
    }
  }

  /** Adds what no delta of the item contained. */
  private addRest(key: ItemKey, length: number): void {
    const rest = length - (this.lengths?.get(key) ?? 0);
    if (rest <= 0) return;
    this.attempt.producedLength += rest;
    this.addTo(key, rest);
  }

  private addTo(key: ItemKey, length: number): void {
    this.lengths ??= new Map();
    this.lengths.set(key, (this.lengths.get(key) ?? 0) + length);
  }
}

/** Characters of text, reasoning, arguments and input in a finished item. */
function lengthOf(item: OutputItem): number {
  const { content, summary, arguments: text, input } = item as Record<string, unknown>;
  return lengthOfParts(content) + lengthOfParts(summary) + lengthOfText(text) + lengthOfText(input);
}

const lengthOfParts = (parts: unknown): number =>
  Array.isArray(parts)
    ? parts.reduce((sum: number, part: Record<string, unknown> | null) => {
        return sum + lengthOfText(part?.['text']) + lengthOfText(part?.['refusal']);
      }, 0)
    : 0;

const lengthOfText = (value: unknown): number => (typeof value === 'string' ? value.length : 0);
