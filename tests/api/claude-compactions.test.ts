import { afterEach, beforeEach, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { provider, wholeBody } from './lab.ts';

/*
 * Claude bills a compaction, and counts it only in `usage.iterations`. Sources:
 * https://github.com/pydantic/pydantic-ai/issues/5065, https://github.com/maximhq/bifrost/pull/6500,
 * https://github.com/BerriAI/litellm/issues/27060
 */

const pricing = { prompt: '0.000001', completion: '0.00001', cache_read: '0.0000001', cache_write: '0.000002' };

let gateway: TestGateway;
let upstream: ScriptedUpstream;
beforeEach(async () => {
  upstream = await startUpstream();
  const at = (wire: 'openai-chat' | 'anthropic-messages') =>
    provider(wire, 'a', upstream, { models: [{ model: `${wire}/m`, upstream_model: 'm', pricing }] });
  gateway = await testGateway({ providers: [at('openai-chat'), at('anthropic-messages')] });
});
afterEach(() => Promise.all([gateway.close(), upstream.close()]));

const reply = {
  input_tokens: 23_000,
  output_tokens: 1000,
  cache_read_input_tokens: 500,
  cache_creation_input_tokens: 0,
};
const compaction = {
  type: 'compaction',
  input_tokens: 100_000,
  output_tokens: 3500,
  cache_read_input_tokens: 80_000,
  cache_creation_input_tokens: 2000,
};
const usage = { ...reply, iterations: [compaction, { type: 'message', ...reply }] };
const summary = { type: 'compaction', content: 'They talked about bridges.' };
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };

const whole = json({ ...message, content: [summary, { type: 'text', text: 'Fine.' }], stop_reason: 'end_turn', usage });
const streamed = sse(
  [
    {
      type: 'message_start',
      message: { ...message, content: [], stop_reason: null, usage: { ...reply, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'compaction', content: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'compaction_delta', content: summary.content } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Fine.' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ],
  { named: true },
);

/** 123,000 uncached, 80,500 read, 2,000 written and 4,500 output tokens. */
const cost = 0.123 + 0.00805 + 0.004 + 0.045;
const question = { role: 'user', content: 'Go on.' };

it.each([
  ['buffered', whole],
  ['streamed', streamed],
])('is part of the cost and not of the other counts in the Messages API, %s', async (mode, answer) => {
  upstream.respond(answer);
  const stream = mode === 'streamed';
  const response = await gateway.post('/messages', {
    model: 'anthropic-messages/m',
    max_tokens: 900,
    messages: [question],
    context_management: { edits: [{ type: 'compact_20260112' }] },
    stream,
  });
  const text = await response.text();
  const body = stream ? /^data: (.*"type":"message_delta".*)$/m.exec(text)![1]! : text;
  const { usage: shown } = JSON.parse(body) as { usage: Record<string, unknown> };
  expect(shown).toMatchObject(usage);
  expect(shown['cost']).toBeCloseTo(cost, 9);
  const { data } = (await (await gateway.get('/generations?limit=1')).json()) as { data: Record<string, unknown>[] };
  expect(data[0]).toMatchObject({ native_tokens_prompt: 205_500, native_tokens_completion: 4500 });
  expect(data[0]!['total_cost']).toBeCloseTo(cost, 9);
});

it('is not part of the other counts of a response with several steps', async () => {
  const call = { type: 'tool_use', id: 'toolu_1', name: 'router_datetime', input: {} };
  const first = { ...reply, input_tokens: 40, output_tokens: 7, cache_read_input_tokens: 60 };
  upstream.respond(json({ ...message, content: [call], stop_reason: 'tool_use', usage: first }));
  upstream.respond(whole);
  const response = await gateway.post('/messages', {
    model: 'anthropic-messages/m',
    max_tokens: 900,
    messages: [question],
    tools: [{ type: 'router:datetime' }],
  });
  expect(((await response.json()) as { usage: object }).usage).toMatchObject({
    input_tokens: 23_040,
    output_tokens: 1007,
    cache_read_input_tokens: 560,
    cache_creation_input_tokens: 0,
    iterations: usage.iterations,
  });
});

it('is part of the counts in other APIs, which have no iterations', async () => {
  upstream.respond(whole);
  const response = await gateway.post('/responses', { model: 'anthropic-messages/m', input: 'Go on.' });
  expect(((await response.json()) as { usage: object }).usage).toMatchObject({
    input_tokens: 205_500,
    input_tokens_details: { cached_tokens: 80_500, cache_write_tokens: 2000 },
    output_tokens: 4500,
  });
});

it('reaches another model as a text', async () => {
  upstream.respond(json(wholeBody('openai-chat')));
  const messages = [question, { role: 'assistant', content: [summary, { type: 'text', text: 'Fine.' }] }, question];
  const response = await gateway.post('/messages', { model: 'openai-chat/m', max_tokens: 9, messages });
  expect(response.status).toBe(200);
  expect(JSON.stringify(upstream.requests[0]!.body)).toContain(summary.content);
});

// https://github.com/vercel/ai/issues/21263
it('is a 400 on demand of a model that makes none, because its response would be an answer', async () => {
  const body = { max_tokens: 9, messages: [question], compaction: { type: 'summarize' } };
  const refused = await gateway.post('/messages', { ...body, model: 'openai-chat/m' });
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain('The field compaction cannot be sent');
  upstream.respond(whole);
  expect((await gateway.post('/messages', { ...body, model: 'anthropic-messages/m' })).status).toBe(200);
  expect(upstream.requests.at(-1)!.body).toMatchObject({ compaction: { type: 'summarize' } });
});
