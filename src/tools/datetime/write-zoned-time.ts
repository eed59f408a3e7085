/**
 * Writes a time as ISO 8601 with milliseconds and the offset of its zone, such as `2026-03-01T09:30:00.000+01:00`.
 *
 * @param atMs Unix milliseconds
 * @param timeZone of the IANA database
 */
export function writeZonedTime(atMs: number, timeZone: string): string {
  if (timeZone === 'UTC') return new Date(atMs).toISOString().replace('Z', '+00:00');
  const parts = new Map(
    getFormat(timeZone)
      .formatToParts(atMs)
      .map(({ type, value }) => [type, value]),
  );
  const read = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  const date = `${read('year').padStart(4, '0')}-${read('month')}-${read('day')}`;
  const time = `${read('hour')}:${read('minute')}:${read('second')}.${read('fractionalSecond')}`;
  const offset = read('timeZoneName').replace('GMT', '').replace('\u2212', '-');
  return `${date}T${time}${offset === '' ? '+00:00' : offset}`;
}

/** Maximum number of formats that stay in memory. */
const MAX_FORMATS = 16;

/** By zone, because a format takes 50 times as long to create as to use. */
const formats = new Map<string, Intl.DateTimeFormat>();

function getFormat(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (!format) {
    if (formats.size === MAX_FORMATS) formats.clear();
    format = new Intl.DateTimeFormat('en-US', { ...fields, timeZone });
    formats.set(timeZone, format);
  }
  return format;
}

const fields: Intl.DateTimeFormatOptions = {
  calendar: 'iso8601',
  numberingSystem: 'latn',
  hourCycle: 'h23',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  timeZoneName: 'longOffset',
};
