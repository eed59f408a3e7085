import {
  type ScriptedResponse,
  json,
  type SseFrame,
  type SseOptions,
  sse,
} from '../../src/testing/scripted-responses.ts';
import { patient } from '../../src/testing/patience.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type RequestOptions, readStream, type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { type Outcome, readOutcome } from './outcome.ts';

/** Every wire that has an upstream. */
export const wireNames = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini'] as const;
export type WireName = (typeof wireNames)[number];
export type Mode = 'buffered' | 'streamed';

/** The wire of a test, and whether it streams. */
export interface Case {
  wire: WireName;
  mode: Mode;
}

/** Wires for which the lab can script every failure. */
export const wires: WireName[] = ['openai-chat', 'openai-responses'];
export const cases: Case[] = wires.flatMap((wire) => [
  { wire, mode: 'buffered' as const },
  { wire, mode: 'streamed' as const },
]);

/** A provider key that must never reach a client. */
export const providerKey = 'sk-upstream-secret-1234567890';

/** Timeouts of the hasty and the brief providers: one each, so that a busy machine changes no error. */
const hastyTimeouts = { idle_ms: patient(300) };
const briefTimeouts = { total_ms: patient(900) };

export interface Lab {
  gateway: TestGateway;
  /** The one server behind all providers of the lab. */
  upstream: ScriptedUpstream;
  ask(how: Case, options?: AskOptions): Promise<Outcome>;
  close(): Promise<void>;
}

export interface AskOptions extends RequestOptions {
  /** Further fields of the request. */
  body?: object;
  /** Default: `<wire>/patient`. */
  model?: string;
}

/** Opens a gateway and its upstream: for each wire the models `<wire>/patient`, `<wire>/hasty` and `<wire>/brief`. */
export async function openLab(parts: Record<string, unknown> = {}): Promise<Lab> {
  const upstream = await startUpstream();
  const pricing = { prompt: '0.000001', completion: '0.000002', cache_read: '0.0000001' };
  const providers = wireNames.flatMap((wire) => [
    provider(wire, 'patient', upstream, { models: [{ model: `${wire}/patient`, upstream_model: 'm', pricing }] }),
    provider(wire, 'hasty', upstream, { timeouts: hastyTimeouts }),
    provider(wire, 'brief', upstream, { timeouts: briefTimeouts }),
  ]);
  const gateway = await testGateway({ providers, ...parts });
  return {
    gateway,
    upstream,
    ask: (how, { body, model, ...options } = {}) =>
      ask(gateway, how.mode, { model: model ?? `${how.wire}/patient`, ...body }, options),
    async close() {
      await gateway.close();
      await upstream.close();
    },
  };
}

/** An entry of `providers`: id `<wire>-<name>`, with one model, `<wire>/<name>`. */
export function provider(wire: WireName, name: string, upstream: ScriptedUpstream, more: object = {}): object {
  return {
    id: `${wire}-${name}`,
    wire,
    base_url: upstream.url,
    api_key: providerKey,
    models: [{ model: `${wire}/${name}`, upstream_model: 'm' }],
    ...more,
  };
}

/** Sends a request, and reads the complete result. */
export async function ask(gateway: TestGateway, mode: Mode, body: object, options?: RequestOptions): Promise<Outcome> {
  const full = { input: 'Say hello.', ...body, ...(mode === 'streamed' ? { stream: true } : undefined) };
  return readOutcome(await readStream(await gateway.post('/responses', full, options)));
}

/** The usage that a server reports: 20 input tokens, 5 of them cached, and 10 output tokens. */
const counts = { in: 20, cached: 5, out: 10 };

/** A buffered response with the text. */
export function wholeBody(wire: WireName, text = 'Hello there.'): Record<string, unknown> {
  if (wire === 'openai-responses') return responseObject('completed', [message('completed', text)]);
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: chatUsage,
  };
}

/** The frames of a streamed response with the pieces, including its end. */
export function streamFrames(wire: WireName, pieces: string[] = ['Hello', ' there.']): object[] {
  return [...openFrames(wire, pieces), ...endFrames(wire, pieces.join(''))];
}

/** The frames of a stream up to and including its text, without its end. */
export function openFrames(wire: WireName, pieces: string[]): object[] {
  if (wire === 'openai-chat') {
    return [chatChunk({ role: 'assistant', content: '' }), ...pieces.map((content) => chatChunk({ content }))];
  }
  return [
    { type: 'response.created', sequence_number: 0, response: responseObject('in_progress', []) },
    { type: 'response.in_progress', sequence_number: 1, response: responseObject('in_progress', []) },
    { type: 'response.output_item.added', output_index: 0, item: { ...message('in_progress', ''), content: [] } },
    { type: 'response.content_part.added', ...textPlace, part: textPart('') },
    ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...textPlace, delta, logprobs: [] })),
  ];
}

/** The frames that end such a stream. */
export function endFrames(wire: WireName, text: string): object[] {
  if (wire === 'openai-chat') return [chatChunk({}, 'stop'), { ...chatChunk({}), choices: [], usage: chatUsage }];
  return [
    { type: 'response.output_text.done', ...textPlace, text, logprobs: [] },
    { type: 'response.content_part.done', ...textPlace, part: textPart(text) },
    { type: 'response.output_item.done', output_index: 0, item: message('completed', text) },
    { type: 'response.completed', response: responseObject('completed', [message('completed', text)]) },
  ];
}

/** A response with the text, buffered or streamed by the mode. */
export function answer({ wire, mode }: Case, text = 'Hello there.'): ScriptedResponse {
  return mode === 'buffered' ? json(wholeBody(wire, text)) : stream(wire, streamFrames(wire, [text]));
}

/** A stream in the format of the wire. */
export function stream(
  wire: WireName,
  frames: Iterable<SseFrame> | AsyncIterable<SseFrame>,
  options?: SseOptions,
): ScriptedResponse {
  return sse(frames, { done: wire === 'openai-chat', named: wire === 'openai-responses', ...options });
}

/** The frames as text, to be damaged. */
export function streamText(wire: WireName, frames: object[] = streamFrames(wire)): string {
  return frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('') + (wire === 'openai-chat' ? done : '');
}
const done = 'data: [DONE]\n\n';

/** An error object, in a body or a frame. */
export const complaint = (message: string, more: object = {}) => ({ error: { message, ...more } });

const chatUsage = {
  prompt_tokens: counts.in,
  completion_tokens: counts.out,
  total_tokens: counts.in + counts.out,
  prompt_tokens_details: { cached_tokens: counts.cached },
};

export function chatChunk(delta: object, finish_reason: string | null = null): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
  };
}

const textPlace = { item_id: 'msg_up', output_index: 0, content_index: 0 };
const textPart = (text: string) => ({ type: 'output_text', text, annotations: [] });
const message = (status: string, text: string) => ({
  id: 'msg_up',
  type: 'message',
  role: 'assistant',
  status,
  content: [textPart(text)],
});

export function responseObject(status: string, output: object[]): Record<string, unknown> {
  return {
    id: 'resp_up',
    object: 'response',
    created_at: 1_700_000_000,
    status,
    error: null,
    incomplete_details: null,
    model: 'm',
    output,
    usage: status === 'in_progress' ? null : responsesUsage,
  };
}

const responsesUsage = {
  input_tokens: counts.in,
  input_tokens_details: { cached_tokens: counts.cached },
  output_tokens: counts.out,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: counts.in + counts.out,
};
