import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** The credentials with which the processes of one sandbox use the proxy. */
export interface ProxyCredentials {
  /** Not secret: it finds the sandbox. */
  username: string;
  /** 256 random bits. Without characters that a URL must encode. */
  password: string;
}

export const createProxyCredentials = (): ProxyCredentials => ({
  username: randomBytes(12).toString('hex'),
  password: randomBytes(32).toString('base64url'),
});

/** @param values of the header `Proxy-Authorization` @returns undefined: there is no header, or more than one valid value */
export function readProxyAuthorization(values: readonly string[] | undefined): ProxyCredentials | undefined {
  const [value = '', ...others] = values ?? [];
  const [, text] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(value.trim()) ?? [];
  if (text === undefined || others.length > 0) return undefined;
  const [, username, password] = /^([^:]*):(.*)$/s.exec(Buffer.from(text, 'base64').toString('latin1')) ?? [];
  return username === undefined || password === undefined ? undefined : { username, password };
}

/** Hashes a password, so that passwords of any length are compared in constant time. */
export const hashPassword = (password: string): Buffer => createHash('sha256').update(password, 'latin1').digest();

/** Compares in constant time, also if the user is unknown. */
export const isPassword = (password: string, hash: Buffer | undefined): boolean =>
  timingSafeEqual(hashPassword(password), hash ?? NONE);

/** The hash of no password. */
const NONE = randomBytes(32);
