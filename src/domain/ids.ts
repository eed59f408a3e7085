import { hash, randomFillSync } from 'node:crypto';
import { currentTimeMs } from './clock.ts';

const alphabet = Buffer.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 'latin1');

/** Maximum length of a random text. */
const MAX_LENGTH = 8192;
/** Maximum length of a prefix. */
const MAX_PREFIX = 64;

/** Random bytes, generated 4 KiB at a time, because each call of the generator takes about 1 µs. */
const random = Buffer.allocUnsafeSlow(4096);
let used = random.length;
/** The text in progress. */
const text = Buffer.allocUnsafeSlow(MAX_PREFIX + MAX_LENGTH);

/** `length` random base62 characters (5.95 bits each), at most 8,192. */
export const randomText = (length: number): string => writeText('', length);

/**
 * Returns a prefix and random characters as one flat string. `+` would create a tree, and one such tree in a body makes
 * `JSON.stringify` use its slow path for the whole body.
 *
 * @param prefix of at most 64 characters of ASCII
 */
function writeText(prefix: string, length: number): string {
  let written = 0;
  while (written < prefix.length) {
    text[written] = prefix.charCodeAt(written);
    written++;
  }
  for (const end = written + length; written < end; ) {
    if (used === random.length) {
      randomFillSync(random);
      used = 0;
    }
    const letter = random[used++]! & 63;
    if (letter < 62) text[written++] = alphabet[letter]!; // skips 62 and 63: all characters are equally likely
  }
  return text.toString('latin1', 0, written);
}

/** An id of the interface: prefix + 24 random base62 characters, as in `resp_…`, `msg_…`, `gen-…`. */
export const createId = (prefix: string): string => writeText(prefix, 24);

let lastMs = 0;
let lastPrefix = '';

/**
 * An id that sorts by creation time: prefix + 8 characters of the millisecond + 16 random base62 characters. Rows with
 * such ids are written to the end of their table, instead of one page each.
 */
export function createTimedId(prefix: string): string {
  const now = currentTimeMs();
  if (now !== lastMs) {
    lastMs = now;
    lastPrefix = timedPrefix('', now);
  }
  return writeText(prefix + lastPrefix, 16);
}

/** The beginning of the ids that `createTimedId` creates at a time. Ids of later times sort after it. */
export function timedPrefix(prefix: string, ms: number): string {
  let text = '';
  for (let rest = Math.max(0, Math.floor(ms)), place = 0; place < 8; place++) {
    text = String.fromCharCode(alphabet[rest % 62]!) + text;
    rest = Math.floor(rest / 62);
  }
  return prefix + text;
}

/** Derives a UUID (RFC 9562, version 8): the same parts have the same UUID everywhere. */
export function deriveUuid(...parts: readonly string[]): string {
  const hex = hash('sha256', parts.join('\0'));
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
