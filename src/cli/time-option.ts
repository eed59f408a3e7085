import { isDate, parseUtcTime } from '../domain/parse-utc-time.ts';
import { CommandError } from './terminal.ts';

const DAY_MS = 86_400_000;

/**
 * Reads the start and the end of a date or a time of an option.
 *
 * @throws {CommandError} if it is neither
 */
export function readTimeOption(option: string, text: string): { startMs: number; endMs: number } {
  const startMs = parseUtcTime(text);
  if (startMs === undefined) {
    throw new CommandError(`${option} ${text}: give a date like 2026-10-31, or a time like 2026-10-31T12:00:00Z.`);
  }
  return { startMs, endMs: startMs + (isDate(text) ? DAY_MS : 0) };
}
