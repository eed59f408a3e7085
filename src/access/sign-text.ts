import { createHmac } from 'node:crypto';

/** A function of purpose and text → 64 hex digits. */
export type TextSigner = (purpose: string, text: string) => string;

/**
 * Creates the function that signs texts which callers keep for the gateway, so that they cannot change them. All hosts
 * with the same master key accept them.
 *
 * @returns a function of purpose and text → 64 hex digits
 */
export const createTextSigner =
  (masterKey: Buffer): TextSigner =>
  (purpose, text) =>
    createHmac('sha256', masterKey).update(`signature\0${purpose}\0${text}`).digest('hex');
