import type { LimitReset } from '../platform/storage/ports/keys.ts';

export const DAY_MS = 86_400_000;

/** Returns the start of the day (midnight UTC) of a time. */
export const startOfDay = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS;

/**
 * Returns the starts of the current windows: midnight UTC, weeks on Monday.
 *
 * @see docs/guides/limits.md
 */
export function windowStarts(nowMs: number): Record<LimitReset, number> {
  const daily = startOfDay(nowMs);
  const date = new Date(daily);
  return {
    daily,
    weekly: daily - ((date.getUTCDay() + 6) % 7) * DAY_MS,
    monthly: Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1),
  };
}

/** Returns the end of the window that contains a time. */
export function endOfWindow(window: LimitReset, nowMs: number): number {
  const start = windowStarts(nowMs)[window];
  if (window === 'daily') return start + DAY_MS;
  if (window === 'weekly') return start + 7 * DAY_MS;
  const date = new Date(start);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}
