import { json, type ScriptedResponse, sse } from '../scripted-responses.ts';
import { planOutput } from './plan-output.ts';
import { findRefusal, type StrictRules } from './rules.ts';
import { emptyMessage, isFields, parseArguments, type Schema, type Seen, seeImage, type SeenMessage } from './seen.ts';
import type { ResponseParts, StrictProvider } from './strict-provider.ts';
import { type Envelope, envelopes } from './words.ts';

/** A server of chat completions: what it refuses, and how it answers. */
export interface ChatDescription {
  id: string;
  provider?: string;
  model: string;
  envelope?: Envelope;
  rules: StrictRules;
  /** How the body turns reasoning on. Absent: by an effort other than `none`. */
  thinks?: (body: Record<string, unknown>) => boolean | undefined;
  answer?: ChatShape;
}

export interface ChatShape {
  /** Returns the id of a call. Absent: as OpenAI does. Undefined ids are left out. */
  callId?: (index: number, name: string) => string;
  /** Where a stream has its usage. */
  usage?: 'last' | 'choice' | 'with_finish';
  /** Where the reasoning is. Absent: there is none. */
  reasoning?: 'reasoning_content' | 'reasoning' | 'tags' | 'part' | 'reasoning_details';
  /** Whether the arguments of a call are in pieces. */
  pieces?: boolean;
  /** Leaves the index of calls out. */
  withoutIndex?: boolean;
  /** Whether a stream ends with `[DONE]`. Default true. */
  done?: boolean;
  /** Fields that each call has besides. */
  callExtra?: Record<string, unknown>;
}

/** Creates a strict server of chat completions. */
export function strictChat(described: ChatDescription): StrictProvider {
  const { id, provider, model, envelope = envelopes.openai, rules, thinks, answer = {} } = described;
  return {
    id,
    ...(provider !== undefined && { provider }),
    wire: 'openai-chat',
    model,
    check: (body) => findRefusal(rules, envelope, readChat(body as ChatBody, thinks), body),
    answer: (body, parts) => answerChat(body as ChatBody, answer, parts),
  };
}

interface ChatBody {
  model: string;
  messages: ChatMessage[];
  tools?: { function: { name: string; description?: string; parameters?: Schema; strict?: unknown } }[];
  tool_choice?: unknown;
  response_format?: { type?: string; json_schema?: { schema?: Schema } };
  stream?: boolean;
  [field: string]: unknown;
}

interface ChatMessage {
  role: SeenMessage['role'];
  content?: unknown;
  name?: string;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
  prefix?: boolean;
  [field: string]: unknown;
}

function readChat(body: ChatBody, thinks: ChatDescription['thinks']): Seen {
  const { messages = [], tools, tool_choice: choice, response_format: format, stop } = body;
  const output = body['max_completion_tokens'] ?? body['max_tokens'];
  const effort = body['reasoning_effort'] ?? (body['reasoning'] as { effort?: unknown } | undefined)?.effort;
  const thinking = thinks ? thinks(body) : effort === undefined ? undefined : effort !== 'none';
  const seen: Seen = {
    settings: body,
    messages: messages.map(readMessage),
    stops: [stop ?? []].flat().map(String),
    stream: body.stream === true,
    marks: messages.flatMap(({ content }) =>
      Array.isArray(content)
        ? content.flatMap((part) => (isFields(part?.cache_control) ? [part.cache_control] : []))
        : [],
    ),
  };
  if (tools) seen.tools = tools.map((tool) => tool.function);
  if (typeof choice === 'string') seen.choice = choice as NonNullable<Seen['choice']>;
  else if (isFields(choice)) {
    seen.choice = 'named';
    seen.chosen = String((choice['function'] as { name?: unknown } | undefined)?.name);
  }
  if (format?.type === 'json_object') seen.format = { kind: 'json_object' };
  if (format?.type === 'json_schema') seen.format = { kind: 'json_schema', schema: format.json_schema?.schema ?? {} };
  if (typeof output === 'number') seen.output = output;
  if (thinking !== undefined) seen.thinking = thinking;
  if (effort !== undefined) seen.effort = String(effort);
  const bad = messages.findIndex(({ role, tool_call_id: id }) => role === 'tool' && id === undefined);
  if (bad !== -1)
    seen.fault = `Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.`;
  return seen;
}

function readMessage(message: ChatMessage): SeenMessage {
  const { role, content, tool_calls: calls, tool_call_id: id, name, prefix } = message;
  const seen = emptyMessage(role);
  const parts = Array.isArray(content) ? (content as Record<string, unknown>[]) : [];
  if (typeof content === 'string' && content !== '') {
    seen.texts.push(content);
    seen.kinds.push('string');
  }
  for (const part of parts) {
    seen.kinds.push(String(part['type']));
    if (typeof part['text'] === 'string') seen.texts.push(part['text']);
    if (part['type'] === 'image_url') seen.images.push(seeImage((part['image_url'] as { url?: unknown })?.url));
  }
  seen.calls = (calls ?? []).map((call) => ({
    id: call.id,
    name: call.function.name,
    arguments: parseArguments(call.function.arguments),
  }));
  if (id !== undefined) {
    const hasImages = seen.images.length > 0;
    seen.results = [{ id, hasImages, isEmpty: seen.kinds.length === 0, kinds: seen.kinds }];
    seen.kinds = [];
  }
  if (name !== undefined) seen.name = name;
  if (prefix) seen.prefix = true;
  seen.hasReasoning = ['reasoning_content', 'reasoning', 'reasoning_details'].some(
    (field) => message[field] !== undefined,
  );
  seen.isSigned = (calls ?? []).some((call) => 'extra_content' in call);
  return seen;
}

/** The id of a call of OpenAI. */
const openaiId = (index: number): string => `call_${String(index).padStart(24, 'A')}`;

function answerChat(body: ChatBody, shape: ChatShape, { nextCall }: ResponseParts): ScriptedResponse {
  const { callId = openaiId, usage: place = 'last', reasoning, pieces, done = true } = shape;
  const planned = planOutput(readChat(body, undefined), (name) => callId(nextCall(), name));
  const usage = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 };
  const base = { id: 'chatcmpl-1', created: 1_700_000_000, model: body.model };
  const calls = planned.calls.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
    ...shape.callExtra,
  }));
  const finish = calls.length > 0 ? 'tool_calls' : 'stop';
  const text = reasoning === 'tags' ? `<think>${planned.thoughts}</think>${planned.text}` : planned.text;
  const content =
    reasoning === 'part'
      ? [
          { type: 'reasoning', summary: [{ type: 'summary_text', text: planned.thoughts }] },
          ...(text === '' ? [] : [{ type: 'text', text }]),
        ]
      : text === ''
        ? null
        : text;
  const thoughts =
    reasoning === 'reasoning_content' || reasoning === 'reasoning'
      ? { [reasoning]: planned.thoughts }
      : reasoning === 'reasoning_details'
        ? {
            reasoning: planned.thoughts,
            reasoning_details: [{ type: 'reasoning.text', text: planned.thoughts, index: 0 }],
          }
        : {};
  if (!body.stream) {
    const message = { role: 'assistant', content, ...thoughts, ...(calls.length > 0 && { tool_calls: calls }) };
    const choices = [{ index: 0, message, finish_reason: finish }];
    return json({ ...base, object: 'chat.completion', choices, usage });
  }
  const deltas: object[] = [{ role: 'assistant', content: '' }];
  if (Object.keys(thoughts).length > 0) deltas.push(thoughts);
  if (content !== null) deltas.push({ content });
  for (const [index, call] of calls.entries()) {
    const place = shape.withoutIndex ? {} : { index };
    const given = call.function.arguments;
    if (!pieces) {
      deltas.push({ tool_calls: [{ ...place, ...call }] });
      continue;
    }
    deltas.push({ tool_calls: [{ ...place, ...call, function: { ...call.function, arguments: '' } }] });
    for (const piece of [given.slice(0, 2), given.slice(2)])
      deltas.push({ tool_calls: [{ ...place, function: { arguments: piece } }] });
  }
  const chunk = (part: object) => ({ ...base, object: 'chat.completion.chunk', ...part });
  const end = { index: 0, delta: {}, finish_reason: finish, ...(place === 'choice' && { usage }) };
  return sse(
    [
      ...deltas.map((delta) => chunk({ choices: [{ index: 0, delta, finish_reason: null }] })),
      chunk({ choices: [end], ...(place === 'with_finish' && { usage }) }),
      ...(place === 'last' ? [chunk({ choices: [], usage })] : []),
    ],
    { done },
  );
}
