import { type ResponseParts, type Check, json, type Refusal, sse } from './strict-provider.ts';
import type { ScriptedResponse } from '../scripted-responses.ts';

/** A body of `/chat/completions`, as a server reads it. */
export interface StrictChatBody {
  model: string;
  messages: StrictMessage[];
  tools?: {
    type: string;
    function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean };
  }[];
  tool_choice?: string | { type: string; function?: { name: string } };
  response_format?: { type: string; json_schema?: Record<string, unknown> };
  stream?: boolean;
  [field: string]: unknown;
}

export interface StrictMessage {
  role: string;
  content?: string | { type: string; text?: string; [field: string]: unknown }[] | null;
  name?: string;
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
  prefix?: boolean;
  reasoning_content?: string;
  [field: string]: unknown;
}

export type ChatCheck = Check<StrictChatBody>;

/** Returns a refusal in the envelope of OpenAI. */
export const openaiRefusal = (message: string, param: string | null = null, status = 400): Refusal => ({
  status,
  body: { error: { message, type: 'invalid_request_error', param, code: null } },
});

export const textOf = ({ content }: StrictMessage): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('');

/**
 * Answers as a model does: calls the first tool if the last message is not a result and the request permits it,
 * otherwise writes a text. A JSON format gets an object.
 */
export function answerChat(body: StrictChatBody, { callId, nextCall }: ResponseParts): ScriptedResponse {
  const last = body.messages.at(-1);
  const calls = body.tools && body.tools.length > 0 && body.tool_choice !== 'none' && last?.role !== 'tool';
  const usage = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 };
  const base = { id: 'chatcmpl-1', created: 1_700_000_000, model: body.model };
  const wanted = typeof body.tool_choice === 'object' ? body.tool_choice.function?.name : undefined;
  const name = wanted ?? body.tools?.[0]?.function.name;
  const message = calls
    ? {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: callId(nextCall()), type: 'function', function: { name, arguments: '{}' } }],
      }
    : {
        role: 'assistant',
        content: body.response_format && body.response_format.type !== 'text' ? '{}' : 'Hello there.',
      };
  const finish = calls ? 'tool_calls' : 'stop';
  if (!body.stream) {
    const choices = [{ index: 0, message, finish_reason: finish }];
    return json({ ...base, object: 'chat.completion', choices, usage });
  }
  const delta = calls
    ? { ...message, tool_calls: message.tool_calls!.map((call) => ({ index: 0, ...call })) }
    : message;
  const chunk = (part: object) => ({ ...base, object: 'chat.completion.chunk', ...part });
  return sse([
    chunk({ choices: [{ index: 0, delta, finish_reason: null }] }),
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: finish }] }),
    chunk({ choices: [], usage }),
  ]);
}
