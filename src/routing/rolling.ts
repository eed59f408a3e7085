/** Counts per slice of time, for a span that rolls on. Numbers alone, so thousands of them are cheap. */
export class RollingCounts {
  private readonly sliceMs: number;
  private readonly counts: Uint32Array;
  private readonly kinds: number;
  /** The number of the newest slice since the epoch. */
  private newest = 0;

  /** @param kinds things that are counted side by side */
  constructor(sliceMs: number, slices: number, kinds: number) {
    this.sliceMs = sliceMs;
    this.kinds = kinds;
    this.counts = new Uint32Array(slices * kinds);
  }

  add(kind: number, nowMs: number): void {
    this.counts[this.placeOf(this.roll(nowMs)) + kind]!++;
  }

  /** @returns how many of each kind there were within the span */
  sums(nowMs: number): number[] {
    this.roll(nowMs);
    const sums = new Array<number>(this.kinds).fill(0);
    for (let index = 0; index < this.counts.length; index++) sums[index % this.kinds]! += this.counts[index]!;
    return sums;
  }

  private placeOf(slice: number): number {
    return (slice % (this.counts.length / this.kinds)) * this.kinds;
  }

  /** Empties the slices that have become too old. */
  private roll(nowMs: number): number {
    const slice = Math.floor(nowMs / this.sliceMs);
    const slices = this.counts.length / this.kinds;
    if (slice <= this.newest) return this.newest;
    for (let each = Math.max(this.newest + 1, slice - slices + 1); each <= slice; each++) {
      const place = this.placeOf(each);
      this.counts.fill(0, place, place + this.kinds);
    }
    this.newest = slice;
    return slice;
  }
}

/** The latest measurements, at most so many and none that is too old. */
export class RecentSamples {
  private readonly values: Float64Array;
  private readonly times: Float64Array;
  private next = 0;

  constructor(most: number) {
    this.values = new Float64Array(most);
    this.times = new Float64Array(most);
  }

  add(value: number, nowMs: number): void {
    this.values[this.next] = value;
    this.times[this.next] = nowMs;
    this.next = (this.next + 1) % this.values.length;
  }

  /** Sorted, the smallest first. */
  within(spanMs: number, nowMs: number): number[] {
    const since = nowMs - spanMs;
    const found: number[] = [];
    for (let index = 0; index < this.values.length; index++) {
      if (this.times[index]! > since) found.push(this.values[index]!);
    }
    return found.sort((a, b) => a - b);
  }
}

/** @param share 0.5 for the median @returns undefined when there is none */
export const percentileOf = (sorted: readonly number[], share: number): number | undefined =>
  sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
