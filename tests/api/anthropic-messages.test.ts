import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseObject } from '../../src/domain/response.ts';
import { type ScriptedResponse, json, recording, sse } from '../../src/testing/scripted-responses.ts';
import { type AskOptions, type Lab, type Mode, openLab } from './lab.ts';

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
  it('goes back to its provider to the letter, and a tool is answered', async () => {
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

  it('leaves out what another provider sealed, and says so', async () => {
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

describe('what goes out', () => {
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

  it('midway never passes for an end', async () => {
    lab.upstream.always(recording(new URL('overloaded-midway.stream.http', folder)));
    const outcome = await ask(mode);
    if (mode === 'buffered') expect(outcome.status).toBe(529);
    else expect(outcome.response).toMatchObject({ status: 'failed', error_type: 'provider_overloaded' });
  });

  it('is a refusal when the wire has no place for a field', async () => {
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
  ])('are put together, %s and %s, %s', async (first, second, _how, stops) => {
    const pieces = [piece(0, '{"at":'), piece(1, '{"at":'), piece(0, '"a"}'), piece(1, '"b"}')];
    const frames = [begin, block(0, first), block(1, second), ...pieces, ...stops, ...end];
    lab.upstream.respond(sse(frames, { named: true }));
    const { response } = await ask('streamed');
    expect(response?.output).toMatchObject([{ arguments: '{"at":"a"}' }, { arguments: '{"at":"b"}' }]);
    expect(new Set(response?.output.map((item) => item['call_id'])).size).toBe(2);
  });
});

it('is not upset by an answer without sense', async () => {
  for (const body of [{}, { content: 'text' }, { content: [7], stop_reason: 'end_turn' }, { content: [] }, []]) {
    lab.upstream.always(json(body));
    expect((await ask('buffered')).status).toBe(502);
  }
});
