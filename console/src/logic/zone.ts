import { addDays, localDate } from './time.ts';

export type Interval = 'hour' | 'day' | 'week' | 'month';

const HOUR_MS = 3_600_000;

/** @returns the moment at which a date begins in a zone, in Unix milliseconds */
export function startOfDate(date: string, zone: string): number {
  const utc = Date.parse(`${date}T00:00:00Z`);
  // The offset of a zone is less than a day: the first quarter of an hour that has the date is its begin.
  let low = utc - 15 * HOUR_MS;
  let high = utc + 15 * HOUR_MS;
  while (high - low > HOUR_MS / 4) {
    const middle = Math.floor((low + high) / 2 / (HOUR_MS / 4)) * (HOUR_MS / 4);
    if (localDate(middle, zone) < date) low = middle;
    else high = middle;
  }
  return high;
}

/** @returns the first day of the interval that has a date: a Monday, or the first of a month */
export function startOfInterval(date: string, interval: Interval): string {
  if (interval === 'month') return `${date.slice(0, 8)}01`;
  if (interval !== 'week') return date;
  const weekday = (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7;
  return addDays(date, -weekday);
}

/** The name of an interval: its first date, or the moment of an hour in Unix milliseconds. */
export const nameOfInterval = (start: string, interval: Interval): string =>
  interval === 'hour' ? String(Date.parse(start)) : start.slice(0, 10);

/**
 * Lists the names of all intervals of a report, because the gateway leaves out those without requests.
 *
 * @param since the first date
 * @param until the last date, inclusive
 * @param now hours after this moment are left out
 */
export function listIntervals(
  { since, until, interval, zone }: { since: string; until: string; interval: Interval; zone: string },
  now: number,
): string[] {
  const names: string[] = [];
  if (interval === 'hour') {
    const end = Math.min(now + 1, startOfDate(addDays(until, 1), zone));
    for (let at = startOfDate(since, zone); at < end; at += HOUR_MS) names.push(String(at));
    return names;
  }
  for (let date = startOfInterval(since, interval); date <= until; date = nextInterval(date, interval))
    names.push(date);
  // The first interval begins with the report.
  if (names[0] !== undefined && names[0] < since) names[0] = since;
  return names;
}

function nextInterval(date: string, interval: Interval): string {
  if (interval === 'month') return startOfInterval(addDays(date, 31), 'month');
  return addDays(date, interval === 'week' ? 7 : 1);
}

/** Writes the name of an interval for an axis or a table. */
export function writeInterval(name: string, interval: Interval, zone: string): string {
  if (interval === 'hour') {
    return new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      day: 'numeric',
      month: 'short',
      hour: '2-digit',
      minute: '2-digit',
    }).format(Number(name));
  }
  const options = interval === 'month' ? { month: 'short', year: 'numeric' } : { day: 'numeric', month: 'short' };
  return new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...options } as Intl.DateTimeFormatOptions).format(
    new Date(`${name}T00:00:00Z`),
  );
}
