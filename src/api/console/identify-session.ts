import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { findSession, isCsrfToken, isSessionOpen } from '../../access/console-sessions.ts';
import type { Caller } from '../../domain/caller.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { ConsoleSession, ConsoleStore } from '../../platform/storage/ports/console.ts';
import { readSessionCookie, usesTls } from './session-cookie.ts';

/** A session, and the text of its cookie. */
export interface OpenSession {
  session: ConsoleSession;
  token: string;
}

const sessions = new WeakMap<object, OpenSession>();

/** Returns the session that a request was sent in. Undefined: it was sent with a key. */
export const sessionOf = (request: FastifyRequest): OpenSession | undefined => sessions.get(request.raw);

/**
 * Creates a function that finds out whether a request may go on: its session has not ended, or it was sent with a key. It does not
 * count as a use of the session.
 *
 * @throws {GatewayError} `unavailable`
 */
export const createSessionCheck =
  (store: Pick<ConsoleStore, 'findSession'>) =>
  async (request: FastifyRequest): Promise<boolean> => {
    const open = sessionOf(request);
    return open === undefined || (await isSessionOpen(store, open.session));
  };

/** Methods that change nothing. */
const isSafe = (method: string): boolean => method === 'GET' || method === 'HEAD' || method === 'OPTIONS';

/** A file of a caller that is opened with the cookie must not run as a page of the gateway. */
const sessionHeaders = {
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'private, no-store',
};

/**
 * Checks that a page of the gateway's own origin has sent the request, or no page. Browsers omit the header without TLS.
 *
 * @throws {GatewayError} `permission_denied`
 */
export function checkSite({ 'sec-fetch-site': site }: IncomingHttpHeaders): void {
  if (site === undefined || site === 'same-origin' || site === 'none') return;
  throw new GatewayError('permission_denied', 'A page of another origin cannot use the session of the console.');
}

/**
 * Creates a function that finds the caller of a request with the cookie of the console.
 *
 * Pages of interns have subdomains of the gateway's host, which browsers treat as the same site. So the cookie counts only for
 * requests of the console's own pages, and every change needs the session's CSRF token.
 *
 * @returns undefined if the request has no cookie, or upgrades its connection
 */
export function createSessionIdentifier(
  store: ConsoleStore,
  findCaller: (keyHash: string) => Caller | undefined,
  publicUrl: () => string | undefined,
) {
  async function identify(request: FastifyRequest, reply: FastifyReply, token: string): Promise<Caller> {
    const { headers, method } = request;
    checkSite(headers);
    const session = await findSession(store, token);
    const caller = session && findCaller(session.keyHash);
    if (!caller) throw new GatewayError('authentication', 'The session of the console has ended. Sign in again.');
    const csrf = headers['x-headgate-csrf'];
    if (!isSafe(method) && !(typeof csrf === 'string' && isCsrfToken(csrf, token))) {
      const text = 'Changes in a session of the console need its `csrf_token` in the header `X-Headgate-CSRF`.';
      throw new GatewayError('permission_denied', text);
    }
    sessions.set(request.raw, { session, token });
    reply.headers(sessionHeaders);
    return caller;
  }

  return (request: FastifyRequest, reply: FastifyReply): Promise<Caller> | undefined => {
    if (request.headers.upgrade !== undefined) return undefined;
    const token = readSessionCookie(request.headers, usesTls(publicUrl(), request.headers));
    return token === undefined ? undefined : identify(request, reply, token);
  };
}
