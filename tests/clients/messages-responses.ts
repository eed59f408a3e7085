import {
  type ScriptedResponse,
  json,
  type SseFrame,
  sse,
  stallBeforeHeaders,
} from '../../src/testing/scripted-responses.ts';
import type { ScriptedRequest } from '../../src/testing/scripted-upstream.ts';
import { type Call, cutJson, cutWords, defaultCounts, type Turn } from './turn.ts';

/** The envelope of a provider that speaks `anthropic-messages`, as the recordings beside that wire have it. */
const head = {
  id: 'msg_01QzXv8mB3kTnY5sLw2RdHcE',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5-20250929',
};
const headers = { 'request-id': 'req_011CVJ5xT9wq2mEoXk7fZbRd' };
const signature = 'EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pki';

/** Writes a turn in the protocol of `POST /messages`, streamed if the request says so. */
export function messagesResponse(turn: Turn, request: ScriptedRequest): ScriptedResponse {
  const { stream } = request.body as { stream?: boolean }; // the gateway's own request
  if (turn.fail) return failure(turn.fail);
  if (!stream && turn.after) return stallBeforeHeaders();
  const ending = { stop_reason: stopReason(turn), stop_sequence: null };
  if (!stream) return json({ ...head, content: blocks(turn), ...ending, usage: usage(turn) }, { headers });
  const answer = sse(frames(turn), { headers, done: false });
  return { ...answer, end: turn.after === 'silence' ? 'silence' : 'complete', pauseMs: turn.slowMs };
}

const types: Record<number, string> = {
  400: 'invalid_request_error',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

function failure({ status, message, retryAfterSeconds }: NonNullable<Turn['fail']>): ScriptedResponse {
  const wait = retryAfterSeconds === undefined ? undefined : { 'retry-after': String(retryAfterSeconds) };
  const error = { type: types[status] ?? 'api_error', message };
  return json({ type: 'error', error }, { status, headers: { ...headers, ...wait } });
}

type Block = { type: string; [field: string]: unknown };

function blocks(turn: Turn): Block[] {
  const text = turn.text ?? turn.refusal;
  return [
    ...(turn.reasoning && !turn.encrypted ? [{ type: 'thinking', thinking: turn.reasoning, signature }] : []),
    ...(turn.encrypted ? [{ type: 'redacted_thinking', data: turn.encrypted }] : []),
    ...(text ? [{ type: 'text', text }] : []),
    ...(turn.calls ?? []).map(toolUse),
  ];
}

/** A custom tool is a function with one argument on this wire: what the gateway asks for. */
const toolUse = ({ name, input }: Call, index: number): Block => ({
  type: 'tool_use',
  id: `toolu_${index}${Buffer.from(name).toString('hex')}`.slice(0, 30),
  name,
  input: typeof input === 'string' ? { input } : input,
});

function* frames(turn: Turn): Iterable<SseFrame> {
  const begun = { ...head, content: [], stop_reason: null, stop_sequence: null, usage: usage(turn, 1) };
  yield { type: 'message_start', message: begun };
  yield { type: 'ping' };
  const all = blocks(turn);
  const firstCall = all.length - (turn.calls?.length ?? 0);
  for (const [index, block] of all.entries()) {
    if (turn.after && block.type === 'tool_use') break;
    yield { type: 'content_block_start', index, content_block: emptied(block) };
    for (const delta of deltas(block, turn.calls?.[index - firstCall])) {
      yield { type: 'content_block_delta', index, delta };
    }
    yield { type: 'content_block_stop', index };
  }
  if (turn.after === 'failure')
    yield { type: 'error', error: { type: 'api_error', message: 'The server had an error.' } };
  if (turn.after) return;
  const delta = { stop_reason: stopReason(turn), stop_sequence: null };
  yield { type: 'message_delta', delta, usage: { output_tokens: usage(turn).output_tokens } };
  yield { type: 'message_stop' };
}

function emptied(block: Block): Block {
  if (block.type === 'text') return { type: 'text', text: '' };
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return block.type === 'tool_use' ? { ...block, input: {} } : block;
}

function deltas({ type, ...fields }: Block, call: Call | undefined): object[] {
  if (type === 'text') return cutWords(String(fields['text'])).map((text) => ({ type: 'text_delta', text }));
  if (type === 'tool_use') {
    return cutJson(call?.raw ?? JSON.stringify(fields['input'])).map((json) => ({
      type: 'input_json_delta',
      partial_json: json,
    }));
  }
  if (type !== 'thinking') return [];
  const thoughts = cutWords(String(fields['thinking'])).map((thinking) => ({ type: 'thinking_delta', thinking }));
  return [...thoughts, { type: 'signature_delta', signature }];
}

function stopReason({ finish, refusal, calls }: Turn): string {
  if (finish === 'length') return 'max_tokens';
  if (finish === 'content_filter' || refusal) return 'refusal';
  return calls ? 'tool_use' : 'end_turn';
}

/** This wire counts what the cache had apart, and says nothing of reasoning. */
function usage({ usage: counts = defaultCounts }: Turn, output = counts.output) {
  return {
    input_tokens: counts.input - counts.cached,
    cache_read_input_tokens: counts.cached,
    cache_creation_input_tokens: 0,
    output_tokens: output,
    service_tier: 'standard',
  };
}
