/** The time zone of the viewer. */
export const viewerZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

const formats = new Map<string, Intl.DateTimeFormat>();
function format(zone: string | undefined, name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${name} ${zone ?? ''}`;
  let found = formats.get(key);
  if (found === undefined) {
    found = new Intl.DateTimeFormat('en-GB', { ...options, ...(zone === undefined ? {} : { timeZone: zone }) });
    formats.set(key, found);
  }
  return found;
}

/** Writes a time of today as `14:03:07`, and another one with its date: `3 Nov, 14:03:07`. */
export function formatTime(iso: string, now: number = Date.now(), zone?: string): string {
  const date = new Date(iso);
  const time = format(zone, 'time', { hour: '2-digit', minute: '2-digit', second: '2-digit' }).format(date);
  const day = format(zone, 'day', { day: 'numeric', month: 'short' });
  const isToday = day.format(date) === day.format(now) && Math.abs(now - date.getTime()) < 48 * 3_600_000;
  return isToday ? time : `${day.format(date)}, ${time}`;
}

/** Writes a date with its year: `3 Nov 2026`. */
export const formatDay = (iso: string | number, zone?: string): string =>
  format(zone, 'date', { day: 'numeric', month: 'short', year: 'numeric' }).format(new Date(iso));

/** Writes a date and a time with milliseconds and the zone, for titles and the page of a request. */
export const formatFullTime = (iso: string, zone?: string): string =>
  format(zone, 'full', {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    timeZoneName: 'short',
  }).format(new Date(iso));

/** Writes how long ago a time was: `4 min ago`. */
export function formatAge(iso: string, now: number = Date.now()): string {
  const seconds = Math.round((now - Date.parse(iso)) / 1000);
  if (seconds < 45) return 'just now';
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.round(minutes / 60);
  if (hours < 36) return `${hours} h ago`;
  const days = Math.round(hours / 24);
  return days < 60 ? `${days} days ago` : formatDay(iso);
}

/** @returns the date of a moment in a zone: `2026-11-30` */
export function localDate(at: number, zone: string): string {
  return format(zone, 'iso', { year: 'numeric', month: '2-digit', day: '2-digit' })
    .formatToParts(at)
    .filter(({ type }) => type !== 'literal')
    .reverse()
    .map(({ value }) => value)
    .join('-');
}

/** @returns the date that is a number of days later; the clock does not matter */
export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}

/** Named ranges of the list of requests, in minutes. */
export const ranges = { '15m': 15, '1h': 60, '6h': 360, '24h': 1440, '7d': 10_080, '30d': 43_200 } as const;
export type RangeName = keyof typeof ranges | 'today';

export const isRange = (value: string | undefined): value is RangeName =>
  value === 'today' || (value !== undefined && Object.hasOwn(ranges, value));

/**
 * @returns the begin of a range that ends now, in full minutes, so that a page and its refresh have the same one. Today begins
 * at midnight of the viewer
 */
export function rangeStart(name: RangeName, now: number = Date.now()): string {
  if (name === 'today') return new Date(new Date(now).setHours(0, 0, 0, 0)).toISOString();
  return new Date(Math.floor(now / 60_000) * 60_000 - ranges[name] * 60_000).toISOString();
}
