import { isDate } from './parse-utc-time.ts';

/** Intervals of local time. A week begins on Monday. */
export const intervals = ['hour', 'day', 'week', 'month', 'total'] as const;
export type Interval = (typeof intervals)[number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The times of a zone of the IANA database. */
export interface TimeZone {
  /** Milliseconds by which its clocks are ahead of UTC at a time. */
  offsetMs(ms: number): number;
}

/** @returns undefined if the zone does not exist */
export function openTimeZone(name: string): TimeZone | undefined {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  } catch {
    return undefined;
  }
  const offsets = new Map<number, number>(); // quarter of an hour → offset, because one answer takes some microseconds
  return {
    offsetMs(ms) {
      const slot = Math.floor(ms / 900_000);
      let offset = offsets.get(slot);
      if (offset === undefined) {
        const text = format.formatToParts(slot * 900_000).find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT';
        const [, sign, hours = '0', minutes = '0'] = /^GMT(?:([+-])(\d\d):(\d\d))?/.exec(text) ?? [];
        offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
        offsets.set(slot, offset);
      }
      return offset;
    },
  };
}

/**
 * Returns the first moment of a local day, in Unix milliseconds. It is not always midnight, because a zone can skip or
 * repeat it.
 *
 * @param utcMidnight midnight of the same date in UTC
 */
function startOfLocalDay(zone: TimeZone, utcMidnight: number): number {
  const offsets = [-DAY_MS, 0, DAY_MS].map((step) => zone.offsetMs(utcMidnight + step));
  const candidates = offsets.map((offset) => utcMidnight - offset);
  const dayOf = (ms: number) => Math.floor((ms + zone.offsetMs(ms)) / DAY_MS) * DAY_MS;
  return Math.min(...candidates.filter((ms) => dayOf(ms) === utcMidnight));
}

/** Returns the start of the next interval, in Unix milliseconds. */
function startOfNext(zone: TimeZone, interval: Interval, ms: number): number {
  const offset = zone.offsetMs(ms);
  const local = ms + offset;
  if (interval === 'total') return Number.POSITIVE_INFINITY;
  if (interval === 'hour') {
    const next = ms + HOUR_MS - (((local % HOUR_MS) + HOUR_MS) % HOUR_MS);
    // A zone that moves its clocks by half an hour begins another hour then.
    return next + ((((offset - zone.offsetMs(next)) % HOUR_MS) + HOUR_MS) % HOUR_MS);
  }
  const date = new Date(Math.floor(local / DAY_MS) * DAY_MS);
  if (interval === 'month') date.setUTCMonth(date.getUTCMonth() + 1, 1);
  else date.setUTCDate(date.getUTCDate() + (interval === 'week' ? 7 - ((date.getUTCDay() + 6) % 7) : 1));
  return startOfLocalDay(zone, date.getTime());
}

/**
 * Splits a range into intervals of local time.
 *
 * @param fromMs Unix milliseconds; the first interval begins here, even in the middle of a day
 * @param max maximum number of intervals
 * @returns the starts of the intervals and the end of the last one; undefined if there are too many
 */
export function splitRange(
  zone: TimeZone,
  interval: Interval,
  { fromMs, toMs, max }: { fromMs: number; toMs: number; max: number },
): number[] | undefined {
  const bounds = [fromMs];
  for (let next = startOfNext(zone, interval, fromMs); next < toMs; next = startOfNext(zone, interval, next)) {
    if (bounds.length >= max) return undefined;
    bounds.push(next);
  }
  return [...bounds, toMs];
}

/** Returns the start of the local day of a time, some days before or after. */
export function startOfDayIn(zone: TimeZone, ms: number, days = 0): number {
  const local = Math.floor((ms + zone.offsetMs(ms)) / DAY_MS) + days;
  return startOfLocalDay(zone, local * DAY_MS);
}

/**
 * Parses a date, which is its first moment in the zone, or a time with an offset from UTC (`2026-10-31T12:00:00Z`,
 * `…+02:00`).
 *
 * @returns Unix milliseconds; undefined if the text is neither, or names a day that does not exist
 */
export function parseTimeIn(zone: TimeZone, text: string): number | undefined {
  const found = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d))?$/.exec(text);
  const midnight = found ? Date.parse(found[1]!) : Number.NaN;
  // Date.parse reads 30 February as 2 March.
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(found![1]!)) return undefined;
  if (isDate(text)) return startOfLocalDay(zone, midnight);
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Writes a time with the offset of the zone: `2026-10-31T00:00:00+01:00`. */
export function writeTimeIn(zone: TimeZone, ms: number): string {
  const offset = zone.offsetMs(ms);
  const local = new Date(ms + offset).toISOString().slice(0, 19);
  const minutes = Math.abs(offset) / 60_000;
  const two = (number: number) => String(number).padStart(2, '0');
  return `${local}${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
