const REVEALS_PER_MINUTE = 10;
const MINUTE_MS = 60_000;
/** Callers that are remembered. */
const MAX_CALLERS = 10_000;

/** Counts the reads of tokens, or the calls of webhooks, by caller in this process. choice 678 */
export class RevealLimit {
  private readonly times = new Map<string, number[]>();
  private readonly now: () => number;
  private readonly perMinute: number;

  constructor(now: () => number, perMinute = REVEALS_PER_MINUTE) {
    this.now = now;
    this.perMinute = perMinute;
  }

  /** @returns milliseconds until the caller may do so again; 0: now, which is counted */
  take(caller: string): number {
    const now = this.now();
    const recent = (this.times.get(caller) ?? []).filter((at) => at > now - MINUTE_MS);
    this.times.delete(caller); // to the end of the map
    this.times.set(caller, recent);
    if (recent.length >= this.perMinute) return recent[0]! + MINUTE_MS - now;
    recent.push(now);
    const [oldest] = this.times.keys();
    if (this.times.size > MAX_CALLERS) this.times.delete(oldest!);
    return 0;
  }
}
