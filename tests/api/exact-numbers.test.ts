import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { json, type ScriptedResponse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { chatChunk, type Mode, provider, stream, type WireName, wholeBody, wireNames } from './lab.ts';

/*
 * Numbers keep their digits in the arguments of calls and in schemas. Source: earendil-works/pi#8943
 */

/** ES2026, which Node has and the types of TypeScript lack. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
const long = '1234567890123456789';
const args = `{"order":${long},"price":1.0,"deep":[{"id":-9007199254740993}]}`;
const digits = [long, '1.0', '-9007199254740993'];
const input = { order: rawJSON(long), price: rawJSON('1.0'), deep: [{ id: rawJSON('-9007199254740993') }] };
const schema = {
  type: 'object',
  properties: {
    order: { type: 'integer', enum: [rawJSON(long), 7] },
    price: { type: 'number', minimum: rawJSON('0.50') },
  },
};

let upstream: ScriptedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: [
      ...wireNames.map((wire) => provider(wire, 'one', upstream)),
      ...['first', 'second'].map((name) =>
        provider('anthropic-messages', name, upstream, {
          models: [{ model: 'anthropic-messages/two', upstream_model: 'm' }],
        }),
      ),
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  upstream.always(({ path }) =>
    json(path.endsWith('/messages') ? wholeMessage : path.includes(':') ? wholeContent : body(path)),
  );
});

const body = (path: string) => wholeBody(path.endsWith('/responses') ? 'openai-responses' : 'openai-chat');
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };
const usage = { input_tokens: 20, output_tokens: 10 };
const wholeMessage = { ...message, content: [{ type: 'text', text: 'Hi.' }], stop_reason: 'end_turn', usage };
const wholeContent = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hi.' }] }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 10, totalTokenCount: 30 },
};

const bodies = {
  '/messages': {
    max_tokens: 100,
    tools: [{ name: 'f', input_schema: schema }],
    messages: [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: `[${long}]` }] },
    ],
  },
  '/chat/completions': {
    tools: [{ type: 'function', function: { name: 'f', parameters: schema } }],
    messages: [
      { role: 'user', content: 'Go.' },
      {
        role: 'assistant',
        tool_calls: [{ id: 'toolu_1', type: 'function', function: { name: 'f', arguments: args } }],
      },
      { role: 'tool', tool_call_id: 'toolu_1', content: `[${long}]` },
    ],
  },
  '/responses': {
    tools: [{ type: 'function', name: 'f', parameters: schema }],
    input: [
      { role: 'user', content: 'Go.' },
      { type: 'function_call', call_id: 'toolu_1', name: 'f', arguments: args },
      { type: 'function_call_output', call_id: 'toolu_1', output: `[${long}]` },
    ],
  },
};
const apis = Object.keys(bodies) as (keyof typeof bodies)[];

/** Counts how often a text occurs. */
const count = (text: string, part: string): number => text.split(part).length - 1;

describe.each(apis)('POST %s', (api) => {
  it.each(wireNames)('sends numbers with their digits to %s', async (wire) => {
    const response = await gateway.post(api, { model: `${wire}/one`, ...bodies[api] });
    expect(response.status).toBe(200);
    const { text } = upstream.requests.at(-1)!;
    for (const each of digits) expect(text).toContain(each);
    expect(count(text, long)).toBe(3); // in the schema, the arguments and the result
    expect(text).not.toContain('rawJSON');
  });

  it.each<Mode>(['buffered', 'streamed'])('returns the numbers of calls with their digits, %s', async (mode) => {
    for (const wire of ['anthropic-messages', 'openai-chat', 'gemini'] as const) {
      upstream.always(answerWithCall(wire));
      const full = { model: `${wire}/one`, ...bodies[api], stream: mode === 'streamed' };
      const response = await gateway.post(api, full);
      const text = (await response.text()).replaceAll('\\', '');
      expect([response.status, wire]).toEqual([200, wire]);
      for (const each of digits) expect(text).toContain(each);
      expect(text).not.toContain('rawJSON');
    }
  });
});

// https://github.com/anthropics/claude-code/issues/3277
it.each(apis)('half of a character in the arguments of a call is replaced for every provider, at %s', async (api) => {
  const half = JSON.stringify(bodies[api])
    .replace(JSON.stringify(args), JSON.stringify('{"a":"cut \\ud83d"}'))
    .replace(args, '{"a":"cut \\ud83d"}');
  for (const wire of wireNames) {
    expect((await gateway.post(api, `${half.slice(0, -1)},"model":"${wire}/one"}`)).status).toBe(200);
    const { text } = upstream.requests.at(-1)!;
    expect([wire, text]).toEqual([wire, expect.stringContaining('cut \ufffd')]);
    expect(text).not.toContain('\\ud83d');
  }
});

it.each(apis)('a preset is made from a body of %s', async (api) => {
  const slug = `digits${api.replaceAll('/', '-')}`;
  expect((await gateway.post(`/presets/${slug}${api}`, { model: 'openai-chat/one', ...bodies[api] })).status).toBe(200);
  expect((await gateway.post('/responses', { model: 'openai-chat/one', preset: slug, input: 'Hi' })).status).toBe(200);
  expect(upstream.requests.at(-1)!.body).toMatchObject({ tools: [{ function: { name: 'f' } }] });
});

/** A call of `f`. The wire streams if the gateway requests it. */
const answerWithCall =
  (wire: WireName) =>
  ({ body: sent, path }: { body: unknown; path: string }): ScriptedResponse => {
    if (wire === 'gemini') {
      const [candidate] = wholeContent.candidates;
      const content = { role: 'model', parts: [{ functionCall: { name: 'f', args: input } }] };
      const whole = { ...wholeContent, candidates: [{ ...candidate, content }] };
      return path.includes('stream') ? stream('gemini', [whole]) : json(whole);
    }
    const isStream = (sent as { stream?: boolean }).stream === true;
    if (wire === 'anthropic-messages') {
      const block = { type: 'tool_use', id: 'toolu_2', name: 'f', input };
      if (!isStream) return json({ ...message, content: [block], stop_reason: 'tool_use', usage });
      return stream('openai-responses', [
        { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } },
        { type: 'content_block_start', index: 0, content_block: { ...block, input: {} } },
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: args } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage },
        { type: 'message_stop' },
      ]);
    }
    const call = { index: 0, id: 'call_2', type: 'function', function: { name: 'f', arguments: args } };
    if (isStream) return stream('openai-chat', [chatChunk({ tool_calls: [call] }), chatChunk({}, 'tool_calls')]);
    const whole = wholeBody('openai-chat') as { choices: object[] };
    const choice = {
      index: 0,
      message: { role: 'assistant', content: null, tool_calls: [call] },
      finish_reason: 'tool_calls',
    };
    return json({ ...whole, choices: [choice] });
  };

it('keeps the digits after a first endpoint has failed', async () => {
  upstream.respond(json({ error: { message: 'Down.' } }, { status: 500 }));
  const { messages, ...rest } = bodies['/messages'];
  const first = { role: 'user', content: 'word '.repeat(20_000) };
  const response = await gateway.post('/messages', {
    model: 'anthropic-messages/two',
    ...rest,
    messages: [first, ...messages],
  });
  expect(response.status).toBe(200);
  const { text } = upstream.requests.at(-1)!;
  for (const each of digits) expect(text).toContain(each);
});

it('reads settings as numbers', async () => {
  const response = await gateway.post('/chat/completions', {
    model: 'openai-chat/one',
    messages: [{ role: 'user', content: 'Go.' }],
    temperature: rawJSON('1.0'),
    max_completion_tokens: rawJSON('90.0'),
    tools: [
      { type: 'router:tool_search', parameters: { max_results: rawJSON('5.0') } },
      ...bodies['/chat/completions'].tools,
    ],
  });
  expect(response.status).toBe(200);
  expect(upstream.requests.at(-1)!.body).toMatchObject({ temperature: 1, max_completion_tokens: 90 });
});
