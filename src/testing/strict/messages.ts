import { json, type ScriptedResponse, sse } from '../scripted-responses.ts';
import { planOutput } from './plan-output.ts';
import { findRefusal, type StrictRules } from './rules.ts';
import { emptyMessage, isFields, type Schema, type Seen, type SeenImage, type SeenMessage } from './seen.ts';
import type { ResponseParts, StrictProvider } from './strict-provider.ts';
import { type Envelope, envelopes } from './words.ts';

/** A server of the Messages format: what it refuses, and how it answers. */
export interface MessagesDescription {
  id: string;
  provider?: string;
  model: string;
  envelope?: Envelope;
  rules: StrictRules;
  answer?: MessagesShape;
}

export interface MessagesShape {
  callId?: (index: number, name: string) => string;
  /** Whether thinking has a signature. Default true. */
  signed?: boolean;
  /** Whether the model thinks although the request does not say so. */
  thinksByDefault?: boolean;
  /** Whether a stream ends with `message_stop`. Default true. */
  stop?: boolean;
  /** Whether the input is counted in the last event instead of the first. */
  inputLast?: boolean;
}

/** Creates a strict server of the Messages format. */
export function strictMessages(described: MessagesDescription): StrictProvider {
  const { id, provider, model, envelope = envelopes.anthropic, rules, answer = {} } = described;
  return {
    id,
    ...(provider !== undefined && { provider }),
    wire: 'anthropic-messages',
    model,
    check: (body) => findRefusal(rules, envelope, readMessages(body as MessagesBody), body),
    answer: (body, parts) => answerMessages(body as MessagesBody, answer, parts),
  };
}

interface MessagesBody {
  model: string;
  system?: string | Block[];
  messages: { role: 'user' | 'assistant' | 'system'; content: string | Block[] }[];
  tools?: {
    type?: string;
    name: string;
    description?: string;
    input_schema?: Schema;
    strict?: unknown;
    cache_control?: { ttl?: string; scope?: string };
  }[];
  tool_choice?: { type: string; name?: string; disable_parallel_tool_use?: boolean };
  thinking?: { type: string; budget_tokens?: number };
  output_config?: { effort?: string; format?: { type: string; schema?: Schema } };
  max_tokens?: number;
  stop_sequences?: string[];
  stream?: boolean;
  [field: string]: unknown;
}

interface Block {
  type: string;
  text?: string;
  id?: string;
  name?: string;
  input?: unknown;
  tool_use_id?: string;
  content?: string | Block[];
  source?: { type: string; media_type?: string; data?: string };
  cache_control?: { ttl?: string; scope?: string };
  [field: string]: unknown;
}

const choices = { auto: 'auto', none: 'none', any: 'required', tool: 'named' } as const;
const asBlocks = (content: string | Block[] | undefined): Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);

function readMessages(body: MessagesBody): Seen {
  const { system, messages = [], tools, tool_choice: choice, thinking, output_config: config } = body;
  const marked: { cache_control?: { ttl?: string; scope?: string }; text?: string }[] = [...(tools ?? [])];
  const prompt = system === undefined ? [] : [readTurn({ role: 'system', content: system }, marked)];
  const seen: Seen = {
    settings: body,
    messages: [...prompt, ...messages.map((turn) => readTurn(turn, marked))],
    stops: body.stop_sequences ?? [],
    stream: body.stream === true,
    marks: marked.flatMap(({ cache_control: mark, text }) => (mark ? [{ ...mark, isEmpty: text === '' }] : [])),
  };
  if (tools)
    seen.tools = tools
      .filter(({ type }) => type === undefined || type === 'custom')
      .map(({ name, description, input_schema: parameters, strict }) => ({
        name,
        ...(description !== undefined && { description }),
        ...(parameters && { parameters }),
        ...(strict !== undefined && { strict }),
      }));
  seen.hosted = (tools ?? []).flatMap(({ type }) => (type === undefined || type === 'custom' ? [] : [type]));
  if (choice) seen.choice = choices[choice.type as keyof typeof choices];
  if (choice?.name !== undefined) seen.chosen = choice.name;
  if (config?.format) seen.format = { kind: 'json_schema', schema: config.format.schema ?? {} };
  if (typeof body.max_tokens === 'number') seen.output = body.max_tokens;
  if (thinking) seen.thinking = !['disabled', 'between_tools'].includes(thinking.type);
  if (config?.effort !== undefined) seen.effort = config.effort;
  if (thinking?.type === 'enabled' && (thinking.budget_tokens ?? 0) >= (body.max_tokens ?? 0))
    seen.fault = '`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation.';
  if ((thinking?.budget_tokens ?? 1024) < 1024)
    seen.fault = 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024';
  return seen;
}

function readTurn({ role, content, ...rest }: MessagesBody['messages'][number], marked: object[]): SeenMessage {
  const seen = emptyMessage(role);
  if (role === 'system' && 'output_config' in rest) seen.kinds.push('text'); // an effort needs no content
  for (const block of asBlocks(content)) {
    marked.push(block);
    switch (block.type) {
      case 'tool_use':
        seen.calls.push({ id: String(block.id), name: String(block.name), arguments: block.input });
        break;
      case 'tool_result': {
        const inner = asBlocks(block.content);
        marked.push(...inner);
        const images = inner.filter(({ type }) => type === 'image').map(readImage);
        seen.images.push(...images);
        if (Array.isArray(block.content))
          // a string may be blank
          seen.texts.push(...inner.filter(({ type }) => type === 'text').map(({ text }) => text ?? ''));
        seen.results.push({
          id: String(block.tool_use_id),
          hasImages: images.length > 0,
          isEmpty: inner.length === 0,
          kinds: inner.map(({ type }) => type),
        });
        break;
      }
      case 'thinking':
      case 'redacted_thinking':
        seen.hasReasoning = true;
        seen.isSigned = typeof block['signature'] === 'string' && block['signature'] !== '';
        break;
      default:
        seen.kinds.push(block.type);
        if (block.type === 'text') seen.texts.push(block.text ?? '');
        if (block.type === 'image') seen.images.push(readImage(block));
    }
  }
  return seen;
}

const readImage = ({ source }: Block): SeenImage =>
  source?.type === 'base64' ? { data: String(source.data), type: String(source.media_type) } : {};

const anthropicId = (index: number): string => `toolu_01${String(index).padStart(22, 'A')}`;

function answerMessages(body: MessagesBody, shape: MessagesShape, { nextCall }: ResponseParts): ScriptedResponse {
  const { callId = anthropicId, signed = true, stop = true, inputLast, thinksByDefault = false } = shape;
  const seen = readMessages(body);
  if (body.tool_choice?.disable_parallel_tool_use) seen.settings = { ...body, parallel_tool_calls: false };
  const planned = planOutput(seen, (name) => callId(nextCall(), name));
  const thinks = seen.thinking ?? thinksByDefault;
  const content: Record<string, unknown>[] = [
    ...(thinks
      ? [{ type: 'thinking', thinking: planned.thoughts, ...(signed && { signature: 'EqoBCkgIARABGAIiQL8strict' }) }]
      : []),
    ...(planned.text === '' ? [] : [{ type: 'text', text: planned.text }]),
    ...planned.calls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input })),
  ];
  const reason = planned.calls.length > 0 ? 'tool_use' : 'end_turn';
  const usage = { input_tokens: 20, output_tokens: 10 };
  const message = { id: 'msg_01Strict', type: 'message', role: 'assistant', model: body.model, stop_sequence: null };
  if (!body.stream) return json({ ...message, content, stop_reason: reason, usage });
  const frames: Record<string, unknown>[] = [
    {
      type: 'message_start',
      message: {
        ...message,
        content: [],
        stop_reason: null,
        usage: { input_tokens: inputLast ? 0 : 20, output_tokens: 1 },
      },
    },
  ];
  for (const [index, block] of content.entries()) frames.push(...writeBlock(index, block));
  const last = inputLast ? usage : { output_tokens: 10 };
  frames.push({ type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage: last });
  if (stop) frames.push({ type: 'message_stop' });
  return sse(frames, { named: true });
}

function writeBlock(index: number, block: Record<string, unknown>): Record<string, unknown>[] {
  const delta = (part: object) => ({ type: 'content_block_delta', index, delta: part });
  const start = (content: object) => ({ type: 'content_block_start', index, content_block: content });
  const end = { type: 'content_block_stop', index };
  if (block['type'] === 'text')
    return [start({ type: 'text', text: '' }), delta({ type: 'text_delta', text: block['text'] }), end];
  if (block['type'] === 'tool_use') {
    const given = JSON.stringify(block['input']);
    const pieces = isFields(block['input']) && given !== '{}' ? [given.slice(0, 3), given.slice(3)] : [''];
    return [
      start({ ...block, input: {} }),
      ...pieces.map((piece) => delta({ type: 'input_json_delta', partial_json: piece })),
      end,
    ];
  }
  return [
    start({ type: 'thinking', thinking: '', ...('signature' in block && { signature: '' }) }),
    delta({ type: 'thinking_delta', thinking: block['thinking'] }),
    ...('signature' in block ? [delta({ type: 'signature_delta', signature: block['signature'] })] : []),
    end,
  ];
}
