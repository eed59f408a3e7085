/** Segments that are kept without need. */
const SPARE = 1024;

/**
 * Maps positions of a normalized text to those of the original. Positions are UTF-16 code units. Both texts are written
 * from left to right; what is released takes no memory.
 */
export class OffsetMap {
  /** Where segments begin in the normalized text, ascending. */
  private normals: number[] = [0];
  /** Where they begin in the original. */
  private originals: number[] = [0];
  /** Where a replaced character ends in the original; `SAME` if the units of both texts correspond. */
  private ends: number[] = [SAME];
  private first = 0;
  private normal: number;
  private original: number;

  /** @param length of the text so far, which is equal in both */
  constructor(length: number) {
    this.normal = length;
    this.original = length;
  }

  /** The next units correspond. */
  keep(length: number): void {
    const last = this.normals.length - 1;
    const continues =
      this.ends[last] === SAME && this.originals[last]! + (this.normal - this.normals[last]!) === this.original;
    if (!continues) this.push(SAME);
    this.normal += length;
    this.original += length;
  }

  /** Other text replaces the next character. */
  replace(originalLength: number, normalLength: number): void {
    if (originalLength === 1 && normalLength === 1) {
      this.keep(1);
      return;
    }
    this.push(this.original + originalLength);
    this.normal += normalLength;
    this.original += originalLength;
  }

  /** The normalized text does not have the next units. */
  drop(length: number): void {
    this.original += length;
  }

  /** Returns where the unit at a position begins in the original. */
  startOf(position: number): number {
    if (position >= this.normal) return this.original;
    const at = this.find(this.normals, position);
    return this.originals[at]! + (this.ends[at] === SAME ? position - this.normals[at]! : 0);
  }

  /** Returns where the unit before a position ends in the original. */
  endOf(position: number): number {
    const at = this.find(this.normals, position - 1);
    return this.ends[at] === SAME ? this.originals[at]! + (position - this.normals[at]!) : this.ends[at]!;
  }

  /** Returns a position of the normalized text before which everything comes from before a position of the original. */
  normalAt(original: number): number {
    const at = this.find(this.originals, original);
    const start = this.normals[at]!;
    const end = this.normals[at + 1] ?? this.normal;
    return this.ends[at] === SAME ? Math.min(start + original - this.originals[at]!, end) : start;
  }

  /** Returns the replaced character that a position of the original is within, with its place in the original. */
  around(original: number): { start: number; end: number } | undefined {
    const at = this.find(this.originals, original);
    const [start, end] = [this.originals[at]!, this.ends[at]!];
    return end !== SAME && start < original && original < end ? { start, end } : undefined;
  }

  /** Frees what is before a position of the normalized text. */
  release(position: number): void {
    while (this.first + 1 < this.normals.length && this.normals[this.first + 1]! <= position) this.first++;
    if (this.first < SPARE || this.first < this.normals.length / 2) return;
    this.normals = this.normals.slice(this.first);
    this.originals = this.originals.slice(this.first);
    this.ends = this.ends.slice(this.first);
    this.first = 0;
  }

  private push(end: number): void {
    this.normals.push(this.normal);
    this.originals.push(this.original);
    this.ends.push(end);
  }

  /** The last segment that begins at or before a position. */
  private find(starts: readonly number[], position: number): number {
    let low = this.first;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (starts[middle]! <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

const SAME = -1;
