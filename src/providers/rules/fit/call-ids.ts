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
  return (id) => {
    if (pattern.test(id) && id.length <= maximum && (length === undefined || id.length === length)) return id;
    return findHash(id, size);
  };
}

/**
 * Creates the functions that return the ids of the calls and of the results of one conversation, which are passed in
 * their order. With `unique`, a later call with a known id gets another one, and so does its result.
 */
export function createCallIds(rule: NonNullable<Rules['ids']>) {
  const toFitted = createIdFitter(rule);
  const count = (seen: Map<string, number>) => (id: string) => {
    const repetition = seen.get(id) ?? 0;
    seen.set(id, repetition + 1);
    return toFitted(repetition === 0 || !rule.unique ? id : `${id}#${repetition}`);
  };
  return { ofCall: count(new Map()), ofResult: count(new Map()) };
}

/** Hashes by the length and the id. Each turn of a conversation has the ids of all turns before it. */
const hashes = new Map<string, string>();
const MAX_HASHES = 5000;
const MAX_KEY = 100;

function findHash(id: string, size: number): string {
  const key = `${size} ${id}`;
  const known = hashes.get(key);
  if (known !== undefined) return known;
  const hashed = hashId(id, size);
  if (key.length > MAX_KEY) return hashed;
  if (hashes.size >= MAX_HASHES) hashes.clear();
  hashes.set(key, hashed);
  return hashed;
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
