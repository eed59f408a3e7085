import {
  type ScriptedResponse,
  json,
  type SseFrame,
  sse,
  stallBeforeHeaders,
} from '../../src/testing/scripted-responses.ts';
import type { ScriptedRequest } from '../../src/testing/scripted-upstream.ts';
import { type Call, cutJson, cutWords, defaultCounts, type Turn, writeInput } from './turn.ts';

/** The envelope of a provider that speaks `openai-chat`, as the recordings beside that wire have it. */
const head = {
  id: 'chatcmpl-C9x1mUqYw0dGk3sV7b2EoRtLz5NfA',
  created: 1_795_165_927,
  model: 'gpt-5-mini-2025-08-07',
  service_tier: 'default',
  system_fingerprint: null,
};
const headers = { 'x-request-id': 'req_6ea3950d6f0055a7201b9f84822ff41e', 'openai-version': '2020-10-01' };

/** Writes a turn in the protocol of `POST /chat/completions`, streamed if the request says so. */
export function chatResponse(turn: Turn, request: ScriptedRequest): ScriptedResponse {
  const { stream } = request.body as { stream?: boolean }; // the gateway's own request
  if (turn.fail) return failure(turn.fail);
  if (!stream && turn.after) return stallBeforeHeaders();
  if (!stream) return json({ ...head, object: 'chat.completion', ...whole(turn) }, { headers });
  const answer = sse(frames(turn), { headers, done: turn.after === undefined });
  return { ...answer, end: turn.after === 'silence' ? 'silence' : 'complete', pauseMs: turn.slowMs };
}

function failure({ status, message, retryAfterSeconds }: NonNullable<Turn['fail']>): ScriptedResponse {
  const type = status === 429 ? 'tokens' : status < 500 ? 'invalid_request_error' : 'server_error';
  const code = status === 429 ? 'rate_limit_exceeded' : null;
  const wait = retryAfterSeconds === undefined ? undefined : { 'retry-after': String(retryAfterSeconds) };
  return json({ error: { message, type, param: null, code } }, { status, headers: { ...headers, ...wait } });
}

function whole(turn: Turn) {
  const message = {
    role: 'assistant',
    content: turn.text ?? null,
    refusal: turn.refusal ?? null,
    annotations: [],
    ...(turn.reasoning && { reasoning: turn.reasoning }),
    ...(turn.encrypted && { reasoning_details: [detail(turn.encrypted)] }),
    ...(turn.calls && { tool_calls: turn.calls.map((call, index) => toolCall(call, index)) }),
  };
  return { choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(turn) }], usage: usage(turn) };
}

const detail = (data: string) => ({
  type: 'reasoning.encrypted',
  data,
  format: 'openai-responses-v1',
  id: 'rs_571b0e35550136585f653a70460974d3',
  index: 0,
});

/** The gateway sends a custom tool as a function with one argument on this wire. */
function toolCall(call: Call, index: number, inPieces = false) {
  const input = typeof call.input === 'string' ? JSON.stringify({ input: call.input }) : writeInput(call);
  return {
    id: callId(index, call),
    type: 'function',
    function: { name: call.name, arguments: inPieces ? '' : input },
  };
}

const callId = (index: number, { name }: Call): string =>
  `call_${index}${Buffer.from(name).toString('hex')}`.slice(0, 29);

function* frames(turn: Turn): Iterable<SseFrame> {
  const chunk = (delta: object, finish: string | null = null) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    usage: null,
    obfuscation: '7447b0',
  });
  yield chunk({ role: 'assistant', content: turn.calls ? null : '', refusal: null });
  for (const word of cutWords(turn.reasoning ?? '')) yield chunk({ reasoning: word });
  if (turn.encrypted) yield chunk({ reasoning_details: [detail(turn.encrypted)] });
  for (const word of cutWords(turn.text ?? '')) yield chunk({ content: word });
  for (const word of cutWords(turn.refusal ?? '')) yield chunk({ refusal: word });
  if (turn.after === 'failure') {
    yield { error: { message: 'The server had an error.', type: 'server_error', param: null, code: null } };
    return;
  }
  if (turn.after) return;
  yield* callFrames(turn.calls ?? [], chunk);
  yield chunk({}, finishReason(turn));
  yield { ...head, object: 'chat.completion.chunk', choices: [], usage: usage(turn), obfuscation: '3e' };
}

/** Interleaves the pieces of parallel calls. */
function* callFrames(calls: readonly Call[], chunk: (delta: object) => object): Iterable<SseFrame> {
  for (const [index, call] of calls.entries()) yield chunk({ tool_calls: [{ index, ...toolCall(call, index, true) }] });
  const pieces = calls.map((call, index) => cutJson(toolCall(call, index).function.arguments));
  for (let turn = 0; pieces.some((list) => turn < list.length); turn++) {
    for (const [index, list] of pieces.entries()) {
      if (turn < list.length) yield chunk({ tool_calls: [{ index, function: { arguments: list[turn] } }] });
    }
  }
}

function finishReason({ finish, calls }: Turn): string {
  return finish ?? (calls ? 'tool_calls' : 'stop');
}

function usage({ usage: counts = defaultCounts }: Turn) {
  return {
    prompt_tokens: counts.input,
    completion_tokens: counts.output,
    total_tokens: counts.input + counts.output,
    prompt_tokens_details: { cached_tokens: counts.cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: counts.reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
