let aheadMs = 0;

/**
 * Unix milliseconds by the clock that all hosts on one store go by: the clock of PostgreSQL, or that of this host where
 * there is no other. Windows of budgets, expiry and all times that are stored follow it.
 */
export const currentTimeMs = (): number => Date.now() - aheadMs;

/** @param ms by which the clock of this host is ahead; negative: behind */
export function correctClock(ms: number): void {
  aheadMs = ms;
}
