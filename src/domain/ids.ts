import { hash, randomFillSync } from 'node:crypto';
import { currentTimeMs } from './clock.ts';

const alphabet = Buffer.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 'latin1');

/** Random characters, generated 8 KiB at a time. An id is then one slice. */
const pool = Buffer.allocUnsafe(8192);
let used = pool.length;
/** About 3 % of the bytes are skipped. */
const random = Buffer.allocUnsafeSlow(pool.length + 512);

/** `length` random base62 characters (5.95 bits each), at most 8,192. */
export const randomText = (length: number): string => takeText('', length);

/**
 * Returns a prefix and random characters as one flat string. `+` would create a tree, and one such tree in a body makes
 * `JSON.stringify` use its slow path for the whole body. The prefix therefore replaces characters of the pool.
 *
 * @param prefix of ASCII
 */
function takeText(prefix: string, length: number): string {
  const start = used + prefix.length + length > pool.length ? fillPool() : used;
  for (let at = 0; at < prefix.length; at++) pool[start + at] = prefix.charCodeAt(at);
  used = start + prefix.length + length;
  return pool.toString('latin1', start, used);
}

/** @returns the position of the first character */
function fillPool(): 0 {
  for (let filled = 0; filled < pool.length; ) {
    randomFillSync(random);
    for (let at = 0; at < random.length && filled < pool.length; at++) {
      const letter = random[at]! & 63;
      if (letter < 62) pool[filled++] = alphabet[letter]!; // skips 62 and 63: all characters are equally likely
    }
  }
  return 0;
}

/** An id of the interface: prefix + 24 random base62 characters, as in `resp_…`, `msg_…`, `gen-…`. */
export const createId = (prefix: string): string => takeText(prefix, 24);

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
    lastPrefix = '';
    for (let rest = now, place = 0; place < 8; place++) {
      lastPrefix = String.fromCharCode(alphabet[rest % 62]!) + lastPrefix;
      rest = Math.floor(rest / 62);
    }
  }
  return takeText(prefix + lastPrefix, 16);
}

/** Derives a UUID (RFC 9562, version 8): the same parts have the same UUID everywhere. */
export function deriveUuid(...parts: readonly string[]): string {
  const hex = hash('sha256', parts.join('\0'));
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
