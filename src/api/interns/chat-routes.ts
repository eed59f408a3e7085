import { Type } from 'typebox';
import { routesOf } from '../../http/define-route.ts';
import { checkInternChatBody, checkInvokeBody } from '../../management/interns/chat-bodies.ts';
import { wordParameter } from '../../openapi/parameters.ts';
import { type InternRouteSettings, internApi } from './api.ts';
import { writeInternChatError } from './chat-failure.ts';
import type { createChatHandlers } from './chat-handlers.ts';
import type { createDaemonHandlers } from './daemon.ts';
import type { createLogHandler } from './logs.ts';

export interface InternChatRouteParts
  extends ReturnType<typeof createChatHandlers>,
    ReturnType<typeof createDaemonHandlers>,
    InternRouteSettings {
  showInternLog: ReturnType<typeof createLogHandler>;
}

const route = routesOf<InternChatRouteParts>({ ...internApi, errors: writeInternChatError });

const access = {
  summary: 'Find the host name of an intern and its token',
  response: {
    description: 'The origin and the token. It must not be cached.',
    schema: Type.Object({ origin: Type.String(), token: Type.String() }),
  },
  statuses: [409, 429],
};

/** The chat API of interns. @see docs/reference/intern-chat.md */
export const internChatRoutes = [
  route('POST', '/:intern_id/chat/completions', {
    id: 'chatWithIntern',
    summary: 'Send a message to an intern',
    description: 'A message for a run in progress is a 202.',
    body: {
      check: checkInternChatBody,
      example: { stream: true, session_id: 'notes', messages: [{ role: 'user', content: 'What did I ask before?' }] },
    },
    response: {
      description: 'Chunks of chat completions as server-sent events.',
      type: 'text/event-stream',
    },
    statuses: [409, 410, 429, 502, 504],
    open: ({ chatWithIntern }) => chatWithIntern,
  }),
  route('POST', '/:intern_id/invoke', {
    id: 'invokeIntern',
    summary: 'Give an intern work without a connection',
    body: { check: checkInvokeBody, example: { input: 'Write the report.' } },
    response: {
      status: 202,
      description: 'The run has begun, or one in progress has taken the input.',
      schema: Type.Object({ session_id: Type.String(), status: Type.Enum(['started', 'steered']) }),
    },
    statuses: [409, 415, 429, 502],
    open: ({ invokeIntern }) => invokeIntern,
  }),
  route('GET', '/:intern_id/logs', {
    id: 'showInternLog',
    summary: 'Show the log of an intern',
    query: {
      follow: wordParameter('`true`: the response continues with new lines until the intern stops.', 'true', 'false'),
    },
    response: { description: 'The latest lines, each with its time.', type: 'text/plain' },
    statuses: [409, 502],
    open: ({ showInternLog }) => showInternLog,
  }),
  route('GET', '/:intern_id/daemon', { id: 'showDaemon', ...access, open: ({ showDaemon }) => showDaemon }),
  route('GET', '/:intern_id/daemon-access', {
    id: 'showDaemonAccess',
    ...access,
    open: ({ showDaemonAccess }) => showDaemonAccess,
  }),
];
