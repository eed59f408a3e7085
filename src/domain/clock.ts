let aheadMs = 0;

/**
 * Unix milliseconds by the clock that all hosts on one store share: the clock of PostgreSQL, or that of this host
 * without PostgreSQL. Windows of budgets, expiry and all stored times follow it.
 */
export const currentTimeMs = (): number => Date.now() - aheadMs;

/** @param ms by which the clock of this host is ahead; negative: behind */
export function correctClock(ms: number): void {
  aheadMs = ms;
}
