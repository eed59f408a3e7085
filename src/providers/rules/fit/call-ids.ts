import { hash } from 'node:crypto';
import type { Rules } from '../facets.ts';

const allowed = { any: /^/, word: /^[A-Za-z0-9_-]+$/, alphanumeric: /^[A-Za-z0-9]+$/ };
const DEFAULT_LENGTH = 24;

/**
 * Creates the function that returns the id of a call for a server. An id that the server accepts stays. Any other
 * becomes a hash of itself, so that the call and its result have the same one, in every request.
 */
export function createIdFitter(rule: NonNullable<Rules['ids']>): (id: string) => string {
  const { characters = 'any', length, max_length: maximum = length ?? Number.POSITIVE_INFINITY } = rule;
  const pattern = allowed[characters];
  const size = length ?? Math.min(DEFAULT_LENGTH, maximum);
  const known = new Map<string, string>();
  return (id) => {
    if (pattern.test(id) && id.length <= maximum && (length === undefined || id.length === length)) return id;
    const fitted = known.get(id) ?? hashId(id, size);
    known.set(id, fitted);
    return fitted;
  };
}

/** Letters and digits, which every server accepts. */
const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

function hashId(id: string, size: number): string {
  let hashed = '';
  for (let round = 0; hashed.length < size; round++) {
    const bytes = hash('sha256', `${round}:${id}`, 'buffer');
    // Bytes above the last multiple of 62 would make some digits more frequent than others.
    for (const byte of bytes) if (byte < 248 && hashed.length < size) hashed += digits[byte % digits.length];
  }
  return hashed;
}
