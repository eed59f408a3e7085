import type { Chunk, ItemKey } from '../../domain/chunks.ts';
import type { OutputItem } from '../../domain/items.ts';

/** UTF-16 units that an item, a part or an annotation counts in addition to its texts. */
const OBJECT_UNITS = 1024;

/** UTF-16 units of an open item: in all, and in the part of this index that was last in progress. */
interface ItemUnits {
  total: number;
  part: number;
  index: number | undefined;
}

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
  /** The item of a native wire that the last chunk belongs to. */
  private key: ItemKey | undefined;
  private item: ItemUnits = { total: 0, part: 0, index: undefined };
  private readonly items = new Map<ItemKey, ItemUnits>(); // open items

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
          if (chunk.part !== this.summaryPart) {
            this.objects++;
            if (chunk.key !== undefined) this.beginPart(chunk.key);
          }
          this.summaryPart = chunk.part;
          counted += this.addDelta(chunk.delta.length, chunk.key);
          break;
        case 'reasoning':
        case 'refusal':
        case 'tool_call_arguments':
          counted += this.addDelta(chunk.delta.length, chunk.key);
          break;
        case 'part':
          isWhole = true;
          this.objects++;
          this.beginPart(chunk.key);
          break;
        case 'part_done':
          this.addPart(chunk.key, chunk.index, length);
          break;
        case 'item_done':
          isWhole = true;
          counted += this.take(chunk.key);
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
    this.select(key);
    this.item.total += length;
    this.item.part += length;
    return length;
  }

  /** Adds what the deltas of a part did not contain. The events that end it repeat each other. */
  private addPart(key: ItemKey, index: number | undefined, length: number): void {
    this.select(key);
    const { item } = this;
    if (item.index !== undefined && item.index !== index) {
      item.part = 0;
      this.objects++;
    }
    item.index = index;
    this.addDelta(Math.max(0, length - item.part), key);
  }

  private beginPart(key: ItemKey): void {
    this.select(key);
    this.item.part = 0;
    this.item.index = undefined;
  }

  private select(key: ItemKey): void {
    if (key === this.key) return;
    this.key = key;
    const known = this.items.get(key);
    this.item = known ?? { total: 0, part: 0, index: undefined };
    if (!known) this.items.set(key, this.item);
  }

  /** The finished item repeats its deltas, and takes their place. */
  private take(key: ItemKey): number {
    const units = this.items.get(key)?.total ?? 0;
    this.items.delete(key);
    if (key === this.key) this.key = undefined;
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
