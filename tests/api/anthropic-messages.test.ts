import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseObject } from '../../src/domain/response.ts';
import { json, recording, type ScriptedResponse, sse } from '../../src/testing/scripted-responses.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { type AskOptions, ask as askGateway, type Lab, type Mode, openLab, provider } from './lab.ts';
import { expectFailure } from './outcome.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await openLab();
});
afterAll(() => lab.close());

const folder = new URL('../../src/providers/anthropic-messages/recordings/', import.meta.url);
const recorded = (name: string, mode: Mode): ScriptedResponse =>
  recording(new URL(`${name}.${mode === 'streamed' ? 'stream' : 'whole'}.http`, folder));
const ask = (mode: Mode, options?: AskOptions) => lab.ask({ wire: 'anthropic-messages', mode }, options);
const withMetadata = { headers: { 'x-router-metadata': 'enabled' } };
const lastBody = () => lab.upstream.requests.at(-1)!.body as { messages: { role: string; content: object[] }[] };

describe.each<Mode>(['buffered', 'streamed'])('a conversation with thoughts, %s', (mode) => {
  it('is sent back to its provider unchanged, with the result of a tool', async () => {
    lab.upstream.always(recorded('thinking-then-call', mode));
    const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object' } }];
    const first = (await ask(mode, { body: { tools } })).response as ResponseObject;
    expect(first.output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call']);
    const call = first.output[2]!;

    lab.upstream.always(recorded('text', mode));
    const result = { type: 'function_call_output', call_id: call['call_id'], output: '7 degrees' };
    const input = [{ role: 'user', content: 'Weather?' }, ...first.output, result];
    const second = (await ask(mode, { body: { tools, input }, ...withMetadata })).response as ResponseObject;
    expect(second.status).toBe('completed');
    expect(second.router_metadata?.params).not.toHaveProperty('dropped_fields');
    expect(lastBody().messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Weather?' }] },
      {
        role: 'assistant',
        content: [
          {
            type: 'thinking',
            thinking: 'I need the weather before I can answer.',
            signature: expect.stringMatching(/^EqQBCgIYAhIM.*zD0nQ$/),
          },
          { type: 'text', text: 'Let me look.' },
          { type: 'tool_use', id: call['call_id'], name: 'get_weather', input: { city: 'Bern', days: 2 } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call['call_id'], content: '7 degrees' }] },
    ]);
  });

  it('drops the encrypted reasoning of another provider, and reports it', async () => {
    lab.upstream.always(recorded('text', mode));
    const reasoning = {
      type: 'reasoning',
      summary: [],
      encrypted_content: 'gAAAAABo',
      format: 'openai-responses-v1',
    };
    const input = [{ role: 'user', content: 'a' }, reasoning, { role: 'user', content: 'b' }];
    const { response } = await ask(mode, { body: { input }, ...withMetadata });
    expect((response as ResponseObject).router_metadata?.params).toMatchObject({
      dropped_fields: ['input[1] (reasoning, openai-responses-v1)'],
    });
    expect(JSON.stringify(lastBody())).not.toContain('gAAAAABo');
  });
});

describe.each<Mode>(['buffered', 'streamed'])('a model that summarizes its thoughts, %s', (mode) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    const models = [
      { model: 'anthropic/claude', upstream_model: 'claude-sonnet-4-5' },
      { model: 'anthropic/next', upstream_model: 'claude-opus-4-7' },
    ];
    const others = { models: [{ model: 'other/summaries', upstream_model: 'm' }], dialect: { thoughts: 'summary' } };
    gateway = await testGateway({
      providers: [
        provider('anthropic-messages', 'claude', lab.upstream, { models }),
        provider('anthropic-messages', 'other', lab.upstream, others),
      ],
    });
  });
  afterAll(() => gateway.close());

  const thought = '17 × 23: twenty times 17 is 340, three times 17 is 51. Together 391.';

  it.each(['anthropic/claude', 'other/summaries'])('returns them as a summary with its events: %s', async (model) => {
    lab.upstream.always(recorded('thinking', mode));
    const { response, events } = await askGateway(gateway, mode, { model, reasoning: { effort: 'low' } });
    const [item] = response!.output;
    expect(item).toMatchObject({
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: thought }],
      format: 'anthropic-claude-v1',
    });
    expect(item).not.toHaveProperty('content');
    if (mode === 'buffered') return;
    const types = new Set(
      events!.map(({ type }) => type.replace('response.', '')).filter((type) => /reason/.test(type)),
    );
    expect([...types]).toEqual([
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
    ]);
  });

  it('gets them back unchanged, with their signature', async () => {
    lab.upstream.always(recorded('thinking-then-call', mode));
    const model = 'anthropic/claude';
    const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object' } }];
    const first = (await askGateway(gateway, mode, { model, tools })).response!;
    const call = first.output.find(({ type }) => type === 'function_call')!;
    const result = { type: 'function_call_output', call_id: call['call_id'], output: '7 degrees' };
    await askGateway(gateway, mode, { model, tools, input: [...first.output, result] });
    expect(lastBody().messages[0]?.content[0]).toEqual({
      type: 'thinking',
      thinking: 'I need the weather before I can answer.',
      signature: first.output[0]!['signature'],
    });
  });

  it('is asked for them if it would omit them', async () => {
    lab.upstream.always(recorded('thinking', mode));
    await askGateway(gateway, mode, { model: 'anthropic/next', reasoning: { effort: 'low', summary: 'auto' } });
    expect(lastBody()).toMatchObject({ thinking: { type: 'adaptive', display: 'summarized' } });
  });

  it('returns the explanation of a refusal as a part', async () => {
    lab.upstream.always(recorded('refusal-explained', mode));
    const { response, events } = await askGateway(gateway, mode, { model: 'anthropic/claude' });
    const refusal = 'Declined: the request could help an attack on a network.';
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'content_filter' } });
    expect(response!.output).toMatchObject([
      {
        type: 'message',
        content: [
          { type: 'output_text', text: 'I cannot' },
          { type: 'refusal', refusal },
        ],
      },
    ]);
    if (mode === 'streamed') {
      expect(events!.map(({ type }) => type)).toEqual(
        expect.arrayContaining(['response.refusal.delta', 'response.refusal.done']),
      );
    }
  });
});

describe('a request', () => {
  it('has the key, the version and the path of the protocol, and the end user as a hash', async () => {
    lab.upstream.always(recorded('text', 'buffered'));
    await ask('buffered', { body: { user: 'ada@example.org' } });
    const { path, headers, body, text } = lab.upstream.requests.at(-1)!;
    expect(path).toBe('/v1/messages');
    expect(headers).toMatchObject({
      'x-api-key': expect.stringMatching(/^sk-upstream-secret/),
      'anthropic-version': '2023-06-01',
    });
    expect(headers).not.toHaveProperty('authorization');
    expect(body).toMatchObject({ metadata: { user_id: expect.stringMatching(/^\S{8,}$/) } });
    expect(text).not.toContain('ada@');
  });
});

describe.each<Mode>(['buffered', 'streamed'])('a failure, %s', (mode) => {
  it.each([
    ['overloaded', 529, 'provider_overloaded', null],
    ['rate-limited', 429, 'rate_limit_exceeded', '17'],
    ['bad-key', 502, 'provider_unavailable', null],
    ['prompt-too-long', 400, 'context_length_exceeded', null],
    ['bad-request', 400, 'invalid_request', null],
  ])('keeps its meaning: %s', async (name, status, type, wait) => {
    lab.upstream.always(recording(new URL(`${name}.http`, folder)));
    const outcome = await ask(mode);
    expect(outcome.status).toBe(status);
    expect(outcome.envelope?.error.metadata).toMatchObject({ error_type: type });
    expect(outcome.headers.get('retry-after')).toBe(wait);
  });

  it('midway is never a regular end', async () => {
    lab.upstream.always(recording(new URL('overloaded-midway.stream.http', folder)));
    const outcome = await ask(mode);
    if (mode === 'buffered') expect(outcome.status).toBe(529);
    else expect(outcome.response).toMatchObject({ status: 'failed', error_type: 'provider_overloaded' });
  });

  it('is an error object without a type, too, as proxies send it', async () => {
    const message = { type: 'message', role: 'assistant', model: 'm', content: [], usage: {} };
    const error = { error: { message: 'No capacity.', code: 429 } };
    lab.upstream.always(sse([{ type: 'message_start', message }, error], { named: true }));
    expectFailure(await ask(mode), 429, 'rate_limit_exceeded', /No capacity/);
  });

  it('is rejected if the wire cannot represent a field', async () => {
    const outcome = await ask(mode, { body: { prompt: { id: 'pmpt_1' } } });
    expect(outcome.status).toBe(400);
    expect(outcome.envelope?.error.message).toContain('anthropic-messages/patient at');
  });
});

describe('calls whose pieces are interleaved', () => {
  const block = (index: number, id: string) => ({
    type: 'content_block_start',
    index,
    content_block: { type: 'tool_use', id, name: 'look', input: {} },
  });
  const piece = (index: number, partial_json: string) => ({
    type: 'content_block_delta',
    index,
    delta: { type: 'input_json_delta', partial_json },
  });
  const usage = { input_tokens: 5, output_tokens: 9 };
  const begin = {
    type: 'message_start',
    message: { type: 'message', role: 'assistant', model: 'm', content: [], usage },
  };
  const ends = [0, 1].map((index) => ({ type: 'content_block_stop', index }));
  const end = [{ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage }, { type: 'message_stop' }];

  it.each([
    ['toolu_a', 'toolu_b', 'each with its end', ends],
    ['toolu_a', 'toolu_a', 'under one id', ends],
    ['toolu_a', 'toolu_b', 'and have no end', []],
  ])('are joined, %s and %s, %s', async (first, second, _how, stops) => {
    const pieces = [piece(0, '{"at":'), piece(1, '{"at":'), piece(0, '"a"}'), piece(1, '"b"}')];
    const frames = [begin, block(0, first), block(1, second), ...pieces, ...stops, ...end];
    lab.upstream.respond(sse(frames, { named: true }));
    const { response } = await ask('streamed');
    expect(response?.output).toMatchObject([{ arguments: '{"at":"a"}' }, { arguments: '{"at":"b"}' }]);
    expect(new Set(response?.output.map((item) => item['call_id'])).size).toBe(2);
  });
});

it('survives an invalid response', async () => {
  for (const body of [{}, { content: 'text' }, { content: [7], stop_reason: 'end_turn' }, { content: [] }, []]) {
    lab.upstream.always(json(body));
    expect((await ask('buffered')).status).toBe(502);
  }
});
