import { routesOf } from '../http/define-route.ts';
import { openAIError } from '../openapi/error-shapes.ts';
import { runHeaders, textParameter } from '../openapi/parameters.ts';
import { named } from '../openapi/schema-writer.ts';
import { chatSchema } from '../requests/chat/schema.ts';
import { completionSchema } from '../requests/completions/schema.ts';
import { messagesSchema } from '../requests/messages/schema.ts';
import { requestSchema } from '../requests/responses/schema.ts';
import { createChatHandler } from './chat-completions/handler.ts';
import { completionObject, textCompletionObject } from './chat-completions/shapes.ts';
import { createCompletionHandler } from './completions/handler.ts';
import { createCountTokensHandler } from './messages/count-tokens.ts';
import { writeMessagesError } from './messages/errors.ts';
import { createMessagesHandler } from './messages/handler.ts';
import { messageError, messageObject, tokenCount } from './messages/shapes.ts';
import { writeOpenAIError } from './openai-errors.ts';
import { createCompactHandler } from './responses/compact.ts';
import { createCountInputHandler } from './responses/count-input.ts';
import { createResponsesHandler } from './responses/handler.ts';
import { compactedWindow, inputTokens, responseObject } from './responses/shapes.ts';
import type { TextParts } from './serve-text.ts';

const route = routesOf<TextParts>({ base: '/api/v1', tag: 'Inference', permission: 'inference' });

const openAIErrors = { errors: writeOpenAIError, error: openAIError };
const messagesErrors = { errors: writeMessagesError, error: messageError };
const responseRequest = named('ResponseRequest', requestSchema);
const messagesRequest = named('MessagesRequest', messagesSchema);

/** The routes that generate texts. `gemini/routes.ts` has those of the Gemini API. */
export const textRoutes = [
  route('POST', '/responses', {
    id: 'createResponse',
    summary: 'Create a response',
    description:
      'The OpenAI Responses format with the fields of routing. Unknown top-level fields are ignored and named in `X-Router-Dropped-Fields`. `GET` on the same path opens a WebSocket for responses, which this document cannot describe.',
    headers: {
      ...runHeaders,
      'X-Router-Tool-Output': textParameter('`enabled` shows the output of commands while they run.'),
      'X-Router-Events': textParameter('`standard` leaves out the events that only this gateway has.'),
    },
    body: {
      schema: responseRequest,
      example: { model: 'simulator/echo', input: 'Hello!' },
    },
    response: {
      description: 'The response. With `stream: true` an event stream that ends with `[DONE]`.',
      schema: responseObject,
      stream: 'Server-sent events. `data` of each is an object with `type` and `sequence_number`.',
    },
    takesInterns: true,
    open: createResponsesHandler,
  }),
  route('POST', '/responses/compact', {
    id: 'compactResponse',
    summary: 'Compact a conversation',
    description: 'Returns the window that replaces a conversation in the next request. It is not streamed.',
    headers: runHeaders,
    body: {
      schema: responseRequest,
      example: { model: 'simulator/echo', input: 'Hello!' },
    },
    response: {
      description: 'The messages of the user, and a `compaction` that stands for everything else.',
      schema: compactedWindow,
    },
    takesInterns: true,
    open: createCompactHandler,
  }),
  route('POST', '/responses/input_tokens', {
    id: 'countInput',
    summary: 'Count the input tokens of a response',
    body: {
      schema: responseRequest,
      example: { model: 'simulator/echo', input: 'Hello!' },
    },
    response: {
      description: 'The count of the provider, or an estimate: `X-Router-Token-Count` is `provider` or `estimate`.',
      schema: inputTokens,
    },
    takesInterns: true,
    open: createCountInputHandler,
  }),
  route('POST', '/chat/completions', {
    id: 'createChatCompletion',
    summary: 'Create a chat completion',
    description:
      'The OpenAI chat completions format with the fields of routing. Unknown top-level fields are ignored and named in `X-Router-Dropped-Fields`.',
    headers: runHeaders,
    body: {
      schema: named('ChatCompletionRequest', chatSchema),
      example: { model: 'simulator/echo', messages: [{ role: 'user', content: 'Hello!' }] },
    },
    response: {
      description: 'The completion. With `stream: true` an event stream that ends with `[DONE]`.',
      schema: completionObject,
      stream: 'Server-sent events. `data` of each is a `chat.completion.chunk`.',
    },
    takesInterns: true,
    ...openAIErrors,
    open: createChatHandler,
  }),
  route('POST', '/completions', {
    id: 'createCompletion',
    summary: 'Create a text completion',
    description: 'The older completions format, for one text prompt.',
    headers: runHeaders,
    body: {
      schema: named('CompletionRequest', completionSchema),
      example: { model: 'simulator/echo', prompt: 'Hello!' },
    },
    response: {
      description: 'The completion. With `stream: true` an event stream that ends with `[DONE]`.',
      schema: textCompletionObject,
      stream: 'Server-sent events. `data` of each is a `text_completion`.',
    },
    takesInterns: true,
    ...openAIErrors,
    open: createCompletionHandler,
  }),
  route('POST', '/messages', {
    id: 'createMessage',
    summary: 'Create a message',
    description: 'The Anthropic Messages format with the fields of routing. Every model serves it.',
    headers: runHeaders,
    body: {
      schema: messagesRequest,
      example: { model: 'simulator/echo', max_tokens: 100, messages: [{ role: 'user', content: 'Hello!' }] },
    },
    response: {
      description: 'The message. With `stream: true` an event stream that ends with `message_stop`.',
      schema: messageObject,
      stream: 'Server-sent events: `message_start`, blocks of content, `message_delta` and `message_stop`.',
    },
    takesInterns: true,
    ...messagesErrors,
    open: createMessagesHandler,
  }),
  route('POST', '/messages/count_tokens', {
    id: 'countTokens',
    summary: 'Count the input tokens of a message',
    body: {
      schema: messagesRequest,
      example: { model: 'simulator/echo', messages: [{ role: 'user', content: 'Hello!' }] },
    },
    response: {
      description: 'The count of the provider, or an estimate: `X-Router-Token-Count` is `provider` or `estimate`.',
      schema: tokenCount,
    },
    takesInterns: true,
    ...messagesErrors,
    open: createCountTokensHandler,
  }),
];
