const FRESH_MS = 1000;
/** So few are sorted in no time, and each new one changes much. */
const FEW = 20;

/** The latest measurements, at most so many and none that is too old. */
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

  /** Sorted, the smallest first; as much as a second old, since every request of some kinds asks. */
  within(spanMs: number, nowMs: number): readonly number[] {
    const known = this.sorted;
    if (known && known.spanMs === spanMs && nowMs - known.atMs < FRESH_MS) return known.values;
    const values = this.sort(spanMs, nowMs);
    this.sorted = values.length < FEW ? undefined : { atMs: nowMs, spanMs, values };
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

/** @param share 0.5 for the median @returns undefined when there is none */
export const percentileOf = (sorted: readonly number[], share: number): number | undefined =>
  sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];

/** What the share of all, 0.9 for nine of ten, are at least as great as. @returns undefined when there is none */
export const reachedBy = (sorted: readonly number[], share: number): number | undefined =>
  sorted[Math.min(sorted.length - 1, Math.floor((1 - share) * sorted.length + 1e-9))];
