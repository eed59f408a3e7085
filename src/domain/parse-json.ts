import { type JsonOrigin, parseExactly } from './exact-numbers.ts';
import { findExcess, type JsonLimits, MAX_LEVELS } from './scan-json.ts';

/** A text up to this size is inspected after it is parsed, which is cheaper. It is too small to do harm. */
export const SMALL_JSON = 64 * 1024;

/**
 * Measured with Node 26: a text at one of these limits takes about 100 ms and 70 MB. The largest ones that occur are
 * lists of log probabilities: 20 alternatives for each of 6000 tokens have a million entries.
 */
const outsideLimits: JsonLimits = {
  levels: MAX_LEVELS,
  entries: 1_000_000,
  distinctFields: 20_000,
  shortTexts: 300_000,
};

/** JSON that exceeds a limit of `parseJson`. */
export class JsonExcessError extends Error {
  override readonly name = 'JsonExcessError';
  /** Follows the name of the text: `is nested deeper than 100 levels`. */
  readonly says: string;

  constructor(says: string) {
    super(`The JSON ${says}.`);
    this.says = says;
  }
}

/**
 * Parses JSON from outside: of providers, services, servers, models and sandboxes. A few megabytes of brackets would
 * take seconds and hundreds of megabytes, and deep values cannot be serialized.
 *
 * @param bytes the same text as UTF-8, if the caller has it
 * @param origin which numbers keep their digits
 * @throws {SyntaxError} if it is not JSON
 * @throws {JsonExcessError} if it exceeds a limit
 * @see docs/reference/http.md#responses-of-providers
 */
export function parseJson(text: string, bytes?: Buffer, origin?: JsonOrigin): unknown {
  if (text.length > SMALL_JSON) {
    const says = describeExcess(bytes ?? Buffer.from(text));
    if (says !== undefined) throw new JsonExcessError(says);
  }
  const value = parseExactly(text, origin);
  const mayBeDeep = text.length > 2 * MAX_LEVELS && text.length <= SMALL_JSON;
  if (mayBeDeep && isDeeper(value, MAX_LEVELS)) throw new JsonExcessError(`is nested deeper than ${MAX_LEVELS} levels`);
  return value;
}

/**
 * For JSON that another module parses.
 *
 * @returns the `says` of a JsonExcessError if it exceeds a limit of `parseJson`
 */
export const describeExcess = (bytes: Buffer): string | undefined => findExcess(bytes, outsideLimits)?.says;

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const entry of value) if (isDeeper(entry, levels - 1)) return true;
    return false;
  }
  for (const name in value) if (isDeeper((value as Record<string, unknown>)[name], levels - 1)) return true;
  return false;
}
