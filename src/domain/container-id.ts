import { createHash } from 'node:crypto';

/** Prefix of the ids of containers of sessions. */
const SESSION = 'sess_';

/** Characters of a session key that the id of its container begins with if it needs a hash. */
const MAX_SHOWN = 18;

/** Digits of the hash: 160 bits. */
const HASH_LENGTH = 40;

/** Session keys that the id of a container contains as they are, unless they look like the id after a restart. */
const plainKey = /^[A-Za-z0-9_-]{1,40}$/;

const restartSuffix = /-r[a-z0-9]{12}$/;

/** Random characters of an id after a restart. */
export const NONCE_LENGTH = 12;

/** Ids of containers: those that callers choose, and the longer ones of sessions and restarts. As a JSON Schema pattern. */
export const containerIdPattern = '^([A-Za-z0-9_-]{1,40}|sess_[A-Za-z0-9_-]{1,59})(-r[a-z0-9]{12})?$';

/** The rule of the pattern, for error messages. */
export const containerIdRule = 'must be 1 to 40 letters, digits, `_` or `-`, or an id that a tool has returned';

export const containerIdShape = new RegExp(containerIdPattern);

/**
 * Returns the id of the container of a session. Different keys have different ids: an id with a hash has more characters
 * than one with a plain key.
 *
 * @param key not empty; it can have any characters
 */
export function nameSessionContainer(key: string): string {
  if (plainKey.test(key) && !restartSuffix.test(key)) return SESSION + key;
  const shown = key.replace(/[^A-Za-z0-9_]+/g, '-').slice(0, MAX_SHOWN);
  // UTF-8 has no halves of surrogate pairs, so that keys with different ones would have the same hash.
  const digest = createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('hex').slice(0, HASH_LENGTH);
  return `${SESSION}${shown}-${digest}`;
}

/**
 * Returns the id of the container that replaces another one after a restart.
 *
 * @param nonce 12 lower-case letters and digits
 */
export const nameRestarted = (id: string, nonce: string): string => `${id.replace(restartSuffix, '')}-r${nonce}`; // choice 516
