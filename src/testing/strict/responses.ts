import { json, type ScriptedResponse, sse } from '../scripted-responses.ts';
import { planOutput } from './plan-output.ts';
import { findRefusal, type StrictRules } from './rules.ts';
import { emptyMessage, isFields, parseArguments, type Schema, type Seen, seeImage, type SeenMessage } from './seen.ts';
import type { ResponseParts, StrictProvider } from './strict-provider.ts';
import { type Envelope, envelopes } from './words.ts';

/** A server of the Responses format: what it refuses, and how it answers. */
export interface ResponsesDescription {
  id: string;
  provider?: string;
  model: string;
  envelope?: Envelope;
  rules: StrictRules;
  /** Whether every event has another item id. */
  otherItemIds?: boolean;
}

/** Creates a strict server of the Responses format. */
export function strictResponses(described: ResponsesDescription): StrictProvider {
  const { id, provider, model, envelope = envelopes.openai, rules } = described;
  return {
    id,
    ...(provider !== undefined && { provider }),
    wire: 'openai-responses',
    model,
    check: (body) => findRefusal(rules, envelope, readResponses(body as ResponsesBody), body),
    answer: (body, parts) => answerResponses(body as ResponsesBody, described, parts),
  };
}

type Fields = Record<string, unknown>;

interface ResponsesBody {
  model: string;
  instructions?: string;
  input: (Fields & { type?: string; role?: SeenMessage['role'] })[];
  tools?: (Fields & { type: string; name: string; description?: string; parameters?: Schema; strict?: unknown })[];
  tool_choice?: unknown;
  text?: { format?: { type: string; schema?: Schema } };
  reasoning?: { effort?: string; summary?: string };
  max_output_tokens?: number;
  stream?: boolean;
  [field: string]: unknown;
}

function readResponses(body: ResponsesBody): Seen {
  const { input = [], tools, tool_choice: choice, text, reasoning } = body;
  const seen: Seen = {
    settings: body,
    messages: input.map(readItem),
    stops: [],
    stream: body.stream === true,
    marks: [],
  };
  if (tools) seen.tools = tools.filter(({ type }) => type === 'function');
  if (typeof choice === 'string') seen.choice = choice as NonNullable<Seen['choice']>;
  else if (isFields(choice) && typeof choice['name'] === 'string') {
    seen.choice = 'named';
    seen.chosen = choice['name'];
  }
  if (text?.format?.type === 'json_object') seen.format = { kind: 'json_object' };
  if (text?.format?.type === 'json_schema') seen.format = { kind: 'json_schema', schema: text.format.schema ?? {} };
  if (body.max_output_tokens !== undefined) seen.output = body.max_output_tokens;
  if (reasoning?.effort !== undefined) {
    seen.effort = reasoning.effort;
    seen.thinking = reasoning.effort !== 'none';
  }
  const ids = (kind: string) => input.flatMap((item) => (item.type === kind ? [String(item['call_id'])] : []));
  const calls = ids('function_call');
  const results = ids('function_call_output');
  const missing = calls.find((id) => !results.includes(id));
  const orphan = results.find((id) => !calls.includes(id));
  if (missing !== undefined) seen.fault = `No tool output found for function call ${missing}.`;
  if (orphan !== undefined) seen.fault = `No tool call found for function call output with call_id ${orphan}.`;
  return seen;
}

function readItem(item: ResponsesBody['input'][number]): SeenMessage {
  const { type = 'message', role = 'assistant' } = item;
  const seen = emptyMessage(type === 'function_call_output' ? 'tool' : role);
  if (type === 'function_call')
    seen.calls.push({
      id: String(item['call_id']),
      name: String(item['name']),
      arguments: parseArguments(item['arguments']),
    });
  const content = item['content'] ?? item['output'];
  if (typeof content === 'string') seen.texts.push(content);
  for (const part of Array.isArray(content) ? (content as Fields[]) : []) {
    seen.kinds.push(String(part['type']));
    if (typeof part['text'] === 'string') seen.texts.push(part['text']);
    if (part['type'] === 'input_image' && part['image_url'] !== undefined)
      seen.images.push(seeImage(part['image_url']));
  }
  if (type === 'function_call_output')
    seen.results.push({ id: String(item['call_id']), hasImages: false, isEmpty: false, kinds: [] });
  seen.hasReasoning = type === 'reasoning';
  return seen;
}

function answerResponses(
  body: ResponsesBody,
  { otherItemIds }: ResponsesDescription,
  { nextCall }: ResponseParts,
): ScriptedResponse {
  const planned = planOutput(readResponses(body), () => `call_${String(nextCall()).padStart(24, 'B')}`);
  const output: Fields[] = planned.calls.map(({ id, name, input }, index) => ({
    id: `fc_${index}`,
    type: 'function_call',
    status: 'completed',
    call_id: id,
    name,
    arguments: JSON.stringify(input),
  }));
  if (planned.text !== '') {
    const part = { type: 'output_text', text: planned.text, annotations: [], logprobs: [] };
    output.push({ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [part] });
  }
  const usage = {
    input_tokens: 20,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 30,
  };
  const base = { id: 'resp_1', object: 'response', created_at: 1_700_000_000, model: body.model, error: null };
  const whole = { ...base, status: 'completed', incomplete_details: null, output, usage };
  if (!body.stream) return json(whole);
  let number = 0;
  const event = (type: string, fields: Fields) => ({ type, sequence_number: number++, ...fields });
  const frames: Fields[] = [];
  frames.push(event('response.created', { response: { ...base, status: 'in_progress', output: [], usage: null } }));
  for (const [index, item] of output.entries()) {
    const place = () => ({
      output_index: index,
      item_id: otherItemIds ? `${String(item['id'])}_${number}` : item['id'],
    });
    const given = item['arguments'];
    if (typeof given === 'string') {
      frames.push(
        event('response.output_item.added', {
          output_index: index,
          item: { ...item, status: 'in_progress', arguments: '' },
        }),
        event('response.function_call_arguments.delta', { ...place(), delta: given }),
        event('response.function_call_arguments.done', { ...place(), arguments: given }),
      );
    } else {
      const [part] = item['content'] as Fields[];
      const at = () => ({ ...place(), content_index: 0 });
      frames.push(
        event('response.output_item.added', {
          output_index: index,
          item: { ...item, status: 'in_progress', content: [] },
        }),
        event('response.content_part.added', { ...at(), part: { ...part, text: '' } }),
        event('response.output_text.delta', { ...at(), delta: part!['text'], logprobs: [] }),
        event('response.output_text.done', { ...at(), text: part!['text'], logprobs: [] }),
        event('response.content_part.done', { ...at(), part }),
      );
    }
    frames.push(event('response.output_item.done', { output_index: index, item }));
  }
  frames.push(event('response.completed', { response: whole }));
  return sse(frames as { type: string }[], { named: true });
}
