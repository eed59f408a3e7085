import type { GatewayError } from '../domain/errors.ts';

/** How long a key rests that was refused, or whose account is empty. */
const REFUSED_MS = 60_000;
/** How long a key rests that has used up its rate, when the provider does not say; and the longest in any case. */
const LIMITED_MS = 10_000;
const LONGEST_MS = 600_000;
const SHORTEST_MS = 1_000;

/** The keys of a provider, which take turns. One that fails rests, so that the others serve. */
export class KeyRing {
  readonly size: number;
  private readonly restsUntilMs: number[];
  private readonly now: () => number;
  private turn = 0;

  /** @param size at least 1; a provider without a key has one that is empty */
  constructor(size: number, now: () => number = Date.now) {
    this.size = size;
    this.now = now;
    this.restsUntilMs = new Array<number>(size).fill(0);
  }

  /** @returns the next key that does not rest; when all do, the next one all the same */
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

  /** @returns whether there is a key left to try */
  rest(index: number, error: GatewayError): boolean {
    if (this.size === 1) return false;
    const isLimited = error.kind === 'rate_limited';
    const ms = isLimited ? (error.retryAfterSeconds ?? LIMITED_MS / 1000) * 1000 : REFUSED_MS;
    const nowMs = this.now();
    this.restsUntilMs[index] = nowMs + Math.min(Math.max(ms, SHORTEST_MS), LONGEST_MS);
    return this.restsUntilMs.some((until) => until <= nowMs);
  }
}
