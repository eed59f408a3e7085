import type { Chunk, ItemKey } from '../../domain/chunks.ts';
import type { OutputItem } from '../../domain/items.ts';

/** UTF-16 units that an item, a part or an annotation counts in addition to its texts. */
const OBJECT_UNITS = 1024;

/** UTF-16 units of an open item: in total, and in the part that was last in progress, which has this index. */
interface ItemUnits {
  total: number;
  part: number;
  index: number | undefined;
}

/** The units before the first item. Never modified, because `select` replaces them first. */
const noItem: ItemUnits = { total: 0, part: 0, index: undefined };

/**
 * Measures the data that the gateway retains until the last event, which repeats all of it. A delta counts with its
 * length, everything else with the length of its frame. The envelope around a delta is most of a stream. It is not
 * retained and does not count.
 */
export class KeptSize {
  private units = 0;
  private objects = 0;
  private lastType: Chunk['type'] | undefined;
  private summaryPart: number | undefined;
  /** The item of a native wire that the last chunk belongs to. */
  private key: ItemKey | undefined;
  private item: ItemUnits = noItem;
  private items: Map<ItemKey, ItemUnits> | undefined; // open items; only on native wires

  /** @param before size of the earlier turns of a response, which are retained as well */
  constructor(before?: KeptSize) {
    if (!before) return;
    this.units = before.units;
    this.objects = before.objects;
  }

  /** @param length of the frame or body that the chunks were read from, in UTF-16 units */
  add(chunks: readonly Chunk[], length: number): void {
    let isWhole = false; // whether the frame counts
    let counted = 0; // units that it repeats
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
        case 'item_suspended':
        case 'relay': // passed on, not retained
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

  /** Adds the text of a part that its deltas did not contain. The events that end a part repeat each other. */
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
    this.items ??= new Map();
    const known = this.items.get(key);
    this.item = known ?? { total: 0, part: 0, index: undefined };
    if (!known) this.items.set(key, this.item);
  }

  /** Returns the units of an item's deltas, which the finished item repeats and replaces. */
  private take(key: ItemKey): number {
    const units = this.items?.get(key)?.total ?? 0;
    this.items?.delete(key);
    if (key === this.key) this.key = undefined;
    return units;
  }
}

/** Counts the parts of a message or of reasoning, and their annotations: each is a separate event. */
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
