import { type CharSet, MAX_CODE_POINT } from './char-set.ts';

const PAGE = 256;
/** Classes between two pauses. */
const SLICE_CLASSES = 1000;

/**
 * Divides all code points into classes whose members no set of a program distinguishes, so that a table needs one column for
 * each class.
 */
export class Alphabet {
  /** The class that stands for the start and the end of the text. It is in no set. */
  readonly edge: number;
  readonly size: number;
  /** Class of each code point below 256. */
  readonly latin: Uint16Array;
  /** Classes by page of 256 code points. */
  readonly pages: readonly Uint16Array[];
  /** For each set the class of its only character as `-1 - class`, or its bit in the rows of `members`. */
  private readonly places: Int32Array;
  /** A row of bits for each class: the sets of several characters that it is in. */
  private readonly members: Uint32Array;
  /** Words of a row. */
  private readonly width: number;

  private constructor({ pages, rows, places, width }: Division) {
    this.pages = pages;
    this.latin = pages[0]!;
    this.edge = rows.length;
    this.size = rows.length + 1;
    this.places = places;
    this.width = width;
    this.members = new Uint32Array(this.size * width);
    for (const [index, row] of rows.entries()) this.members.set(row, index * width);
  }

  /** Creates an alphabet. Yields where other work may run. */
  static *create(sets: readonly CharSet[]): Generator<void, Alphabet> {
    return new Alphabet(yield* divide(sets));
  }

  classOf(code: number): number {
    return this.pages[code >>> 8]![code & 0xff]!;
  }

  has(set: number, characterClass: number): boolean {
    const place = this.places[set]!;
    if (place < 0) return place === -1 - characterClass;
    return ((this.members[characterClass * this.width + (place >>> 5)]! >>> (place & 31)) & 1) === 1;
  }
}

interface Division {
  pages: Uint16Array[];
  /** The members of each class. */
  rows: Uint32Array[];
  places: Int32Array;
  width: number;
}

const isSingle = (set: CharSet): boolean => set.length === 2 && set[0] === set[1];

/** Sweeps over the bounds of all sets. A class is the list of the sets that its members are in. */
function* divide(sets: readonly CharSet[]): Generator<void, Division> {
  const bounds = listBounds(sets);
  yield;
  const places = new Int32Array(sets.length);
  let count = 0;
  for (const [index, set] of sets.entries()) if (!isSingle(set)) places[index] = count++;
  const width = (count + 31) >>> 5;
  const active = new Uint32Array(width);
  const rows: Uint32Array[] = [];
  const known = new Map<number, number>();
  // Each set has a random number. A class is identified by the exclusive or of the numbers of its sets, which has 52 bits.
  const highs = sets.map(() => Math.floor(Math.random() * 2 ** 32));
  const lows = sets.map(() => Math.floor(Math.random() * 2 ** 20));
  let high = 0;
  let low = 0;
  const pages = new PageWriter();
  for (let index = 0; index <= bounds.length; index++) {
    const isEnd = index === bounds.length;
    const bound = isEnd ? MAX_CODE_POINT + 1 : Math.floor(bounds[index]! / sets.length);
    if (bound > pages.code) {
      const key = (high >>> 0) * 2 ** 20 + low;
      let found = known.get(key);
      if (found === undefined) {
        found = rows.length;
        known.set(key, found);
        rows.push(active.slice());
        if (found % SLICE_CLASSES === SLICE_CLASSES - 1) yield;
      }
      pages.fill(bound, found);
    }
    if (isEnd) break;
    const set = bounds[index]! % sets.length;
    if (!isSingle(sets[set]!)) active[places[set]! >>> 5]! ^= 1 << (places[set]! & 31);
    high ^= highs[set]!;
    low ^= lows[set]!;
  }
  for (const [index, set] of sets.entries()) {
    if (isSingle(set)) places[index] = -1 - pages.list[set[0]! >>> 8]![set[0]! & 0xff]!;
  }
  return { pages: pages.list, rows, places, width };
}

/** Writes the class of each code point. Whole pages of one class are one object. */
class PageWriter {
  readonly list: Uint16Array[] = [];
  code = 0;
  private page = new Uint16Array(PAGE);
  private readonly uniform = new Map<number, Uint16Array>();

  /** Writes a class for all code points before `end` that have none. */
  fill(end: number, value: number): void {
    while (this.code < end) {
      const offset = this.code % PAGE;
      if (offset === 0 && end - this.code >= PAGE) {
        let whole = this.uniform.get(value);
        if (!whole) {
          whole = new Uint16Array(PAGE).fill(value);
          this.uniform.set(value, whole);
        }
        this.list.push(whole);
        this.code += PAGE;
        continue;
      }
      const count = Math.min(end - this.code, PAGE - offset);
      this.page.fill(value, offset, offset + count);
      this.code += count;
      if (this.code % PAGE !== 0) continue;
      this.list.push(this.page);
      this.page = new Uint16Array(PAGE);
    }
  }
}

/** Lists where the ranges of all sets begin and end, ascending: a code point times the number of sets, plus the set. */
function listBounds(sets: readonly CharSet[]): Float64Array {
  const bounds = new Float64Array(sets.reduce((sum, set) => sum + set.length, 0));
  let at = 0;
  for (const [index, set] of sets.entries()) {
    for (let bound = 0; bound < set.length; bound++) {
      bounds[at++] = (set[bound]! + (bound & 1)) * sets.length + index;
    }
  }
  return bounds.sort();
}
