import { performance } from 'node:perf_hooks'; // the global is a getter

const EVERY_MS = 10;

/**
 * Tells how long the event loop has been kept busy, which is how long a request may have waited in the system's queue
 * before this process looked. A timer that is overdue tells it before it fires: nothing else does, in time.
 */
export class LoopProbe {
  private dueAt = performance.now() + EVERY_MS;
  private readonly timer: NodeJS.Timeout;
  /** The longest delay since it was last taken, milliseconds. */
  private longestMs = 0;

  constructor() {
    this.timer = setInterval(() => this.tick(), EVERY_MS).unref();
  }

  /** Milliseconds that the loop is late. The timer itself is a millisecond or two late on an idle machine. */
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
