import { Cron } from 'croner';

/** Characters of an expression. */
export const MAX_CRON = 100;

/**
 * Returns the first time of a cron expression after a time, in Unix milliseconds. A local time that a clock change skips is
 * due right after it. One that a clock change repeats is due once if the hour is fixed, and twice if it is `*`. choice 712
 *
 * @returns null: there is none
 * @throws {Error} if the expression or the time zone is invalid
 */
export function findDueTime(cron: string, timeZone: string, afterMs: number): number | null {
  const next = parse(cron, timeZone).nextRun(new Date(afterMs));
  return next ? next.getTime() : null;
}

/** @returns what is wrong with an expression, as the end of a sentence; undefined: it is valid */
export function explainCron(cron: string): string | undefined {
  if (cron.trim().split(/\s+/).length !== 5) return 'must have five fields: minute, hour, day, month, day of the week';
  try {
    parse(cron, 'UTC');
    return undefined;
  } catch {
    return 'is not a cron expression, such as `0 9 * * 1-5`';
  }
}

/** Whether the time zone is one of the IANA database. An offset is none: it has no clock changes. */
export function isTimeZone(name: string): boolean {
  if (/^[+-]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** `paused`: the expression is only computed, and starts no timer. */
const parse = (cron: string, timezone: string): Cron => new Cron(cron, { timezone, mode: '5-part', paused: true });
