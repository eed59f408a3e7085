import { Type } from 'typebox';
import { checkInternChatBody, checkInvokeBody } from '../../management/interns/chat-bodies.ts';
import { internError } from '../bodies/interns.ts';
import { wordParameter } from './parameters.ts';
import type { Operation, Operations } from '../operation.ts';

const operation = (fields: Omit<Operation, 'tag' | 'error'>): Operation => ({
  tag: 'Interns',
  error: internError,
  ...fields,
});

const access = operation({
  summary: 'Find the host name of an intern and its token',
  response: {
    description: 'The origin and the token. It must not be cached.',
    schema: Type.Object({ origin: Type.String(), token: Type.String() }),
  },
  statuses: [409, 429],
});

/** The chat API of interns. */
export const internChatOperations: Operations = {
  'POST /api/v1/interns/:intern_id/chat/completions': operation({
    summary: 'Send a message to an intern',
    description: 'A message for a run in progress is a 202.',
    body: {
      schema: checkInternChatBody.schema,
      example: { stream: true, session_id: 'notes', messages: [{ role: 'user', content: 'What did I ask before?' }] },
    },
    response: {
      description: 'Chunks of chat completions as server-sent events.',
      type: 'text/event-stream',
    },
    statuses: [409, 410, 429, 502, 504],
  }),
  'POST /api/v1/interns/:intern_id/invoke': operation({
    summary: 'Give an intern work without a connection',
    body: { schema: checkInvokeBody.schema, example: { input: 'Write the report.' } },
    response: {
      status: 202,
      description: 'The run has begun, or one in progress has taken the input.',
      schema: Type.Object({ session_id: Type.String(), status: Type.Enum(['started', 'steered']) }),
    },
    statuses: [409, 415, 429, 502],
  }),
  'GET /api/v1/interns/:intern_id/logs': operation({
    summary: 'Show the log of an intern',
    query: {
      follow: wordParameter('`true`: the response continues with new lines until the intern stops.', 'true', 'false'),
    },
    response: { description: 'The latest lines, each with its time.', type: 'text/plain' },
    statuses: [409, 502],
  }),
  'GET /api/v1/interns/:intern_id/daemon': access,
  'GET /api/v1/interns/:intern_id/daemon-access': access,
};
