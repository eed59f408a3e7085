import { readChatSeen, readMessageSeen, readResponseSeen } from './read-seen.ts';
import type { Seen } from './seen.ts';
import { ChatChunkWriter } from '../../src/api/chat-completions/write-chunks.ts';
import { writeCompletion } from '../../src/api/chat-completions/write-completion.ts';
import type { ChatFacts } from '../../src/api/chat-completions/chat-facts.ts';
import { writeOpenAIError } from '../../src/api/openai-errors.ts';
import { writeMessagesError } from '../../src/api/messages/errors.ts';
import { foldMessage, MessageFormat } from '../../src/api/messages/message-format.ts';
import type { MessageFacts } from '../../src/api/messages/message-events.ts';
import { checkAccepted } from '../../src/api/responses/accept-request.ts';
import { renameError, withNames } from '../../src/api/serve-text.ts';
import type { FinishChunk, StartChunk } from '../../src/domain/chunks.ts';
import type { GatewayError } from '../../src/domain/errors.ts';
import type { ResponseRequest } from '../../src/domain/request.ts';
import type { ResponseObject } from '../../src/domain/response.ts';
import type { ErrorDialect } from '../../src/http/error-dialect.ts';
import { writeErrorEnvelope } from '../../src/http/error-envelope.ts';
import { type EventFormat, EventWriter } from '../../src/http/sse.ts';
import { createChatNames } from '../../src/requests/chat/name-fields.ts';
import { type ChatOutputSettings, checkChatBody, readChat } from '../../src/requests/chat/request.ts';
import { checkMessagesBody, citeBody, readMessagesRequest } from '../../src/requests/messages/request.ts';
import type { RenameFields } from '../../src/requests/rename-fields.ts';
import { readRequest } from '../../src/requests/responses/request.ts';

/** A body that an API has accepted. */
export interface AcceptedBody {
  request: ResponseRequest;
  rename: RenameFields;
  /** Whether its handler says so to the pipeline. */
  returnsReasoning?: boolean;
  output?: ChatOutputSettings;
}

/** Facts of an exchange that the pipeline has and the events have not. */
export interface Exchange {
  start?: StartChunk | undefined;
  finish?: FinishChunk | undefined;
  error?: GatewayError;
}

type Fields = Record<string, unknown>;

/** A question in no format. */
export interface Question {
  system?: string;
  /** What the user says: a text, or `{image}`, `{pdf}` with a URL or a data URL. */
  parts: (string | { image: string } | { pdf: string })[];
  tools?: { name: string; description: string; schema: Fields }[];
  /** A tool must be called, and only one. */
  needsOneCall?: true;
  effort?: 'low' | 'high';
  answerSchema?: Fields;
  /** The model may search the web. */
  searches?: true;
  /** The response must be an image. */
  wantsImage?: true;
}

/** An API of texts: its bodies, and what its clients do with a response. */
export interface Api {
  id: string;
  accept(body: unknown): AcceptedBody;
  openFormat(accepted: AcceptedBody, exchange: Exchange): EventFormat;
  writeWhole(response: ResponseObject, accepted: AcceptedBody, exchange: Exchange): string;
  writeError(error: GatewayError, accepted: AcceptedBody | undefined): ReturnType<ErrorDialect>;
  /** Writes a question as a body of the API. */
  writeBody(question: Question): Fields;
  /** Reads a response as a client does. */
  read(body: string, isStreamed: boolean): Seen;
  /** Adds the response and an output for each of its calls to a body, as a client does for the next turn. */
  continueBody(body: Fields, seen: Seen): Fields;
}

const same: RenameFields = (text) => text;
const readDataUrl = (url: string) => /^data:([^;]+);base64,(.*)$/.exec(url);

export const responsesApi: Api = {
  id: 'responses',
  accept: (body) => ({ request: checkAccepted(readRequest(body as object, {}), {}).request, rename: same }),
  openFormat: () => new EventWriter(),
  writeWhole: (response) => JSON.stringify(response),
  writeError: (error) => writeErrorEnvelope(error),
  writeBody: ({ system, parts, tools, needsOneCall, effort, answerSchema, searches, wantsImage }) => ({
    model: 'acme/one',
    max_output_tokens: 4096,
    ...(system && { instructions: system }),
    ...(effort && { reasoning: { effort } }),
    ...(answerSchema && {
      text: { format: { type: 'json_schema', name: 'answer', schema: answerSchema, strict: true } },
    }),
    ...(tools && {
      tools: tools.map(({ name, description, schema }) => ({
        type: 'function',
        name,
        description,
        parameters: schema,
      })),
    }),
    ...(needsOneCall && { tool_choice: 'required', parallel_tool_calls: false }),
    ...(searches && { tools: [{ type: 'web_search' }] }),
    ...(wantsImage && { modalities: ['text', 'image'] }),
    input: [
      {
        role: 'user',
        content: parts.map((part) => {
          if (typeof part === 'string') return { type: 'input_text', text: part };
          if ('image' in part) return { type: 'input_image', image_url: part.image };
          const isData = part.pdf.startsWith('data:');
          const file = isData ? { filename: 'a.pdf', file_data: part.pdf } : { file_url: part.pdf };
          return { type: 'input_file', ...file };
        }),
      },
    ],
  }),
  read: readResponseSeen,
  continueBody: (body, { raw, calls }) => ({
    ...body,
    input: [
      ...(body['input'] as unknown[]),
      ...(raw['output'] as unknown[]),
      ...calls.map(({ id }) => ({ type: 'function_call_output', call_id: id, output: `output of ${id}` })),
      { role: 'user', content: 'Go on' },
    ],
  }),
};

export const chatApi: Api = {
  id: 'chat completions',
  accept(body) {
    const text = JSON.stringify(body);
    const rename = createChatNames(() => JSON.parse(text));
    const checked = checkChatBody(body);
    const { read, output } = withNames(rename, () => readChat(checked, {}));
    withNames(rename, () => checkAccepted(read, {}));
    return { request: read.request, rename, output, returnsReasoning: !output.hidesReasoning };
  },
  openFormat: (accepted, exchange) => new ChatChunkWriter(chatFacts(accepted, exchange)),
  writeWhole: (response, accepted, exchange) =>
    JSON.stringify(writeCompletion(response, chatFacts(accepted, exchange))),
  writeError: (error, accepted) => writeOpenAIError(accepted ? renameError(error, accepted.rename) : error),
  writeBody: ({ system, parts, tools, needsOneCall, effort, answerSchema, searches, wantsImage }) => ({
    model: 'acme/one',
    max_completion_tokens: 4096,
    stream_options: { include_usage: true },
    ...(effort && { reasoning_effort: effort }),
    ...(answerSchema && {
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: answerSchema, strict: true } },
    }),
    ...(tools && {
      tools: tools.map(({ name, description, schema }) => ({
        type: 'function',
        function: { name, description, parameters: schema },
      })),
    }),
    ...(needsOneCall && { tool_choice: 'required', parallel_tool_calls: false }),
    ...(searches && { web_search_options: {} }),
    ...(wantsImage && { modalities: ['text', 'image'] }),
    messages: [
      ...(system ? [{ role: 'system', content: system }] : []),
      {
        role: 'user',
        content: parts.map((part) => {
          if (typeof part === 'string') return { type: 'text', text: part };
          if ('image' in part) return { type: 'image_url', image_url: { url: part.image } };
          const isData = part.pdf.startsWith('data:');
          return { type: 'file', file: { ...(isData && { filename: 'a.pdf' }), file_data: part.pdf } };
        }),
      },
    ],
  }),
  read: readChatSeen,
  continueBody: (body, { raw, calls }) => ({
    ...body,
    messages: [
      ...(body['messages'] as unknown[]),
      raw,
      ...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: `output of ${id}` })),
      { role: 'user', content: 'Go on' },
    ],
  }),
};

const chatFacts = ({ output, rename }: AcceptedBody, exchange: Exchange): ChatFacts => ({
  ...output!,
  rename,
  readsNumbers: false,
  id: 'gen-1',
  created: 0,
  requested: 'acme/one',
  findProvider: () => 'Acme',
  findNativeReason: () => exchange.finish?.nativeReason ?? exchange.finish?.reason,
  findError: () => exchange.error,
});

export const messagesApi: Api = {
  id: 'messages',
  accept(body) {
    const text = JSON.stringify(body);
    const rename = citeBody(() => JSON.parse(text));
    const checked = checkMessagesBody(body);
    const format = { version: undefined, betas: [] };
    const read = withNames(rename, () => checkAccepted(readMessagesRequest(checked, format, {}), {}));
    return { request: read.request, rename, returnsReasoning: true };
  },
  openFormat: (accepted, exchange) => new MessageFormat(messageFacts(accepted, exchange)),
  writeWhole: (response, accepted, exchange) => JSON.stringify(foldMessage(response, messageFacts(accepted, exchange))),
  writeError: (error, accepted) =>
    writeMessagesError(accepted ? renameError(error, accepted.rename) : error, undefined, {
      id: 'req_1',
      headers: {},
      url: '/api/v1/messages',
    }),
  writeBody: ({ system, parts, tools, needsOneCall, effort, answerSchema, searches, wantsImage }) => ({
    model: 'acme/one',
    max_tokens: 4096,
    ...(system && { system }),
    ...((effort || answerSchema) && {
      output_config: {
        ...(effort && { effort }),
        ...(answerSchema && { format: { type: 'json_schema', schema: answerSchema } }),
      },
    }),
    ...(tools && {
      tools: tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
    }),
    ...(needsOneCall && { tool_choice: { type: 'any', disable_parallel_tool_use: true } }),
    ...(searches && { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
    ...(wantsImage && { modalities: ['text', 'image'] }),
    messages: [
      {
        role: 'user',
        content: parts.map((part) => {
          if (typeof part === 'string') return { type: 'text', text: part };
          const url = 'image' in part ? part.image : part.pdf;
          const data = readDataUrl(url);
          const source = data ? { type: 'base64', media_type: data[1], data: data[2] } : { type: 'url', url };
          return 'image' in part ? { type: 'image', source } : { type: 'document', source };
        }),
      },
    ],
  }),
  read: readMessageSeen,
  continueBody: (body, { raw, calls }) => ({
    ...body,
    messages: [
      ...(body['messages'] as unknown[]),
      { role: 'assistant', content: raw['content'] },
      {
        role: 'user',
        content: [
          ...calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: `output of ${id}` })),
          { type: 'text', text: 'Go on' },
        ],
      },
    ],
  }),
};

const messageFacts = ({ rename }: AcceptedBody, exchange: Exchange): MessageFacts => ({
  requestId: 'req_1',
  rename,
  estimateInput: () => 1,
  readStart: () => exchange.start?.native,
  readEnd: () => exchange.finish?.native,
  readStop: () => exchange.finish?.stopText,
});

export const apis: readonly Api[] = [responsesApi, chatApi, messagesApi];
