import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  json,
  type SseFrame,
  type ScriptedUpstream,
  sse,
  startUpstream,
  type TestGateway,
  testGateway,
} from '../../src/testing/index.ts';
import { chatChunk, complaint, type Mode, responseObject, stream, type WireName, wireNames } from './lab.ts';

/* A 200 without output is a failure as long as another endpoint may have some. */

const names = ['alpha', 'beta'] as const;
let upstreams: ScriptedUpstream[];
let gateway: TestGateway;
beforeAll(async () => {
  upstreams = await Promise.all(names.map(() => startUpstream()));
  gateway = await testGateway({
    routing: { max_attempts: 12 },
    providers: wireNames.flatMap((wire) =>
      names.map((name, index) => ({
        id: `${wire}-${name}`,
        wire,
        base_url: upstreams[index]!.url,
        models: [
          { model: `${wire}/m`, upstream_model: 'm' },
          { model: `${wire}/${name}`, upstream_model: 'm' },
        ],
      })),
    ),
  });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all((upstreams ?? []).map((upstream) => upstream.close()));
});

type End = 'filtered' | 'empty' | 'silent' | 'cut' | 'text';
/** Output tokens that the provider reports: a silent model has used some. */
const tokensOf = (end: End) => (end === 'silent' || end === 'cut' || end === 'text' ? 7 : 0);

/** A response that ends so, without any output but the word of `text`. */
function respond(wire: WireName, mode: Mode, end: End) {
  const text = end === 'text' ? 'Hello.' : '';
  const output_tokens = tokensOf(end);
  const pick = (filtered: string, cut: string, usual: string) =>
    end === 'filtered' ? filtered : end === 'cut' ? cut : usual;
  switch (wire) {
    case 'openai-chat': {
      const finish = pick('content_filter', 'length', 'stop');
      const usage = { prompt_tokens: 20, completion_tokens: output_tokens, total_tokens: 20 + output_tokens };
      const message = { role: 'assistant', content: text === '' ? null : text };
      const whole = { id: 'c', object: 'chat.completion', model: 'm', usage };
      return mode === 'buffered'
        ? json({ ...whole, choices: [{ index: 0, message, finish_reason: finish }] })
        : stream(wire, [
            chatChunk({ role: 'assistant', content: text }),
            chatChunk({}, finish),
            { ...chatChunk({}), choices: [], usage },
          ]);
    }
    case 'openai-responses': {
      const isCut = end === 'filtered' || end === 'cut';
      const status = isCut ? 'incomplete' : 'completed';
      const item = {
        id: 'msg',
        type: 'message',
        role: 'assistant',
        status,
        content: [{ type: 'output_text', text, annotations: [] }],
      };
      const usage = { input_tokens: 20, output_tokens, total_tokens: 20 + output_tokens };
      const reason = pick('content_filter', 'max_output_tokens', '');
      const response = { ...responseObject(status, [item]), usage, ...(isCut && { incomplete_details: { reason } }) };
      const place = { item_id: 'msg', output_index: 0, content_index: 0 };
      const part = { type: 'output_text', text, annotations: [] };
      return mode === 'buffered'
        ? json(response)
        : stream(wire, [
            { type: 'response.created', response: responseObject('in_progress', []) },
            {
              type: 'response.output_item.added',
              output_index: 0,
              item: { ...item, status: 'in_progress', content: [] },
            },
            { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
            ...(text === '' ? [] : [{ type: 'response.output_text.delta', ...place, delta: text }]),
            { type: 'response.output_text.done', ...place, text },
            { type: 'response.content_part.done', ...place, part },
            { type: 'response.output_item.done', output_index: 0, item },
            { type: `response.${status}`, response },
          ]);
    }
    case 'anthropic-messages': {
      const stop_reason = pick('refusal', 'max_tokens', 'end_turn');
      const message = {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [] as object[],
        stop_reason: null,
      };
      const usage = { input_tokens: 20, output_tokens };
      const frames: SseFrame[] = [
        { type: 'message_start', message: { ...message, usage: { input_tokens: 20, output_tokens: 0 } } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        ...(text === '' ? [] : [{ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }]),
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason }, usage },
        { type: 'message_stop' },
      ];
      return mode === 'buffered'
        ? json({ ...message, content: text === '' ? [] : [{ type: 'text', text }], stop_reason, usage })
        : sse(frames, { named: true });
    }
    case 'gemini': {
      const content = text === '' ? {} : { content: { role: 'model', parts: [{ text }] } };
      const usageMetadata = {
        promptTokenCount: 20,
        candidatesTokenCount: output_tokens,
        totalTokenCount: 20 + output_tokens,
      };
      const whole = {
        candidates: [{ ...content, finishReason: pick('SAFETY', 'MAX_TOKENS', 'STOP'), index: 0 }],
        usageMetadata,
        modelVersion: 'm',
      };
      return mode === 'buffered' ? json(whole) : sse([whole]);
    }
  }
}

interface Completion {
  status: number;
  text: string;
  finish: string | null;
  error: { message: string; metadata: { error_type: string; previous_errors?: object[] } } | undefined;
}

/** Sends a chat completion to both endpoints, or to one. */
async function complete(wire: WireName, mode: Mode, model = 'm', messages?: object[]): Promise<Completion> {
  const response = await gateway.post('/chat/completions', {
    model: `${wire}/${model}`,
    messages: messages ?? [{ role: 'user', content: 'Hi' }],
    stream: mode === 'streamed',
    provider: { order: names.map((name) => `${wire}-${name}`) },
  });
  const body = await response.text();
  if (response.status !== 200)
    return { status: response.status, text: '', finish: null, error: JSON.parse(body).error };
  const parts = body.startsWith('{')
    ? [JSON.parse(body)]
    : body.split('\n\n').flatMap((frame) => (frame.startsWith('data: {') ? [JSON.parse(frame.slice(6))] : []));
  const choices = parts.flatMap(({ choices: [choice] }) => choice ?? []);
  return {
    status: response.status,
    text: choices.map(({ message, delta }) => (message ?? delta).content ?? '').join(''),
    finish: choices.map(({ finish_reason }) => finish_reason).find(Boolean) ?? null,
    error: parts.find(({ error }) => error)?.error,
  };
}

let before: number[];
beforeEach(() => {
  before = upstreams.map(({ requests }) => requests.length);
});
const asked = (): number[] => upstreams.map(({ requests }, index) => requests.length - before[index]!);
const answers = (wire: WireName, mode: Mode, first: End, second: End): void => {
  upstreams[0]!.always(respond(wire, mode, first));
  upstreams[1]!.always(respond(wire, mode, second));
};

const cases = wireNames.flatMap((wire) => (['buffered', 'streamed'] as const).map((mode) => ({ wire, mode })));
describe.each(cases)('$wire, $mode', ({ wire, mode }) => {
  it.each(['filtered', 'empty', 'silent'] as const)('falls back after a response that is %s', async (end) => {
    answers(wire, mode, end, 'text');
    expect(await complete(wire, mode)).toEqual({ status: 200, text: 'Hello.', finish: 'stop', error: undefined });
    expect(asked()).toEqual([1, 1]);
  });

  it('returns the filtered response if no endpoint has another', async () => {
    answers(wire, mode, 'filtered', 'filtered');
    const filtered = { status: 200, text: '', finish: 'content_filter', error: undefined };
    expect(await complete(wire, mode)).toEqual(filtered);
    expect(asked()).toEqual([1, 1]);
    expect(await complete(wire, mode, 'alpha')).toEqual(filtered);
    upstreams[1]!.always(json(complaint('Down.'), { status: 500 }));
    expect(await complete(wire, mode)).toEqual(filtered);
  });

  it('returns a 502 if the provider has produced nothing', async () => {
    answers(wire, mode, 'empty', 'empty');
    const { status, error } = await complete(wire, mode);
    expect({ status, error }).toMatchObject({
      status: 502,
      error: {
        message: expect.stringContaining('an empty response'),
        metadata: { error_type: 'provider_unavailable' },
      },
    });
    expect(asked()).toEqual([1, 1]);
  });

  it('returns an end without text if the model has used tokens for it', async () => {
    answers(wire, mode, 'silent', 'silent');
    expect(await complete(wire, mode)).toMatchObject({ status: 200, text: '', finish: 'stop' });
    expect(asked()).toEqual([1, 1]);
  });

  it.each([
    ['at the limit of the output', 'cut', undefined, 'length'],
    [
      'after the result of a call',
      'silent',
      [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'c', content: 'done' },
      ],
      'stop',
    ],
  ] as const)('accepts an end without text %s', async (_name, end, messages, finish) => {
    answers(wire, mode, end, 'text');
    const found = await complete(wire, mode, 'm', messages && [...messages]);
    expect(found).toEqual({ status: 200, text: '', finish, error: undefined });
    expect(asked()).toEqual([1, 0]);
  });
});

it.each(['/responses', '/messages'])('%s falls back as well, and returns the filtered response', async (path) => {
  for (const mode of ['buffered', 'streamed'] as const) {
    const body = {
      model: 'anthropic-messages/m',
      max_tokens: 100,
      ...(path === '/messages' ? { messages: [{ role: 'user', content: 'Hi' }] } : { input: 'Hi' }),
      ...(path === '/responses' && { max_tokens: undefined }),
      stream: mode === 'streamed',
      provider: { order: names.map((name) => `anthropic-messages-${name}`) },
    };
    answers('anthropic-messages', mode, 'filtered', 'text');
    expect(await (await gateway.post(path, body)).text()).toContain('Hello.');
    answers('anthropic-messages', mode, 'filtered', 'filtered');
    const text = await (await gateway.post(path, body)).text();
    expect(text).toContain(path === '/messages' ? '"refusal"' : '"content_filter"');
  }
});

it('records what the filtered attempt has cost, and which endpoint responded', async () => {
  answers('openai-chat', 'buffered', 'filtered', 'text');
  const response = await gateway.post(
    '/responses',
    { model: 'openai-chat/m', input: 'Hi', provider: { order: ['openai-chat-alpha', 'openai-chat-beta'] } },
    { headers: { 'x-router-metadata': 'enabled' } },
  );
  const { router_metadata } = (await response.json()) as { router_metadata: { attempts: object[] } };
  expect(router_metadata.attempts).toMatchObject([
    { provider: 'openai-chat-alpha', status: 400 },
    { provider: 'openai-chat-beta', status: 200 },
  ]);
});
