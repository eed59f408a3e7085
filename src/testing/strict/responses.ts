import { json, type ScriptedResponse, sse } from '../scripted-responses.ts';
import { planOutput } from './plan-output.ts';
import { findRefusal, type StrictRules } from './rules.ts';
import { emptyMessage, isFields, parseArguments, type Schema, type Seen, seeImage, type SeenMessage } from './seen.ts';
import type { ResponseParts, StrictProvider } from './strict-provider.ts';
import { type Envelope, envelopes, speak } from './words.ts';

/** A server of the Responses format: what it refuses, and how it answers. */
export interface ResponsesDescription {
  id: string;
  provider?: string;
  model: string;
  envelope?: Envelope;
  rules: StrictRules;
  /** Whether it makes compactions. Other servers do not know the call and the items. */
  compacts?: boolean;
  /** Whether every event has another item id. */
  otherItemIds?: boolean;
}

/** Creates a strict server of the Responses format. */
export function strictResponses(described: ResponsesDescription): StrictProvider {
  const { id, provider, model, envelope = envelopes.openai, rules, compacts = false } = described;
  return {
    id,
    ...(provider !== undefined && { provider }),
    wire: 'openai-responses',
    model,
    check: (body, path) =>
      refuseCompaction(body as ResponsesBody, path, compacts, envelope) ??
      findRefusal(rules, envelope, readResponses(body as ResponsesBody), body),
    answer: (body, parts) =>
      isCompactCall(parts.path)
        ? json(compactWindow(body as ResponsesBody))
        : answerResponses(body as ResponsesBody, described, parts),
  };
}

type Fields = Record<string, unknown>;

const isCompactCall = (path: string): boolean => path.endsWith('/responses/compact');

/** The fields of the call. Source: developers.openai.com/api/reference, Compact a response */
const compactFields: ReadonlySet<string> = new Set([
  ...['model', 'input', 'instructions', 'previous_response_id', 'prompt_cache_key', 'prompt_cache_options'],
  ...['prompt_cache_retention', 'service_tier', 'image'],
]);

/** Begins the content of the compactions that a fake has made. */
export const STRICT_COMPACTION = 'gAAAAStrict+/=';

/** Refuses calls and items of compactions that the server does not know, or has not made. */
function refuseCompaction(body: ResponsesBody, path: string, compacts: boolean, envelope: Envelope) {
  if (isCompactCall(path)) {
    if (!compacts) return speak(envelope, { message: 'Not Found', status: 404 });
    const unknown = Object.keys(body).find((name) => !compactFields.has(name));
    if (unknown !== undefined)
      return speak(envelope, {
        message: `Unknown parameter: '${unknown}'.`,
        param: unknown,
        code: 'unknown_parameter',
      });
  }
  for (const [index, { type, encrypted_content: content }] of (body.input ?? []).entries()) {
    const param = `input[${index}]`;
    if (type === 'compaction_trigger' && (!compacts || index < body.input.length - 1))
      return speak(envelope, { message: `Invalid value: '${type}'.`, param, code: 'invalid_value' });
    if (type === 'compaction' && !(compacts && String(content).startsWith(STRICT_COMPACTION)))
      return speak(envelope, {
        message: 'The encrypted content could not be verified.',
        param,
        code: 'invalid_encrypted_content',
      });
  }
  return undefined;
}

const compaction = { id: 'cmp_1', type: 'compaction', encrypted_content: `${STRICT_COMPACTION}opaque` };
const usage = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 10,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 30,
};

/** The messages of the user, and a compaction. */
const compactWindow = ({ input }: ResponsesBody): Fields => ({
  id: 'resp_1',
  object: 'response.compaction',
  created_at: 1_700_000_000,
  output: [
    ...input.filter(({ role }) => role === 'user').map((item) => ({ ...item, status: 'completed' })),
    compaction,
  ],
  usage,
});

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
  const long = input.findIndex(({ id }) => typeof id === 'string' && id.length > 64);
  if (long !== -1)
    seen.fault = `Invalid 'input[${long}].id': string too long. Expected a string with maximum length 64.`;
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
  const isTriggered = body.input.at(-1)?.type === 'compaction_trigger';
  const planned = planOutput(readResponses(body), () => `call_${String(nextCall()).padStart(24, 'B')}`);
  const output: Fields[] = isTriggered
    ? [compaction]
    : planned.calls.map(({ id, name, input }, index) => ({
        id: `fc_${index}`,
        type: 'function_call',
        status: 'completed',
        call_id: id,
        name,
        arguments: JSON.stringify(input),
      }));
  if (planned.text !== '' && !isTriggered) {
    const part = { type: 'output_text', text: planned.text, annotations: [], logprobs: [] };
    output.push({ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [part] });
  }
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
    if (item['type'] === 'compaction') {
      frames.push(event('response.output_item.added', { output_index: index, item }));
    } else if (typeof given === 'string') {
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
