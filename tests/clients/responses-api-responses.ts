import {
  type ScriptedResponse,
  json,
  type SseFrame,
  sse,
  stallBeforeHeaders,
} from '../../src/testing/scripted-responses.ts';
import type { ScriptedRequest } from '../../src/testing/scripted-upstream.ts';
import { type Call, cutJson, cutWords, defaultCounts, type Turn, writeInput } from './turn.ts';

const headers = { 'x-request-id': 'req_0deacd056f794ee8502471765a436e0e', 'openai-version': '2020-10-01' };
const noText = { type: 'output_text', annotations: [], logprobs: [], text: '' };

type Item = Record<string, unknown> & { id: string; type: string };
/** An event without its number. */
type Step = { type: string } & Record<string, unknown>;

/** Writes a turn in the protocol of `POST /responses`, streamed if the request says so. */
export function responsesApiResponse(turn: Turn, request: ScriptedRequest): ScriptedResponse {
  const asked = request.body as Record<string, unknown>; // the gateway's own request
  if (turn.fail) return failure(turn.fail);
  const items = outputOf(turn);
  if (asked.stream !== true && turn.after) return stallBeforeHeaders();
  if (asked.stream !== true) return json(ended(asked, turn, items), { headers });
  const answer = sse(numbered(stream(asked, turn, items)), { headers, named: true });
  return { ...answer, end: turn.after === 'silence' ? 'silence' : 'complete', pauseMs: turn.slowMs };
}

function failure({ status, message, retryAfterSeconds }: NonNullable<Turn['fail']>): ScriptedResponse {
  const type = status === 429 ? 'tokens' : status < 500 ? 'invalid_request_error' : 'server_error';
  const code = status === 429 ? 'rate_limit_exceeded' : null;
  const wait = retryAfterSeconds === undefined ? undefined : { 'retry-after': String(retryAfterSeconds) };
  return json({ error: { message, type, param: null, code } }, { status, headers: { ...headers, ...wait } });
}

function outputOf(turn: Turn): Item[] {
  const items: Item[] = [];
  if (turn.reasoning || turn.encrypted) {
    const summary = turn.reasoning ? [{ type: 'summary_text', text: turn.reasoning }] : [];
    const encrypted = turn.encrypted && { encrypted_content: turn.encrypted };
    items.push({ id: idOf('rs', items), type: 'reasoning', ...encrypted, summary });
  }
  if (turn.text !== undefined || turn.refusal !== undefined) {
    const part =
      turn.refusal === undefined ? { ...noText, text: turn.text } : { type: 'refusal', refusal: turn.refusal };
    const status = turn.finish ? 'incomplete' : 'completed';
    items.push({ id: idOf('msg', items), type: 'message', status, content: [part], role: 'assistant' });
  }
  for (const call of turn.calls ?? []) items.push(callItem(call, items));
  return items;
}

const idOf = (prefix: string, items: Item[]): string =>
  `${prefix}_44d1cf5467531d48877b03ab323d9a4526c24c9c${items.length}`;

function callItem(call: Call, items: Item[]): Item {
  const callId = `call_${items.length}${Buffer.from(call.name).toString('hex')}`.slice(0, 29);
  const isCustom = typeof call.input === 'string';
  return {
    id: idOf(isCustom ? 'ctc' : 'fc', items),
    type: isCustom ? 'custom_tool_call' : 'function_call',
    status: 'completed',
    [isCustom ? 'input' : 'arguments']: writeInput(call),
    call_id: callId,
    name: call.name,
  };
}

/** The response object of the provider. It echoes the request, as providers do. */
function response(asked: Record<string, unknown>, more: object) {
  return {
    id: 'resp_272dd63eca0a0712724d96ba436cfd187de9009a655c16cc',
    object: 'response',
    created_at: 1_763_650_000,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: asked.instructions ?? null,
    max_output_tokens: asked.max_output_tokens ?? null,
    max_tool_calls: null,
    model: 'gpt-5-mini-2025-08-07',
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    prompt_cache_retention: null,
    reasoning: { effort: 'medium', summary: null },
    safety_identifier: null,
    service_tier: 'auto',
    store: false,
    temperature: asked.temperature ?? 1,
    text: asked.text ?? { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: asked.tool_choice ?? 'auto',
    tools: asked.tools ?? [],
    top_logprobs: 0,
    top_p: asked.top_p ?? 1,
    truncation: 'disabled',
    usage: null,
    user: null,
    metadata: {},
    ...more,
  };
}

function ended(asked: Record<string, unknown>, turn: Turn, output: Item[]) {
  const reason = turn.finish === 'length' ? 'max_output_tokens' : turn.finish;
  const { input, cached, output: produced, reasoning } = turn.usage ?? defaultCounts;
  return response(asked, {
    status: reason ? 'incomplete' : 'completed',
    incomplete_details: reason ? { reason } : null,
    service_tier: 'default',
    output,
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: produced,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + produced,
    },
    completed_at: reason ? null : 1_763_650_003,
  });
}

function* numbered(steps: Iterable<Step>): Iterable<SseFrame> {
  let next = 0;
  for (const { type, ...fields } of steps) yield { type, sequence_number: next++, ...fields };
}

function* stream(asked: Record<string, unknown>, turn: Turn, items: Item[]): Iterable<Step> {
  yield { type: 'response.created', response: response(asked, {}) };
  yield { type: 'response.in_progress', response: response(asked, {}) };
  for (const [index, item] of items.entries()) {
    for (const step of itemSteps(item, index)) {
      if (turn.after && step.type === 'response.output_text.done') {
        if (turn.after === 'failure') yield failed(asked, items.slice(0, index));
        return;
      }
      yield step;
    }
  }
  const last = ended(asked, turn, items);
  yield { type: `response.${last.status}`, response: last };
}

function failed(asked: Record<string, unknown>, output: Item[]): Step {
  const error = { code: 'server_error', message: 'The server had an error.' };
  return { type: 'response.failed', response: response(asked, { status: 'failed', error, output }) };
}

function* itemSteps(item: Item, index: number): Iterable<Step> {
  const place = { item_id: item.id, output_index: index };
  const obfuscation = '40877';
  const begun: Item = { ...item };
  if ('status' in item) begun.status = 'in_progress';
  for (const field of ['content', 'summary']) if (field in item) begun[field] = [];
  for (const field of ['arguments', 'input']) if (field in item) begun[field] = '';
  yield { type: 'response.output_item.added', output_index: index, item: begun };
  if (item.type === 'reasoning') yield* summarySteps(item, place);
  if (item.type === 'message') yield* contentSteps(item, place);
  if (item.type === 'function_call') {
    const json = String(item.arguments);
    const type = 'response.function_call_arguments';
    for (const delta of cutJson(json)) yield { type: `${type}.delta`, ...place, delta, obfuscation };
    yield { type: `${type}.done`, ...place, name: item.name, arguments: json };
  }
  if (item.type === 'custom_tool_call') {
    const type = 'response.custom_tool_call_input';
    for (const delta of cutWords(String(item.input))) yield { type: `${type}.delta`, ...place, delta, obfuscation };
    yield { type: `${type}.done`, ...place, input: item.input };
  }
  yield { type: 'response.output_item.done', output_index: index, item };
}

function* summarySteps(item: Item, place: object): Iterable<Step> {
  for (const [summaryIndex, part] of (item.summary as { text: string }[]).entries()) {
    const at = { ...place, summary_index: summaryIndex };
    yield { type: 'response.reasoning_summary_part.added', ...at, part: { type: 'summary_text', text: '' } };
    for (const delta of cutWords(part.text)) yield { type: 'response.reasoning_summary_text.delta', ...at, delta };
    yield { type: 'response.reasoning_summary_text.done', ...at, text: part.text };
    yield { type: 'response.reasoning_summary_part.done', ...at, part };
  }
}

function* contentSteps(item: Item, place: object): Iterable<Step> {
  const [part] = item.content as [{ text?: string; refusal?: string }];
  const at = { ...place, content_index: 0 };
  const isRefusal = part.refusal !== undefined;
  const type = isRefusal ? 'response.refusal' : 'response.output_text';
  const logprobs = isRefusal ? undefined : { logprobs: [] };
  const bare = isRefusal ? { type: 'refusal', refusal: '' } : noText;
  yield { type: 'response.content_part.added', ...at, part: bare };
  for (const delta of cutWords(part.refusal ?? part.text ?? ''))
    yield { type: `${type}.delta`, ...at, delta, ...logprobs };
  yield isRefusal
    ? { type: `${type}.done`, ...at, refusal: part.refusal }
    : { type: `${type}.done`, ...at, text: part.text, ...logprobs };
  yield { type: 'response.content_part.done', ...at, part };
}
