import type { Answer } from './public-schemas.ts';

/** An inbound API that answers with text: its simplest request, and the types of its answers. */
export interface AnsweringApi {
  name: string;
  /** The wire of the same format. Fields that its provider wrote pass unchanged. */
  sameAs?: string;
  whole: Answer;
  event: Answer;
  error: Answer;
  /** Names the type of an event that reports a failure. */
  findFailure(event: Record<string, unknown>): Answer | undefined;
  write(model: string, isStreamed: boolean): { path: string; body: object };
}

const user = { role: 'user', content: 'Hello' };
const isOnlyError = (event: object) => Object.keys(event).join() === 'error';
const hasCustomTool = (model: string) => model.endsWith('/custom-tool');

export const answeringApis: readonly AnsweringApi[] = [
  {
    name: 'responses',
    sameAs: 'openai-responses',
    whole: 'response',
    event: 'responseEvent',
    error: 'openaiError',
    findFailure: () => undefined,
    write: (model, stream) => ({
      path: '/responses',
      body: {
        model,
        stream,
        input: 'Hello',
        include: ['reasoning.encrypted_content'],
        ...(hasCustomTool(model) && { tools: [{ type: 'custom', name: 'run_python' }] }),
      },
    }),
  },
  {
    name: 'chat',
    sameAs: 'openai-chat',
    whole: 'chatCompletion',
    event: 'chatCompletionChunk',
    error: 'openaiError',
    findFailure: (event) => (isOnlyError(event) ? 'openaiError' : undefined),
    write: (model, stream) => ({
      path: '/chat/completions',
      body: {
        model,
        stream,
        messages: [user],
        ...(stream && { stream_options: { include_usage: true } }),
        ...(hasCustomTool(model) && { tools: [{ type: 'custom', custom: { name: 'run_python' } }] }),
      },
    }),
  },
  {
    name: 'completions',
    whole: 'completion',
    event: 'completion',
    error: 'openaiError',
    findFailure: (event) => (isOnlyError(event) ? 'openaiError' : undefined),
    write: (model, stream) => ({ path: '/completions', body: { model, stream, prompt: 'Hello' } }),
  },
  {
    name: 'messages',
    sameAs: 'anthropic-messages',
    whole: 'message',
    event: 'messageEvent',
    error: 'messageError',
    findFailure: ({ type }) => (type === 'error' ? 'messageError' : undefined),
    write: (model, stream) => ({ path: '/messages', body: { model, stream, max_tokens: 500, messages: [user] } }),
  },
  {
    name: 'gemini',
    sameAs: 'gemini',
    whole: 'content',
    event: 'content',
    error: 'contentError',
    findFailure: (event) => (isOnlyError(event) ? 'contentError' : undefined),
    write: (model, stream) => ({
      path: `/api/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
      body: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
    }),
  },
];
