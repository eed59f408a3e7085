import { performance } from 'node:perf_hooks'; // the global is a getter

export interface ClockWatchParts {
  /** Unix milliseconds by the shared clock of all hosts. */
  readTime: () => Promise<number>;
  /** Called with the milliseconds by which the clock of this host is to be put back; negative: forward. */
  correct: (ms: number) => void;
  /**
   * Called when this host differs by more than a minute, once per streak.
   *
   * @param aheadMs negative: behind
   */
  onSkew: (aheadMs: number) => void;
  /** Called when this host no longer differs by more than a minute. */
  onAgreement: () => void;
  everyMs?: number;
}

/** Maximum difference that is not corrected. Hosts with a time service differ by milliseconds. */
const TOLERANCE_MS = 1000;
/** Difference above which the operator is notified. */
export const NOTED_SKEW_MS = 60_000;
const EVERY_MS = 1000;

/**
 * Keeps the clock of this process in step with the clock of the store. The error of a measurement is half a round trip.
 * A correction stays as long as measurements agree with it within that error plus one second.
 */
export class ClockWatch {
  private readonly parts: ClockWatchParts;
  private correctionMs = 0;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;
  private isNoted = false;
  /** Milliseconds by which this host is ahead, by the last measurement. Negative: it is behind. */
  aheadMs = 0;

  constructor(parts: ClockWatchParts) {
    this.parts = parts;
  }

  /** Measures at once, and then every second. Never rejects. Without the store, the last correction stays. */
  async open(): Promise<void> {
    await this.measure().catch(() => {}); // other calls to the store report the error
    if (this.closed) return;
    this.timer = setTimeout(() => void this.open(), this.parts.everyMs ?? EVERY_MS).unref();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.parts.correct(0);
  }

  private async measure(): Promise<void> {
    const sentAt = performance.now();
    const hostMs = Date.now();
    const storeMs = await this.parts.readTime();
    const halfTripMs = (performance.now() - sentAt) / 2;
    if (this.closed) return;
    this.aheadMs = hostMs + halfTripMs - storeMs;
    if (Math.abs(this.aheadMs - this.correctionMs) > halfTripMs + TOLERANCE_MS) {
      this.correctionMs = Math.abs(this.aheadMs) > TOLERANCE_MS ? Math.round(this.aheadMs) : 0;
      this.parts.correct(this.correctionMs);
    }
    const isSkewed = Math.abs(this.aheadMs) > NOTED_SKEW_MS;
    if (isSkewed && !this.isNoted) this.parts.onSkew(this.aheadMs);
    if (!isSkewed && this.isNoted) this.parts.onAgreement();
    this.isNoted = isSkewed;
  }
}

/** Describes a difference for messages: `13 h ahead of`, `2.5 min behind`. */
export function describeSkew(aheadMs: number): string {
  const minutes = Math.abs(aheadMs) / 60_000;
  const amount = minutes < 90 ? `${Number(minutes.toFixed(1))} min` : `${Number((minutes / 60).toFixed(1))} h`;
  return `${amount} ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
}
