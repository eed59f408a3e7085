import { Type } from 'typebox';
import { invalidRequest } from '../../domain/errors.ts';
import { characterCount, oneOf } from '../../schema/shapes.ts';
import { createBodyCheck, strictBody } from '../check-body.ts';

/** Characters of a message. */
const MAX_INPUT = 32_000;

const message = Type.Object({
  role: oneOf('system', 'developer', 'user', 'assistant', 'tool'),
  content: Type.Optional(
    Type.Union([
      Type.String(),
      Type.Null(),
      Type.Array(Type.Object({ type: Type.Literal('text'), text: Type.String() })),
    ]),
  ),
  tool_call_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  tool_calls: Type.Optional(
    Type.Array(
      Type.Object({ id: Type.String(), function: Type.Object({ name: Type.String(), arguments: Type.String() }) }),
    ),
  ),
});

const sessionId = Type.Optional(Type.String({ minLength: 1, maxLength: 256 }));

/** Other fields have no effect. */
export const checkInternChatBody = createBodyCheck(
  Type.Object({
    stream: Type.Literal(true),
    messages: Type.Array(message, { minItems: 1 }),
    session_id: sessionId,
    approval_mode: Type.Optional(oneOf('self-drive', 'manual')),
    model: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  }),
);

export const checkInvokeBody = createBodyCheck(
  strictBody({ input: Type.String({ minLength: 1, maxLength: MAX_INPUT }), session_id: sessionId }),
);

/** A parsed request of the chat API. */
export type ChatRequest =
  | { kind: 'message'; text: string; sessionId: string | undefined; mode: 'self-drive' | 'manual' }
  | { kind: 'reply'; text: string; sessionId: string; interactionId: string };

/** Reads the last message of a body. @throws {GatewayError} `invalid_request` */
export function readChatRequest(body: unknown): ChatRequest {
  const { messages, session_id: given, approval_mode: mode = 'self-drive' } = checkInternChatBody(body);
  const last = messages.at(-1)!; // at least one
  const path = `messages[${messages.length - 1}]`;
  const { content = null } = last;
  const text = Array.isArray(content) ? content.map((part) => part.text).join('') : (content ?? '');
  if (last.role === 'tool') {
    if (last.tool_call_id === undefined)
      throw invalidRequest([{ path: `${path}.tool_call_id`, message: 'is missing' }]);
    if (given === undefined)
      throw invalidRequest([{ path: 'session_id', message: 'is missing: a `tool` message needs it' }]);
    return { kind: 'reply', text, sessionId: given, interactionId: last.tool_call_id };
  }
  if (last.role !== 'user') {
    throw invalidRequest([
      { path: `${path}.role`, message: `is ${last.role}; the last message must be one of user, tool` },
    ]);
  }
  if (text === '') throw invalidRequest([{ path: `${path}.content`, message: 'is empty' }]);
  const length = characterCount(text);
  if (length > MAX_INPUT) {
    const says = `has ${length} characters; at most ${MAX_INPUT} are allowed`;
    throw invalidRequest([{ path: `${path}.content`, message: says }]);
  }
  return { kind: 'message', text, sessionId: given, mode };
}
