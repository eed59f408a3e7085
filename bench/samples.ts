import { RigError } from './rig.ts';
import type { Variant } from './variants.ts';

/** A figure of a gateway. The first four are ratios to a baseline, the others have units. */
export type Figure =
  | 'json'
  | 'json50'
  | 'sse'
  | 'paced'
  | 'halfP50Ms'
  | 'halfP99Ms'
  | 'requestsPerSecond'
  | 'deltaP50Ms'
  | 'chatRequest'
  | 'chatEvent'
  | 'messagesRequest'
  | 'messagesEvent'
  | 'stepMicroseconds'
  | 'openRunKb'
  | 'openStreamKb'
  | 'idleMb'
  | 'startMs'
  | 'soakMb'
  | 'soakPercent';

/** All samples of a run, and its failures. */
export class Samples {
  /** Why figures of a gateway are missing. */
  readonly failures: string[] = [];
  /** For each ratio, the maximum use by other programs in its three windows, in percent of one CPU. */
  readonly foreignCpuPercent: number[] = [];
  readonly #taken = new Map<string, number[]>();
  readonly #report: (line: string) => void;

  /** @param report prints each measurement */
  constructor(report: (line: string) => void) {
    this.#report = report;
  }

  /** Adds a sample. The sample of a baseline for a ratio is its cost in µs. */
  take(figure: Figure, variant: Variant, value: number): void {
    const key = `${figure} ${variant.name}`;
    const samples = this.#taken.get(key);
    if (samples) samples.push(value);
    else this.#taken.set(key, [value]);
  }

  /** Returns the samples of one cell of the table, in order. */
  list(figure: Figure, variant: Variant): readonly number[] {
    return this.#taken.get(`${figure} ${variant.name}`) ?? [];
  }

  /** Prints a line about a gateway. */
  tell(topic: string, variant: Variant, text: string): void {
    this.#report(`${topic.padEnd(6)} ${variant.name.padEnd(18)} ${text}`);
  }

  /** Runs one measurement. A failure is recorded and reported, so that other gateways are still measured. */
  async attempt(topic: string, variant: Variant, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof RigError)) throw error;
      this.failures.push(`${variant.name}, ${topic}: ${error.message}`);
      this.tell(topic, variant, `FAILED: ${error.message}`);
    }
  }
}

/** Returns the median. NaN without samples. */
export function findMedian(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle]!;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/** Formats microseconds with significant digits. */
export function writeMicroseconds(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 1)} µs`;
}
