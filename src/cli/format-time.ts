const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Writes how far away a time is, in its largest unit: `in 9 h`, `12 min ago`, `just now`. */
export function formatDistance(ms: number, nowMs: number): string {
  const length = formatLength(Math.abs(ms - nowMs));
  if (ms > nowMs) return length === undefined ? 'in under 1 min' : `in ${length}`;
  return length === undefined ? 'just now' : `${length} ago`;
}

function formatLength(ms: number): string | undefined {
  if (ms < MINUTE_MS) return undefined;
  if (ms < HOUR_MS - MINUTE_MS / 2) return `${Math.round(ms / MINUTE_MS)} min`;
  if (ms < 2 * DAY_MS - HOUR_MS / 2) return `${Math.round(ms / HOUR_MS)} h`;
  return `${Math.round(ms / DAY_MS)} d`;
}

/** The day in UTC: `2026-11-22`. */
export const formatDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
