import { type CharSet, MAX_CODE_POINT, rangesOf } from './char-set.ts';

const PAGE = 256;

/**
 * Divides all code points into classes whose members no set of a program tells apart, so that a table needs one column for
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
  private readonly members: Uint8Array;

  constructor(sets: readonly CharSet[]) {
    const { pages, classes } = divide(sets);
    this.pages = pages;
    this.latin = pages[0]!;
    this.edge = classes.length;
    this.size = classes.length + 1;
    this.members = new Uint8Array(sets.length * this.size);
    for (const [index, active] of classes.entries()) {
      for (const set of active) this.members[set * this.size + index] = 1;
    }
  }

  classOf(code: number): number {
    return this.pages[code >>> 8]![code & 0xff]!;
  }

  has(set: number, characterClass: number): boolean {
    return this.members[set * this.size + characterClass] === 1;
  }
}

/** Sweeps over the bounds of all sets. A class is the list of the sets that its members are in. */
function divide(sets: readonly CharSet[]): { pages: Uint16Array[]; classes: number[][] } {
  const bounds = new Map<number, number[]>(); // code point → sets that begin or end there
  for (const [index, set] of sets.entries()) {
    for (const [first, last] of rangesOf(set)) {
      for (const bound of [first, last + 1]) {
        const changes = bounds.get(bound);
        if (changes) changes.push(index);
        else bounds.set(bound, [index]);
      }
    }
  }
  const classes: number[][] = [];
  const known = new Map<string, number>();
  const active = new Set<number>();
  const pages: Uint16Array[] = [];
  const uniform = new Map<number, Uint16Array>();
  let page = new Uint16Array(PAGE);
  let code = 0;
  const fill = (end: number, value: number): void => {
    while (code < end) {
      const offset = code % PAGE;
      if (offset === 0 && end - code >= PAGE) {
        // A whole page of one class: pages of the same class are one object.
        let whole = uniform.get(value);
        if (!whole) {
          whole = new Uint16Array(PAGE).fill(value);
          uniform.set(value, whole);
        }
        pages.push(whole);
        code += PAGE;
        continue;
      }
      const count = Math.min(end - code, PAGE - offset);
      page.fill(value, offset, offset + count);
      code += count;
      if (code % PAGE === 0) {
        pages.push(page);
        page = new Uint16Array(PAGE);
      }
    }
  };
  const sorted = [...bounds.keys()].sort((a, b) => a - b);
  for (const bound of [...sorted, MAX_CODE_POINT + 1]) {
    if (bound > code) {
      const key = [...active].sort((a, b) => a - b).join();
      let index = known.get(key);
      if (index === undefined) {
        index = classes.length;
        known.set(key, index);
        classes.push([...active]);
      }
      fill(bound, index);
    }
    for (const set of bounds.get(bound) ?? []) {
      if (!active.delete(set)) active.add(set);
    }
  }
  return { pages, classes };
}
