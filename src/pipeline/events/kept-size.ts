import type { Chunk, ItemKey } from '../../domain/chunks.ts';
import type { OutputItem } from '../../domain/items.ts';

/** UTF-16 units that an item, a part or an annotation counts besides its texts. */
const OBJECT_UNITS = 1024;

/**
 * Measures what the gateway keeps of a response until the last event, which repeats all of it. A delta counts with its
 * length, everything else with the frame it came in. The envelope around a delta is most of what a provider streams; it
 * is not kept and does not count.
 */
export class KeptSize {
  private units = 0;
  private objects = 0;
  private lastType: Chunk['type'] | undefined;
  private summaryPart: number | undefined;
  /** The item of a native wire that the last delta belongs to, and the units of its deltas. */
  private key: ItemKey | undefined;
  private unitsOfKey = 0;
  private readonly unitsOf = new Map<ItemKey, number>(); // the other open items

  /** @param length of the frame or body that the chunks were read from, in UTF-16 units */
  add(chunks: readonly Chunk[], length: number): void {
    let isWhole = false; // the frame counts
    let counted = 0; // what it repeats
    for (const chunk of chunks) {
      const { type } = chunk;
      if (type !== this.lastType) this.objects++; // a change of kind may begin an item or a part
      this.lastType = type;
      switch (type) {
        case 'text':
          if (chunk.logprobs) isWhole = true;
          counted += this.addDelta(chunk.delta.length, chunk.key);
          break;
        case 'reasoning_summary':
          if (chunk.part !== this.summaryPart) this.objects++;
          this.summaryPart = chunk.part;
          counted += this.addDelta(chunk.delta.length, chunk.key);
          break;
        case 'reasoning':
        case 'refusal':
        case 'tool_call_arguments':
          counted += this.addDelta(chunk.delta.length, chunk.key);
          break;
        case 'part_done': // only what its deltas did not have is new
          counted += this.addDelta(Math.max(0, length - this.unitsOfItem(chunk.key)), chunk.key);
          break;
        case 'item_done':
          isWhole = true;
          counted += this.takeUnitsOf(chunk.key);
          this.objects += 1 + countParts(chunk.item);
          break;
        case 'finish':
          if (chunk.fields && !isWhole) this.units += JSON.stringify(chunk.fields).length;
          break;
        case 'start':
        case 'debug':
        case 'relay': // passed on, not kept
          break;
        default:
          isWhole = true;
          this.objects++;
      }
    }
    if (isWhole) this.units += Math.max(0, length - counted);
  }

  isMoreThan(limit: number): boolean {
    return this.units > limit || this.objects * OBJECT_UNITS > limit;
  }

  private addDelta(length: number, key: ItemKey | undefined): number {
    this.units += length;
    if (key === undefined) return length;
    if (key !== this.key) {
      if (this.key !== undefined) this.unitsOf.set(this.key, this.unitsOfKey);
      this.key = key;
      this.unitsOfKey = this.unitsOf.get(key) ?? 0;
    }
    this.unitsOfKey += length;
    return length;
  }

  private unitsOfItem(key: ItemKey): number {
    return key === this.key ? this.unitsOfKey : (this.unitsOf.get(key) ?? 0);
  }

  /** The finished item repeats its deltas, and takes their place. */
  private takeUnitsOf(key: ItemKey): number {
    if (key === this.key) {
      const units = this.unitsOfKey;
      this.unitsOfKey = 0;
      return units;
    }
    const units = this.unitsOf.get(key) ?? 0;
    this.unitsOf.delete(key);
    return units;
  }
}

/** The parts of a message or of reasoning, and their annotations: each is an event of its own. */
function countParts(item: OutputItem): number {
  let count = 0;
  for (const field of ['content', 'summary']) {
    const parts = item[field];
    if (!Array.isArray(parts)) continue;
    for (const part of parts as ({ annotations?: unknown } | null)[]) {
      count += 1 + (Array.isArray(part?.annotations) ? part.annotations.length : 0);
    }
  }
  return count;
}
