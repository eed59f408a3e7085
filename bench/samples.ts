import { RigError } from './rig.ts';
import type { Variant } from './variants.ts';

/** One figure of one gateway. The first four are ratios to a yardstick, the rest carry their units. */
export type Figure =
  | 'json'
  | 'json50'
  | 'sse'
  | 'paced'
  | 'halfP50Ms'
  | 'halfP99Ms'
  | 'requestsPerSecond'
  | 'deltaP50Ms'
  | 'openStreamKb'
  | 'idleMb'
  | 'startMs'
  | 'soakMb'
  | 'soakPercent';

/** Every sample a run has taken, and what stood in its way. */
export class Samples {
  /** Why a gateway has no figures, or fewer than it should. */
  readonly failures: string[] = [];
  /** Per ratio, the most that other programs used in its three windows, in percent of one CPU. */
  readonly foreignCpuPercent: number[] = [];
  readonly #taken = new Map<string, number[]>();
  readonly #report: (line: string) => void;

  /** @param report tells the user what has just been measured */
  constructor(report: (line: string) => void) {
    this.#report = report;
  }

  /** Keeps a sample. That of a yardstick under a ratio is its cost in µs. */
  take(figure: Figure, variant: Variant, value: number): void {
    const key = `${figure} ${variant.name}`;
    const samples = this.#taken.get(key);
    if (samples) samples.push(value);
    else this.#taken.set(key, [value]);
  }

  /** The samples of one cell of the table, in the order in which they were taken; empty when there are none. */
  list(figure: Figure, variant: Variant): readonly number[] {
    return this.#taken.get(`${figure} ${variant.name}`) ?? [];
  }

  /** Tells the user a line about a gateway. */
  tell(topic: string, variant: Variant, text: string): void {
    this.#report(`${topic.padEnd(6)} ${variant.name.padEnd(18)} ${text}`);
  }

  /** Does one piece of work. A gateway that fails must not cost the others their figures, so that is kept and told. */
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

/** The middle of the samples; the mean of the two in the middle when their number is even. NaN of none. */
export function findMedian(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle]!;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/** Microseconds with as many digits as mean something. */
export function writeMicroseconds(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 1)} µs`;
}
