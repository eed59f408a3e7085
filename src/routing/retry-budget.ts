import type { RetryPolicy } from '../domain/retry-policy.ts';
import { RollingCounts } from '../domain/rolling-counts.ts';

const SLICE_MS = 1000;
const SLICES = 60;
const REQUESTS = 0;
const RETRIES = 1;

/**
 * Bounds the retries of each provider to a share of its requests within 60 seconds, in this process. Without it, a
 * provider that fails every request would get several times its load.
 */
export class RetryBudget {
  /** Provider → its requests and retries. A provider that is no longer configured costs 1 KB until the next start. */
  private readonly counts = new Map<string, RollingCounts>();
  private readonly now: () => number;

  constructor(now: () => number = Date.now) {
    this.now = now;
  }

  /** Counts a request that is not a retry. */
  countRequest(provider: string): void {
    this.countsOf(provider).add(REQUESTS, this.now());
  }

  /** Counts a retry. @returns false if the budget is exhausted; the retry is then not counted */
  takeRetry(provider: string, { share, minimum }: Pick<RetryPolicy, 'share' | 'minimum'>): boolean {
    const counts = this.countsOf(provider);
    const nowMs = this.now();
    if (counts.sum(RETRIES, nowMs) >= Math.max(minimum, Math.floor(share * counts.sum(REQUESTS, nowMs)))) return false;
    counts.add(RETRIES, nowMs);
    return true;
  }

  private countsOf(provider: string): RollingCounts {
    let counts = this.counts.get(provider);
    if (!counts) {
      counts = new RollingCounts(SLICE_MS, SLICES, 2);
      this.counts.set(provider, counts);
    }
    counts.forgetAhead(this.now());
    return counts;
  }
}
