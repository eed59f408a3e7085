import { performance } from 'node:perf_hooks'; // the global is a getter

const EVERY_MS = 10;

/**
 * Measures how long the event loop has been busy, which is how long a request may have waited in the system's queue
 * before this process read it. An overdue timer shows the delay before it fires. No other signal is available in time.
 */
export class LoopProbe {
  private dueAt = performance.now() + EVERY_MS;
  private readonly timer: NodeJS.Timeout;
  /** The longest delay since the last call of `takeLongestMs`, milliseconds. */
  private longestMs = 0;

  constructor() {
    this.timer = setInterval(() => this.tick(), EVERY_MS).unref();
  }

  /**
   * Returns the milliseconds by which the loop is late. The timer itself is one or two milliseconds late on an idle
   * machine.
   */
  behindMs(now: number): number {
    const late = now - this.dueAt;
    return late > 2 ? late : 0;
  }

  /** @returns the longest delay since the last call, milliseconds */
  takeLongestMs(): number {
    const longest = Math.max(this.longestMs, this.behindMs(performance.now()));
    this.longestMs = 0;
    return longest;
  }

  close(): void {
    clearInterval(this.timer);
  }

  private tick(): void {
    const now = performance.now();
    this.longestMs = Math.max(this.longestMs, this.behindMs(now));
    this.dueAt = now + EVERY_MS;
  }
}
