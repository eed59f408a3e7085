import type { IncomingMessage } from 'node:http';
import { EgressRefusal } from './egress-refusal.ts';
import { type EgressTarget, readTarget } from './read-target.ts';

/**
 * Reads the host of a request.
 *
 * @returns `isNamed`: whether the `Host` header names it, too
 * @throws {EgressRefusal}
 */
export function readRequestTarget(
  request: IncomingMessage,
  tunnel: EgressTarget | undefined,
): EgressTarget & { path: string; isNamed: boolean } {
  const url = request.url ?? '';
  if (!tunnel) {
    const parsed = /^http:\/\//i.test(url) ? URL.parse(url) : null;
    if (!parsed || parsed.username !== '' || parsed.password !== '') {
      throw new EgressRefusal(
        400,
        'This is an HTTP proxy: it needs CONNECT, or a GET of an http:// URL without credentials.',
      );
    }
    const target = readTarget(`${parsed.hostname}:${parsed.port || 80}`);
    const header = request.headers.host?.toLowerCase() ?? '';
    const isNamed = [target.authority, `${target.authority}:80`].includes(header);
    return { ...target, path: parsed.pathname + parsed.search, isNamed };
  }
  const { host: header } = request.headers;
  const named = header === undefined ? undefined : readTarget(header, tunnel.port);
  if (named?.host !== tunnel.host || named.port !== tunnel.port) {
    throw new EgressRefusal(403, `The Host header must be ${tunnel.host}, as in CONNECT.`, tunnel);
  }
  if (!url.startsWith('/') && url !== '*') throw new EgressRefusal(400, 'In a tunnel, the request needs a path.');
  return { ...tunnel, path: url, isNamed: true };
}
