const FRESH_MS = 1000;
/** Fewer values are always sorted again: sorting is cheap, and each value matters. */
const MIN_CACHED = 20;

/** The latest measurements, bounded in number. */
export class RecentSamples {
  private readonly values: Float64Array;
  private readonly times: Float64Array;
  private next = 0;
  private sorted: { atMs: number; spanMs: number; values: readonly number[] } | undefined;

  constructor(max: number) {
    this.values = new Float64Array(max);
    this.times = new Float64Array(max);
  }

  add(value: number, nowMs: number): void {
    this.values[this.next] = value;
    this.times[this.next] = nowMs;
    this.next = (this.next + 1) % this.values.length;
  }

  /**
   * Returns the values within a time span in ascending order. Cached for up to a second, because many requests read
   * it.
   */
  within(spanMs: number, nowMs: number): readonly number[] {
    const known = this.sorted;
    if (known && known.spanMs === spanMs && nowMs - known.atMs < FRESH_MS) return known.values;
    const values = this.sort(spanMs, nowMs);
    this.sorted = values.length < MIN_CACHED ? undefined : { atMs: nowMs, spanMs, values };
    return values;
  }

  private sort(spanMs: number, nowMs: number): number[] {
    const since = nowMs - spanMs;
    const found: number[] = [];
    for (let index = 0; index < this.values.length; index++) {
      if (this.times[index]! > since) found.push(this.values[index]!);
    }
    return found.sort((a, b) => a - b);
  }
}

/** @param share 0.5 for the median @returns undefined if there is none */
export const percentileOf = (sorted: readonly number[], share: number): number | undefined =>
  sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];

/**
 * Returns the value that the share of all samples reaches: with 0.9, nine of ten are at least as great.
 *
 * @returns undefined if there is none
 */
export const reachedBy = (sorted: readonly number[], share: number): number | undefined =>
  sorted[Math.min(sorted.length - 1, Math.floor((1 - share) * sorted.length + 1e-9))];
