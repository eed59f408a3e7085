import { randomFillSync } from 'node:crypto';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const pool = Buffer.allocUnsafe(4096);
let used = pool.length;

/** `length` random base62 characters (5.95 bits each), from a pool that is filled 4 KiB at a time. */
export function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const byte = pool[used++]! & 63;
    if (byte < 62) text += alphabet[byte]; // 62 and 63 are thrown away, so that every letter is equally likely
  }
  return text;
}

/** An id of the interface: prefix + 24 random base62 characters, as in `resp_…`, `msg_…`, `gen-…`. */
export const createId = (prefix: string): string => prefix + randomText(24);
