import { randomInt } from 'node:crypto';

/** Objects and lists may be nested this deep. The value itself is level 1. */
export const MAX_LEVELS = 100;

export interface JsonLimits {
  levels: number;
  /** Entries of all lists plus fields of all objects. An empty list or object counts as one. */
  entries: number;
  /**
   * Fields, where objects that start with the same fields in the same order share the first 128 of them. Each one costs
   * the engine a hidden class or an entry of a dictionary: up to 1.6 µs, against 0.05 µs for a shared field.
   */
  distinctFields: number;
  /**
   * Texts that the engine looks up in its table of strings, because they have fewer than 10 characters. Each one that is
   * not in the table takes up to 0.5 µs, against 0.03 µs for a longer text. Absent: unlimited.
   */
  shortTexts?: number;
}

/** The limit that a JSON text exceeds. */
export interface JsonExcess {
  /** Follows the name of the text: `is nested deeper than 100 levels`. */
  says: string;
  /** Follows the name of a field: `takes the body beyond 200000 list entries and object fields`. */
  saysOfField: string;
  /** The last field of the value itself before the place; undefined if there is none. */
  field: string | undefined;
}

/** Bytes of the longest text with 9 characters. Each may be written as an escape of six bytes. */
const MAX_SHORT_BYTES = 54;

/** The engine keeps an object with more fields as a dictionary, which shares nothing. */
const MAX_SHARED_FIELDS = 128;

/** Bytes of a string that are read one by one, because the native search only pays for longer strings. */
const NEAR_BYTES = 64;
/** The upper 18 bits of a hash. */
const HASH_SHIFT = 14;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Differs between processes, so that a caller cannot prepare fields that share a slot. */
const seed = randomInt(2 ** 32) | 0;
const seen = new Uint8Array(2 ** (32 - HASH_SHIFT));
/** The hash of the fields so far, for the object of each level. */
const hashes = new Int32Array(MAX_LEVELS + 1);
/** The number of these fields. */
const counts = new Int32Array(MAX_LEVELS + 1);

/**
 * Finds out whether JSON would cost the parser, and the code that reads its values, too much time and memory, in one pass
 * over its bytes before it is parsed. It is not a parser: text that is not JSON passes, or exceeds a limit.
 *
 * The cost is 1 ms per MiB of short strings and 0.05 ms per MiB of long ones.
 *
 * @returns undefined if the text is within the limits
 */
export function findExcess(body: Buffer, limits: JsonLimits): JsonExcess | undefined {
  seen.fill(0);
  const { length } = body;
  const {
    levels: maxLevels,
    entries: maxEntries,
    distinctFields: maxDistinct,
    shortTexts: maxShort = Number.POSITIVE_INFINITY,
  } = limits;
  let level = 0;
  let entries = 0;
  let distinct = 0;
  let short = 0;
  // the last string, and the last one that named a field of the value itself
  let start = 0;
  let end = 0;
  let fieldStart = 0;
  let fieldEnd = 0;
  for (let at = 0; at < length; at++) {
    switch (body[at]) {
      case QUOTE:
        start = at + 1;
        end = findEnd(body, start);
        if (end - start <= MAX_SHORT_BYTES) short++;
        at = end;
        break;
      case COLON: {
        if (start < end && end - start <= MAX_SHORT_BYTES) short--; // it is the name of a field
        let hash = hashes[level]!;
        for (let index = start; index < end; index++) hash = Math.imul(hash ^ body[index]!, 0x0100_0193); // FNV-1a
        hash = Math.imul(hash ^ COLON, 0x0100_0193);
        hashes[level] = hash;
        counts[level] = counts[level]! + 1;
        if (counts[level]! > MAX_SHARED_FIELDS || seen[hash >>> HASH_SHIFT] === 0) {
          seen[hash >>> HASH_SHIFT] = 1;
          distinct++;
        }
        if (level === 1 && start < end) {
          fieldStart = start;
          fieldEnd = end;
        }
        start = end; // a second colon must not read the same string again
        break;
      }
      case COMMA:
        entries++;
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        entries++;
        level++;
        if (level > maxLevels) {
          const says = `is nested deeper than ${maxLevels} levels`;
          return { says, saysOfField: says, field: readField(body, fieldStart, fieldEnd) };
        }
        hashes[level] = seed;
        counts[level] = 0;
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        if (level > 0) level--;
        break;
    }
    if (entries > maxEntries || distinct > maxDistinct || short > maxShort) {
      const limit =
        entries > maxEntries
          ? `${maxEntries} list entries and object fields`
          : distinct > maxDistinct
            ? `${maxDistinct} different object fields`
            : `${maxShort} short texts`;
      return {
        says: `has more than ${limit}`,
        saysOfField: `takes the body beyond ${limit}`,
        field: readField(body, fieldStart, fieldEnd),
      };
    }
  }
  return undefined;
}

/** @returns the place of the quote that ends a string; the end of the body if there is none */
function findEnd(body: Buffer, from: number): number {
  let at = from;
  let near = at + NEAR_BYTES;
  for (;;) {
    for (; at < near; at++) {
      const byte = body[at];
      if (byte === QUOTE || byte === undefined) return at;
      if (byte !== BACKSLASH) continue;
      at++; // the escaped character
      near = at + NEAR_BYTES;
    }
    at = body.indexOf(QUOTE, at);
    if (at === -1) return body.length;
    let before = at;
    while (body[before - 1] === BACKSLASH) before--;
    if ((at - before) % 2 === 0) return at;
    at++;
    near = at + NEAR_BYTES;
  }
}

/** @returns undefined if the place is not in a field of the value */
function readField(body: Buffer, start: number, end: number): string | undefined {
  if (end === 0) return undefined;
  try {
    return JSON.parse(`"${body.toString('utf8', start, end)}"`) as string; // a string is between quotes
  } catch {
    return undefined; // not JSON
  }
}
