import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Access } from '../../access/access.ts';
import {
  createCsrfToken,
  liveSessions,
  beginSession,
  sessionEndMs,
  useSignInToken,
} from '../../access/console-sessions.ts';
import type { Caller } from '../../domain/caller.ts';
import { GatewayError, invalidRequest } from '../../domain/errors.ts';
import { routesOf } from '../../http/define-route.ts';
import { createBodyCheck, strictBody } from '../../management/check-body.ts';
import { pageQuery } from '../../openapi/parameters.ts';
import { named } from '../../openapi/schema-writer.ts';
import { deleted, flag, inData, listOf, text, textOrNull, time } from '../../openapi/shapes.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { ConsoleSession, ConsoleStore } from '../../platform/storage/ports/console.ts';
import { oneOf } from '../../schema/shapes.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { checkSite, type OpenSession, sessionOf } from './identify-session.ts';
import { removeSessionCookie, usesTls, writeSessionCookie } from './session-cookie.ts';
import type { SignInAttempts } from './sign-in-attempts.ts';

export interface ConsoleParts {
  store: ConsoleStore;
  access: Pick<Access, 'identify' | 'findCaller' | 'refresh'>;
  attempts: SignInAttempts;
  /** Whether the operator offers the console. */
  isOffered: () => boolean;
  /** `server.public_url`. */
  publicUrl: () => string | undefined;
}

const api = {
  base: '/api/v1/console',
  tag: 'Console',
  permission: 'any',
  limitBody: () => ({ bytes: 4096, source: 'fixed for the console' }),
  isOffered: (parts: ConsoleParts) => parts.isOffered(),
} as const;
const route = routesOf<ConsoleParts>(api);

const common = {
  id: text,
  kind: oneOf('management', 'inference'),
  key_name: text,
  key_hash: text,
  created_at: time,
  expires_at: time,
};
const currentSession = named('ConsoleSession', Type.Object({ ...common, workspace_id: textOrNull, csrf_token: text }));
const listedSession = named(
  'ListedConsoleSession',
  Type.Object({ ...common, client: text, last_used_at: time, is_current: flag }),
);

const checkSignIn = createBodyCheck(
  strictBody({
    key: Type.Optional(Type.String({ minLength: 1, maxLength: 1000 })),
    token: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  }),
);

const writeCommon = (session: ConsoleSession, caller: Pick<Caller, 'kind' | 'keyName' | 'keyHash'>) => ({
  id: session.id,
  kind: caller.kind === 'management' ? ('management' as const) : ('inference' as const),
  key_name: caller.keyName,
  key_hash: caller.keyHash,
  created_at: new Date(session.createdAtMs).toISOString(),
  expires_at: new Date(sessionEndMs(session)).toISOString(),
});

const writeCurrent = ({ session, token }: OpenSession, caller: Caller) => ({
  data: {
    ...writeCommon(session, caller),
    workspace_id: caller.kind === 'management' ? null : caller.workspaceId,
    csrf_token: createCsrfToken(token),
  },
});

function requireSession(request: FastifyRequest): OpenSession {
  const open = sessionOf(request);
  if (!open) throw new GatewayError('not_found', 'This request has a key, and no session of the console.');
  return open;
}

async function findSignedIn(
  { store, access }: ConsoleParts,
  { raw }: FastifyRequest,
  { key, token }: { key?: string; token?: string },
): Promise<Caller> {
  if (key !== undefined) return access.identify([`Bearer ${key}`], raw.socket);
  const hash = await useSignInToken(store, token!);
  if (hash !== undefined) {
    // Another process may just have created the key. The link is used up, so it cannot be tried again.
    if (!access.findCaller(hash)) await callStore(access.refresh);
    const caller = access.findCaller(hash);
    if (caller) return caller;
  }
  throw new GatewayError(
    'authentication',
    'This link is not valid any more. It works once, within an hour. `headgate console` prints another one.',
  );
}

/** Signing in to the console. @see docs/guides/console.md */
export const consoleRoutes = [
  route('POST', '/sessions', {
    id: 'openConsoleSession',
    summary: 'Sign in to the console',
    description: 'With a key, or with the token of a link. The cookie of the response has the rights of the key.',
    permission: 'none',
    // A page of another origin could send JSON as text/plain, and so sign a person in with a key of its own.
    hasMediaTypeError: true,
    body: { check: checkSignIn, example: { token: 'ZzEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE' } },
    response: { status: 201, description: 'The session.', schema: inData(currentSession) },
    statuses: [400, 401, 403, 404, 413, 415, 429, 503],
    handle: async (parts, { request, reply, body }) => {
      checkSite(request.headers);
      if ((body.key === undefined) === (body.token === undefined)) {
        throw invalidRequest([{ path: '', message: 'Send either `key` or `token`.' }]);
      }
      const address = request.raw.socket.remoteAddress;
      parts.attempts.begin(address);
      let caller: Caller;
      try {
        caller = await findSignedIn(parts, request, body);
      } catch (error) {
        if (!(error instanceof GatewayError && error.kind === 'authentication')) parts.attempts.forget(address);
        throw error;
      }
      parts.attempts.forget(address);
      if (caller.internId !== undefined) {
        throw new GatewayError('permission_denied', 'The key of an intern cannot sign in to the console.');
      }
      const open = await beginSession(parts.store, caller.keyHash, request.headers['user-agent']);
      reply.headers({
        'set-cookie': writeSessionCookie(open.token, usesTls(parts.publicUrl(), request.headers)),
        'cache-control': 'no-store',
      });
      return writeCurrent(open, caller);
    },
  }),
  route('GET', '/session', {
    id: 'readConsoleSession',
    summary: 'Read the session of the request',
    statuses: [404],
    response: { description: 'The session.', schema: inData(currentSession) },
    handle: async (_parts, { request }) => writeCurrent(requireSession(request), request.caller!),
  }),
  route('DELETE', '/session', {
    id: 'closeConsoleSession',
    summary: 'Sign out of the console',
    statuses: [404],
    response: { description: 'The session has ended.', status: 204 },
    open: (parts) => async (request, reply) => {
      const { session } = requireSession(request);
      await callStore(() => parts.store.deleteSession(session.id));
      return reply
        .code(204)
        .header('set-cookie', removeSessionCookie(usesTls(parts.publicUrl(), request.headers)))
        .send();
    },
  }),
  route('GET', '/sessions', {
    id: 'listConsoleSessions',
    summary: 'List the sessions of the console',
    description: 'A management key sees those of all keys, and another key sees its own.',
    query: pageQuery,
    response: { description: 'A page of sessions, the newest first.', schema: listOf(listedSession) },
    handle: async ({ store, access }, { request }) => {
      const page = readQuery(request, readPage);
      const { kind, keyHash } = request.caller!;
      const query = { ...page, ...liveSessions(), ...(kind !== 'management' && { keyHash }) };
      const { rows, total } = await callStore(() => store.listSessions(query));
      const current = sessionOf(request)?.session.id;
      const data = rows.map((session) => ({
        ...writeCommon(session, access.findCaller(session.keyHash) ?? { ...unknownKey, keyHash: session.keyHash }),
        client: session.client,
        last_used_at: new Date(session.seenAtMs).toISOString(),
        is_current: session.id === current,
      }));
      return { data, total_count: total };
    },
  }),
  route('DELETE', '/sessions/:id', {
    id: 'deleteConsoleSession',
    summary: 'End a session of the console',
    statuses: [404],
    response: deleted,
    handle: async ({ store }, { request, params }) => {
      const { kind, keyHash } = request.caller!;
      const isDeleted = await callStore(() =>
        store.deleteSession(params.id, kind === 'management' ? undefined : keyHash),
      );
      if (!isDeleted) throw new GatewayError('not_found', 'There is no such session of the console.');
      return { deleted: true as const };
    },
  }),
];

/** A key that was disabled or deleted. Its sessions have ended. */
const unknownKey = { kind: 'member', keyName: '' } as const;
