import { hash, randomBytes } from 'node:crypto';

/** The kind of a key that its prefix shows: for requests to models, or for administration. */
export type KeyTextKind = 'inference' | 'management';

const prefixes: Record<KeyTextKind, string> = { inference: 'sk-rt-v1-', management: 'sk-rt-mgmt-v1-' };

/** Creates the text of a key: prefix and 64 random hex digits. It is shown once and never stored. */
export const createKeyText = (kind: KeyTextKind): string => prefixes[kind] + randomBytes(32).toString('hex');

/** SHA-256 of the whole key, 64 lower-case hex digits: the id of the key. Only this hash is stored. */
export const hashKey = (text: string): string => hash('sha256', text);

/** The number of a key, where the interface has an integer: the first 48 bits of its hash. */
export const deriveKeyNumber = (hash: string): number => Number.parseInt(hash.slice(0, 12), 16);

/**
 * Creates the label of a key: prefix, dots, last characters, as in `sk-rt-v1-abc...789`. A generated key shows 3 + 3 of
 * its 64 digits. Any other key shows at most 2 + 2 characters, and none if it is shorter than 16.
 *
 * @see docs/reference/http.md#authentication
 */
export function createKeyLabel(text: string): string {
  const prefix = Object.values(prefixes).find((known) => text.startsWith(known) && text.length === known.length + 64);
  if (prefix !== undefined) return `${text.slice(0, prefix.length + 3)}...${text.slice(-3)}`;
  return text.length < 16 ? '...' : `${text.slice(0, 2)}...${text.slice(-2)}`;
}
