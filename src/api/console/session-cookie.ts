import type { IncomingHttpHeaders } from 'node:http';
import { MAX_SESSION_MS } from '../../access/console-sessions.ts';

/** Over TLS, browsers accept a name with this prefix only from this host itself, and not from its subdomains. */
const nameOf = (isSecure: boolean): string => `${isSecure ? '__Host-' : ''}headgate_session`;

/** Whether the browser uses TLS, which a proxy may end. */
export const usesTls = (publicUrl: string | undefined, headers: IncomingHttpHeaders): boolean =>
  publicUrl?.startsWith('https:') === true || headers['x-forwarded-proto'] === 'https';

/** Returns the text of the session's cookie. */
export function readSessionCookie({ cookie }: IncomingHttpHeaders, isSecure: boolean): string | undefined {
  const name = `${nameOf(isSecure)}=`;
  const found = cookie
    ?.split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(name));
  return found?.slice(name.length) || undefined;
}

/** Scripts cannot read the cookie, and pages of other sites cannot send it. */
const attributes = (isSecure: boolean): string => `; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;

export const writeSessionCookie = (token: string, isSecure: boolean): string =>
  `${nameOf(isSecure)}=${token}${attributes(isSecure)}; Max-Age=${MAX_SESSION_MS / 1000}`;

export const removeSessionCookie = (isSecure: boolean): string =>
  `${nameOf(isSecure)}=${attributes(isSecure)}; Max-Age=0`;
