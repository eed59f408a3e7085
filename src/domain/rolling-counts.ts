/** The largest count of a slice. */
const MAX_COUNT = 2 ** 32 - 1;

/** Counts per slice of time for a rolling window. It consists of numbers only, so thousands of instances are cheap. */
export class RollingCounts {
  private readonly sliceMs: number;
  private readonly counts: Uint32Array;
  private readonly kinds: number;
  /** For each kind, the sum of all slices. */
  private readonly totals: number[];
  /** The number of the newest slice since the epoch. */
  private newest = 0;

  /** @param kinds number of things that are counted side by side */
  constructor(sliceMs: number, slices: number, kinds: number) {
    this.sliceMs = sliceMs;
    this.kinds = kinds;
    this.counts = new Uint32Array(slices * kinds);
    this.totals = new Array<number>(kinds).fill(0);
  }

  add(kind: number, nowMs: number, amount = 1): void {
    const place = this.placeOf(this.roll(nowMs)) + kind;
    const before = this.counts[place]!;
    this.counts[place] = Math.min(before + amount, MAX_COUNT);
    this.totals[kind]! += this.counts[place]! - before; // the part that the slice accepted
  }

  /** Subtracts what was added at a time, as far as its slice is still in the window. */
  remove(kind: number, addedAtMs: number, amount: number, nowMs: number): void {
    const newest = this.roll(nowMs);
    const slice = Math.floor(addedAtMs / this.sliceMs);
    if (slice > newest || slice <= newest - this.counts.length / this.kinds) return;
    const place = this.placeOf(slice) + kind;
    const removed = Math.min(this.counts[place]!, amount);
    this.counts[place]! -= removed;
    this.totals[kind]! -= removed;
  }

  /** Subtracts 1 from the newest slice that has counted this kind. */
  takeBack(kind: number, nowMs: number): void {
    const newest = this.roll(nowMs);
    for (let slice = newest; slice > newest - this.counts.length / this.kinds && slice >= 0; slice--) {
      const place = this.placeOf(slice) + kind;
      if (this.counts[place] === 0) continue;
      this.counts[place]!--;
      this.totals[kind]!--;
      return;
    }
  }

  /** Starts over if the newest slice is ahead by more than the window: it was counted before the clock was set back. */
  forgetAhead(nowMs: number): void {
    const slice = Math.floor(nowMs / this.sliceMs);
    if (this.newest - slice < this.counts.length / this.kinds) return;
    this.counts.fill(0);
    this.totals.fill(0);
    this.newest = slice;
  }

  /** @returns the count of a kind within the window */
  sum(kind: number, nowMs: number): number {
    this.roll(nowMs);
    return this.totals[kind]!;
  }

  /** Returns the whole state as bytes, for `restore` of an instance with the same slices and kinds. */
  save(): Uint8Array {
    const bytes = new Uint8Array(8 + this.counts.byteLength);
    new DataView(bytes.buffer).setFloat64(0, this.newest);
    bytes.set(new Uint8Array(this.counts.buffer), 8);
    return bytes;
  }

  /** Starts over if the bytes are of an instance with other kinds. */
  restore(bytes: Uint8Array): void {
    if (bytes.length !== 8 + this.counts.byteLength) return;
    this.newest = new DataView(bytes.buffer, bytes.byteOffset).getFloat64(0);
    new Uint8Array(this.counts.buffer).set(bytes.subarray(8));
    this.totals.fill(0);
    for (let index = 0; index < this.counts.length; index++) this.totals[index % this.kinds]! += this.counts[index]!;
  }

  private placeOf(slice: number): number {
    return (slice % (this.counts.length / this.kinds)) * this.kinds;
  }

  /** Empties the slices that are too old. */
  private roll(nowMs: number): number {
    const slice = Math.floor(nowMs / this.sliceMs);
    const slices = this.counts.length / this.kinds;
    if (slice <= this.newest) return this.newest;
    for (let each = Math.max(this.newest + 1, slice - slices + 1); each <= slice; each++) {
      const place = this.placeOf(each);
      for (let kind = 0; kind < this.kinds; kind++) {
        this.totals[kind]! -= this.counts[place + kind]!;
        this.counts[place + kind] = 0;
      }
    }
    this.newest = slice;
    return slice;
  }

  /**
   * Returns when the count of a kind falls below a limit, if nothing is added until then.
   *
   * @returns Unix milliseconds; now, if the count is below the limit already
   */
  freeAt(kind: number, limit: number, nowMs: number): number {
    const newest = this.roll(nowMs);
    const slices = this.counts.length / this.kinds;
    let sum = this.sum(kind, nowMs);
    for (let slice = newest - slices + 1; slice <= newest; slice++) {
      if (sum < limit) return Math.max(nowMs, (slice + slices - 1) * this.sliceMs);
      sum -= this.counts[this.placeOf(slice) + kind]!;
    }
    return (newest + slices) * this.sliceMs;
  }
}
