import { type Static, Type } from 'typebox';
import { byKind } from '../../../schema/by-kind.ts';
import { cacheControl, maybe } from '../../../schema/shapes.ts';
import { annotation, answerPart, generatedImage, reasoningDetail, chatPart, thinkingBlock } from './parts.ts';

const content = Type.Union([Type.String(), Type.Array(chatPart)]);
const name = maybe(Type.String());

const inputMessage = <Role extends 'system' | 'developer' | 'user'>(role: Role) =>
  Type.Object({ role: Type.Literal(role), content, name });

const functionCall = Type.Object({ name: Type.String(), arguments: Type.String() });

/** Each kind of call. A stream has the `index`, which some clients send back. */
export const toolCallShapes = {
  function: Type.Object({
    type: Type.Optional(Type.Literal('function')),
    id: Type.String(),
    index: Type.Optional(Type.Unknown()),
    function: functionCall,
    extra_content: Type.Optional(Type.Unknown()),
    cache_control: maybe(cacheControl),
  }),
  custom: Type.Object({
    type: Type.Literal('custom'),
    id: Type.String(),
    index: Type.Optional(Type.Unknown()),
    custom: Type.Object({ name: Type.String(), input: Type.String() }),
    cache_control: maybe(cacheControl),
  }),
};

const toolCall = byKind('a tool call', 'type', toolCallShapes, { kindWithoutKey: () => 'function' });

const assistant = Type.Object({
  role: Type.Literal('assistant'),
  content: maybe(Type.Union([Type.String(), Type.Array(answerPart)])),
  name,
  refusal: maybe(Type.String()),
  reasoning: maybe(Type.String()),
  reasoning_content: maybe(Type.String()),
  reasoning_details: maybe(Type.Array(reasoningDetail)),
  thinking_blocks: maybe(Type.Array(thinkingBlock)),
  tool_calls: maybe(Type.Array(toolCall)),
  function_call: maybe(functionCall),
  annotations: maybe(Type.Array(annotation)),
  file_annotations: maybe(Type.Array(annotation)),
  images: maybe(Type.Array(generatedImage)),
  audio: Type.Optional(Type.Null({ says: 'is not offered: audio is not generated, so there is none to refer to' })),
  model: maybe(Type.String()),
});

const tool = Type.Object({
  role: Type.Literal('tool'),
  tool_call_id: Type.String(),
  content: Type.Union([Type.String(), Type.Array(chatPart)]),
  name,
});

const functionOutput = Type.Object({
  role: Type.Literal('function'),
  name: Type.String(),
  content: Type.Union([Type.String(), Type.Null()]),
});

/** An entry of `messages`. @see docs/reference/chat-completions.md#messages */
export const chatMessage = byKind(
  'a message',
  'role',
  {
    system: inputMessage('system'),
    developer: inputMessage('developer'),
    user: inputMessage('user'),
    assistant,
    tool,
    function: functionOutput,
  },
  { component: 'ChatMessage' },
);

export type ChatRequestMessage = Static<typeof chatMessage>;

/** An assistant message of an earlier response. */
export type AssistantMessage = Static<typeof assistant>;

/** The fields of each role. */
export const messageFields: Readonly<Record<string, ReadonlySet<string>>> = Object.fromEntries(
  Object.entries({ system: inputMessage('system'), assistant, tool, function: functionOutput }).map(
    ([role, { properties }]) => [role, new Set(Object.keys(properties))],
  ),
);
