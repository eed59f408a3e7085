import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A sealed text was changed, belongs to another row, or was sealed with another key. */
export class SealError extends Error {
  constructor(options?: ErrorOptions) {
    super('The sealed data cannot be opened.', options);
    this.name = 'SealError';
  }
}

/**
 * Encrypts bytes with AES-256-GCM under a random nonce.
 *
 * @param key 32 bytes
 * @param place identifies the row: the bytes open only together with the same values
 * @returns nonce, ciphertext and tag as base64
 */
export function seal(key: Uint8Array, plain: Uint8Array, place: readonly unknown[]): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(writePlace(place));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64');
}

/**
 * Decrypts what `seal` returned. The caller overwrites the bytes after use.
 *
 * @throws {SealError}
 */
export function unseal(key: Uint8Array, sealed: string, place: readonly unknown[]): Buffer {
  const bytes = Buffer.from(sealed, 'base64');
  // Another spelling of the same bytes is a change, too.
  if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString('base64') !== sealed) throw new SealError();
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(writePlace(place));
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
  const plain = decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES));
  try {
    decipher.final(); // it returns no bytes in this mode
  } catch (cause) {
    plain.fill(0);
    throw new SealError({ cause });
  }
  return plain;
}

/** JSON keeps the values apart: no two lists have the same text. */
const writePlace = (place: readonly unknown[]): Buffer => Buffer.from(JSON.stringify(place), 'utf8');

/** Derives a key of 32 bytes for one purpose. */
export const deriveKey = (from: Uint8Array, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', from, Buffer.alloc(0), `headgate ${purpose}`, KEY_BYTES));
