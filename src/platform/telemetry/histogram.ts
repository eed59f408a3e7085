/** Seconds. From below a millisecond, for the overhead of the gateway, to ten minutes, for the time of a model. */
export const latencyBounds = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600,
] as const;

/** Counts by size. An observation takes one comparison for each bound and two additions. */
export class Histogram {
  /** One count for each of `latencyBounds`, and one for larger values; not cumulative. */
  readonly counts = new Float64Array(latencyBounds.length + 1);
  sum = 0;

  /** @param seconds negative values count as 0, because clocks may disagree */
  observe(seconds: number): void {
    let at = 0;
    while (at < latencyBounds.length && seconds > latencyBounds[at]!) at++;
    this.counts[at]!++;
    if (seconds > 0) this.sum += seconds;
  }
}
