import type { GatewayError } from '../domain/errors.ts';
import { LIMITED_MS, MAX_LIMITED_MS } from '../domain/provider-limits.ts';

/** How long a key is skipped after the provider rejected it or reported an empty account. */
const REFUSED_MS = 60_000;
/** The minimum time that a rate-limited key is skipped. */
const MIN_REST_MS = 1_000;

/** The keys of a provider, in rotation. A key that fails is skipped for a while, and the others are used. */
export class KeyRing {
  readonly size: number;
  private readonly restsUntilMs: number[];
  private readonly now: () => number;
  private turn = 0;

  /** @param size at least 1; a provider without a key has one empty key */
  constructor(size: number, now: () => number = Date.now) {
    this.size = size;
    this.now = now;
    this.restsUntilMs = new Array<number>(size).fill(0);
  }

  /** Returns the index of the next key that is not skipped. If all are skipped, returns the next one. */
  take(): number {
    if (this.size === 1) return 0;
    const nowMs = this.now();
    for (let step = 1; step <= this.size; step++) {
      const index = (this.turn + step) % this.size;
      if (this.restsUntilMs[index]! > nowMs) continue;
      this.turn = index;
      return index;
    }
    this.turn = (this.turn + 1) % this.size;
    return this.turn;
  }

  /** Skips a failed key for a while. @returns whether another key is available */
  rest(index: number, error: GatewayError): boolean {
    if (this.size === 1) return false;
    const isLimited = error.kind === 'rate_limited';
    const ms = isLimited ? (error.retryAfterSeconds ?? LIMITED_MS / 1000) * 1000 : REFUSED_MS;
    const nowMs = this.now();
    this.restsUntilMs[index] = nowMs + Math.min(Math.max(ms, MIN_REST_MS), MAX_LIMITED_MS);
    return this.restsUntilMs.some((until) => until <= nowMs);
  }
}
