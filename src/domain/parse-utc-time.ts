/**
 * Parses a date (`2026-10-31`, its start) or a time (`2026-10-31T12:00:00Z`) in UTC.
 *
 * @returns Unix milliseconds; undefined if the text is neither, or names a day that does not exist
 */
export function parseUtcTime(text: string): number | undefined {
  const ms = /^\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?$/.test(text) ? Date.parse(text) : Number.NaN;
  // Date.parse reads 30 February as 2 March.
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text.slice(0, 10)) ? ms : undefined;
}

/** Whether the text is a date without a time. */
export const isDate = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text);
