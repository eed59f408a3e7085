import { chatSchema } from '../../requests/chat/schema.ts';
import { completionSchema } from '../../requests/completions/schema.ts';
import { embeddingSchema } from '../../requests/embeddings/schema.ts';
import { editForm, generationSchema } from '../../requests/images/openai.ts';
import { imageSchema } from '../../requests/images/schema.ts';
import { messagesSchema } from '../../requests/messages/schema.ts';
import { rerankSchema } from '../../requests/rerank/schema.ts';
import { requestSchema } from '../../requests/responses/schema.ts';
import { completionObject, textCompletionObject } from '../bodies/completion.ts';
import { openAIError, rerankError } from '../bodies/error.ts';
import { messageError, messageObject, tokenCount } from '../bodies/message.ts';
import { compactedWindow, imageList, inputTokens, openAIImages, responseObject } from '../bodies/response.ts';
import { embeddingList, rerankResult } from '../bodies/retrieval.ts';
import type { Operations } from '../operation.ts';
import { named } from '../schema-writer.ts';
import { runHeaders, wordParameter } from './parameters.ts';

/** The routes that call models. */
export const inferenceOperations: Operations = {
  'POST /api/v1/responses': {
    tag: 'Inference',
    summary: 'Create a response',
    description:
      'The OpenAI Responses format with the fields of routing. Unknown top-level fields are ignored and named in `X-Router-Dropped-Fields`. `GET` on the same path opens a WebSocket for responses, which this document cannot describe.',
    headers: {
      ...runHeaders,
      'X-Router-Tool-Output': wordParameter(
        '`enabled` shows the output of commands while they run.',
        'enabled',
        'disabled',
      ),
      'X-Router-Events': wordParameter('`standard` leaves out the events that only this gateway has.', 'standard'),
    },
    body: {
      schema: named('ResponseRequest', requestSchema),
      example: { model: 'simulator/echo', input: 'Hello!' },
    },
    response: {
      description: 'The response. With `stream: true` an event stream that ends with `[DONE]`.',
      schema: responseObject,
      stream: 'Server-sent events. `data` of each is an object with `type` and `sequence_number`.',
    },
  },
  'POST /api/v1/responses/compact': {
    tag: 'Inference',
    summary: 'Compact a conversation',
    description: 'Returns the window that replaces a conversation in the next request. It is not streamed.',
    headers: runHeaders,
    body: {
      schema: named('ResponseRequest', requestSchema),
      example: { model: 'simulator/echo', input: 'Hello!' },
    },
    response: {
      description: 'The messages of the user, and a `compaction` that stands for everything else.',
      schema: compactedWindow,
    },
  },
  'POST /api/v1/responses/input_tokens': {
    tag: 'Inference',
    summary: 'Count the input tokens of a response',
    body: {
      schema: named('ResponseRequest', requestSchema),
      example: { model: 'simulator/echo', input: 'Hello!' },
    },
    response: {
      description: 'The count of the provider, or an estimate: `X-Router-Token-Count` is `provider` or `estimate`.',
      schema: inputTokens,
    },
  },
  'POST /api/v1/chat/completions': {
    error: openAIError,
    tag: 'Inference',
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
  },
  'POST /api/v1/messages': {
    tag: 'Inference',
    summary: 'Create a message',
    description: 'The Anthropic Messages format with the fields of routing. Every model serves it.',
    headers: runHeaders,
    body: {
      schema: named('MessagesRequest', messagesSchema),
      example: { model: 'simulator/echo', max_tokens: 100, messages: [{ role: 'user', content: 'Hello!' }] },
    },
    response: {
      description: 'The message. With `stream: true` an event stream that ends with `message_stop`.',
      schema: messageObject,
      stream: 'Server-sent events: `message_start`, blocks of content, `message_delta` and `message_stop`.',
    },
    error: messageError,
  },
  'POST /api/v1/messages/count_tokens': {
    tag: 'Inference',
    summary: 'Count the input tokens of a message',
    body: {
      schema: named('MessagesRequest', messagesSchema),
      example: { model: 'simulator/echo', messages: [{ role: 'user', content: 'Hello!' }] },
    },
    response: {
      description: 'The count of the provider, or an estimate: `X-Router-Token-Count` is `provider` or `estimate`.',
      schema: tokenCount,
    },
    error: messageError,
  },
  'POST /api/v1/embeddings': {
    error: openAIError,
    tag: 'Inference',
    summary: 'Create embeddings',
    headers: runHeaders,
    body: {
      schema: named('EmbeddingRequest', embeddingSchema),
      example: { model: 'simulator/embedding', input: ['A red fox', 'A fox that is red'] },
    },
    response: { description: 'A vector for each input, in the same order.', schema: embeddingList },
  },
  'POST /api/v1/rerank': {
    tag: 'Inference',
    summary: 'Rerank documents',
    headers: runHeaders,
    body: {
      schema: named('RerankRequest', rerankSchema),
      example: { model: 'simulator/rerank', query: 'red fox', documents: ['A blue bird', 'The red fox'] },
    },
    response: { description: 'The documents by relevance, the most relevant one first.', schema: rerankResult },
    error: rerankError,
  },
  'POST /api/v1/completions': {
    error: openAIError,
    tag: 'Inference',
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
  },
  'POST /api/v1/images': {
    tag: 'Inference',
    summary: 'Create images',
    headers: runHeaders,
    body: {
      schema: named('ImageRequest', imageSchema),
      example: { model: 'simulator/image', prompt: 'A red circle' },
    },
    response: {
      description: 'The images. With `stream: true` an event stream, if the endpoint can stream.',
      schema: imageList,
      stream: 'Server-sent events. `data` of each is an object with `type`.',
    },
    lacks: [408, 422, 503],
  },
  'POST /api/v1/images/generations': {
    error: openAIError,
    tag: 'Inference',
    summary: "Create images in OpenAI's shape",
    headers: runHeaders,
    body: {
      schema: named('ImageGenerationRequest', generationSchema),
      example: { model: 'simulator/image', prompt: 'A red circle' },
    },
    response: {
      description: 'The images. With `stream: true` an event stream.',
      schema: openAIImages,
      stream: 'Server-sent events. `data` of each is an object with `type`.',
    },
    lacks: [408, 422, 503],
  },
  'POST /api/v1/images/edits': {
    error: openAIError,
    tag: 'Inference',
    summary: "Edit images in OpenAI's shape",
    description: 'A JSON body is accepted, too: `images` has objects with `image_url`.',
    headers: runHeaders,
    body: { schema: named('ImageEditForm', editForm), type: 'multipart/form-data' },
    response: {
      description: 'The images. With `stream: true` an event stream.',
      schema: openAIImages,
      stream: 'Server-sent events. `data` of each is an object with `type`.',
    },
    lacks: [408, 422, 503],
  },
};
