import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseObject } from '../../src/domain/response.ts';
import { type ScriptedResponse, json, recording, sse } from '../../src/testing/scripted-responses.ts';
import { type AskOptions, type Lab, type Mode, openLab } from './lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await openLab();
});
afterAll(() => lab.close());

const folder = new URL('../../src/providers/gemini/recordings/', import.meta.url);
const recorded = (name: string, mode: Mode): ScriptedResponse =>
  recording(new URL(`${name}.${mode === 'streamed' ? 'stream' : 'whole'}.http`, folder));
const ask = (mode: Mode, options?: AskOptions) => lab.ask({ wire: 'gemini', mode }, options);
const withMetadata = { headers: { 'x-router-metadata': 'enabled' } };
const lastBody = () => lab.upstream.requests.at(-1)!.body as { contents: { role: string; parts: object[] }[] };

describe.each<Mode>(['buffered', 'streamed'])('a conversation with signatures, %s', (mode) => {
  it('is sent back to its provider unchanged, with the result of a tool', async () => {
    lab.upstream.always(recorded('tool-call-signed', mode));
    const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object' } }];
    const first = (await ask(mode, { body: { tools } })).response as ResponseObject;
    expect(first.output.map(({ type }) => type)).toEqual(['reasoning', 'function_call']);

    lab.upstream.always(recorded('text', mode));
    const result = { type: 'function_call_output', call_id: 'fc_8123', output: '7 degrees' };
    const input = [{ role: 'user', content: 'Weather?' }, ...first.output, result];
    const second = (await ask(mode, { body: { tools, input }, ...withMetadata })).response as ResponseObject;
    expect(second.status).toBe('completed');
    expect(second.router_metadata?.params).not.toHaveProperty('dropped_fields');
    expect(lastBody().contents).toEqual([
      { role: 'user', parts: [{ text: 'Weather?' }] },
      {
        role: 'model',
        parts: [
          {
            functionCall: { id: 'fc_8123', name: 'get_weather', args: { city: 'Bern', days: 2 } },
            thoughtSignature: 'CiQB0e2Kb1Xo9m3sYJ7tVQ+hPz/8LrWqkD5fGcNvTb2xUyEiMZ0KbgHR7tp9Zq4w==',
          },
        ],
      },
      {
        role: 'user',
        parts: [{ functionResponse: { id: 'fc_8123', name: 'get_weather', response: { output: '7 degrees' } } }],
      },
    ]);
  });

  it('returns thoughts as a summary with its events', async () => {
    lab.upstream.always(recorded('thoughts', mode));
    const { response, events } = await ask(mode, { body: { reasoning: { effort: 'low' } } });
    const text = expect.stringContaining('Twenty times 17');
    expect(response!.output[0]).toMatchObject({ type: 'reasoning', summary: [{ type: 'summary_text', text }] });
    expect(response!.output[0]).not.toHaveProperty('content');
    if (mode === 'buffered') return;
    const types = new Set(events.map(({ type }) => type).filter((type) => type.includes('reasoning')));
    expect([...types]).toEqual([
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
    ]);
  });

  it('drops the encrypted reasoning of another provider, and reports it', async () => {
    lab.upstream.always(recorded('text', mode));
    const reasoning = { type: 'reasoning', summary: [], signature: 'EqQBCg', format: 'anthropic-claude-v1' };
    const input = [{ role: 'user', content: 'a' }, reasoning, { role: 'user', content: 'b' }];
    const { response } = await ask(mode, { body: { input }, ...withMetadata });
    expect((response as ResponseObject).router_metadata?.params).toMatchObject({
      dropped_fields: ['input[1] (reasoning, anthropic-claude-v1)'],
    });
    expect(JSON.stringify(lastBody())).not.toContain('EqQBCg');
  });
});

describe.each<Mode>(['buffered', 'streamed'])('an answer sent back unchanged, %s', (mode) => {
  /** Returns the parts of the model's turn after the output of a recording is sent back with the next message. */
  async function replayed(name: string, body: object = {}): Promise<object[]> {
    lab.upstream.always(recorded(name, mode));
    const { output } = (await ask(mode, { body })).response as ResponseObject;
    lab.upstream.always(recorded('text', mode));
    const results = output.flatMap(({ type, call_id }) =>
      type === 'function_call' ? [{ type: 'function_call_output', call_id, output: 'ok' }] : [],
    );
    const input = [{ role: 'user', content: 'a' }, ...output, ...results, { role: 'user', content: 'b' }];
    await ask(mode, { body: { ...body, input } });
    return lastBody().contents.filter(({ role }) => role === 'model')[0]!.parts;
  }
  const signature = 'CiQB0e2Kb1Xo9m3sYJ7tVQ+hPz/8LrWqkD5fGcNvTb2xUyEiMZ0KbgHR7tp9Zq4w==';

  it('has the signature of its text on the text, although a call follows', async () => {
    const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object' } }];
    expect(await replayed('signed-text-then-call', { tools })).toEqual([
      { text: 'I will look that up.' },
      { text: '', thoughtSignature: signature },
      { functionCall: { id: 'call_xK4eaZ3vO5mAkdUPz8eT2Ac_0', name: 'get_weather', args: { city: 'Bern' } } },
    ]);
  });

  it('has each image in its place, with its signature', async () => {
    const second = 'EowBCokBAdHtim8rF1+kQm/7vWc2sXy9ZpLhT0bNe4uJgA3dRiO6wKfV5tMxYCEqIn==';
    const image = { mimeType: 'image/png', data: expect.stringMatching(/^iVBOR/) };
    expect(await replayed('images-signed')).toEqual([
      { text: 'First, the sky.' },
      { inlineData: image, thoughtSignature: signature },
      { text: 'Then, the sea.' },
      { inlineData: image, thoughtSignature: second },
    ]);
  });
});

describe.each<Mode>(['buffered', 'streamed'])('a search at the provider, %s', (mode) => {
  const tools = [{ type: 'web_search' }];

  it('cites the right characters, although a signature follows them', async () => {
    lab.upstream.always(recorded('grounding-signed', mode));
    const { output, service_tier } = (await ask(mode, { body: { tools } })).response as ResponseObject;
    expect(service_tier).toBe('default');
    expect(output.map(({ type }) => type)).toEqual(['message', 'reasoning', 'web_search_call']);
    const [part] = output[0]!['content'] as { text: string; annotations: Record<string, number | string>[] }[];
    const cited = part!.annotations.map(({ url, start_index: start, end_index: end }) => [
      url,
      part!.text.slice(Number(start), Number(end)),
    ]);
    expect(cited).toEqual([
      ['https://peaks.example/saentis', 'Der Säntis ist 2502 m hoch.'],
      ['https://alpstein.example/', 'Er steht im Alpstein.'],
    ]);
  });

  it('is not made if the caller restricts domains or allows no tool', async () => {
    const limited = [{ type: 'web_search', filters: { blocked_domains: ['a.example'] } }];
    const { status, envelope } = await ask(mode, { body: { tools: limited } });
    expect(status).toBe(400);
    expect(envelope?.error.message).toMatch(/^tools\[0\]\.filters\.blocked_domains: .*gemini\/patient/);

    lab.upstream.always(recorded('text', mode));
    await ask(mode, { body: { tools, tool_choice: 'none' } });
    expect(lastBody()).not.toHaveProperty('tools');
  });
});

it.each<[Mode, string]>([
  ['buffered', '/v1/models/m:generateContent'],
  ['streamed', '/v1/models/m:streamGenerateContent?alt=sse'],
])('uses the path of the protocol with its key, %s', async (mode, path) => {
  lab.upstream.always(recorded('text', mode));
  await ask(mode, { body: { user: 'ada@example.org' } });
  const request = lab.upstream.requests.at(-1)!;
  expect(request.path).toBe(path);
  expect(request.headers).toMatchObject({ 'x-goog-api-key': expect.stringMatching(/^sk-upstream-secret/) });
  expect(request.headers).not.toHaveProperty('authorization');
  expect(request.text).not.toContain('ada@');
});

describe.each<Mode>(['buffered', 'streamed'])('a failure, %s', (mode) => {
  it.each([
    ['overloaded', 529, 'provider_overloaded', null],
    ['quota', 429, 'rate_limit_exceeded', '32'],
    ['bad-key', 502, 'provider_unavailable', null],
    ['billing', 502, 'provider_unavailable', null],
    ['service-blocked', 502, 'provider_unavailable', null],
    ['file-not-active', 400, 'invalid_request', null],
    ['too-long', 400, 'context_length_exceeded', null],
    ['bad-request', 400, 'invalid_request', null],
  ])('keeps its meaning: %s', async (name, status, type, wait) => {
    lab.upstream.always(recording(new URL(`${name}.http`, folder)));
    const outcome = await ask(mode);
    expect(outcome.status).toBe(status);
    expect(outcome.envelope?.error.metadata).toMatchObject({ error_type: type });
    if (wait !== null) expect(outcome.headers.get('retry-after')).toBe(wait);
  });

  it('is reported if the provider rejects the prompt', async () => {
    lab.upstream.always(recording(new URL('blocked-prompt.stream.http', folder)));
    const outcome = await ask(mode);
    expect(outcome.status).toBe(400);
    expect(outcome.envelope?.error).toMatchObject({
      message: 'The provider refused the prompt (PROHIBITED_CONTENT).',
      metadata: { error_type: 'content_policy_violation', provider_code: 'PROHIBITED_CONTENT' },
    });
  });

  it.each([
    ['error-midway', 529, 'provider_overloaded', null],
    ['errors-midway', 429, 'rate_limit_exceeded', '8'],
  ])('midway is never a regular end: %s', async (name, status, type, wait) => {
    lab.upstream.always(recording(new URL(`${name}.stream.http`, folder)));
    const outcome = await ask(mode);
    if (mode === 'buffered') {
      expect(outcome.status).toBe(status);
      expect(outcome.headers.get('retry-after')).toBe(wait);
    } else expect(outcome.response).toMatchObject({ status: 'failed', error_type: type });
  });
});

describe.each<Mode>(['buffered', 'streamed'])('an answer that Gemini counts or ends oddly, %s', (mode) => {
  const answer = (candidate: object, usageMetadata: object): ScriptedResponse => {
    const body = { candidates: [{ index: 0, ...candidate }], usageMetadata };
    return mode === 'streamed' ? sse([JSON.stringify(body)]) : json(body);
  };
  const text = { content: { role: 'model', parts: [{ text: 'Hi.' }] }, finishReason: 'STOP' };
  const counts = { promptTokenCount: 100, candidatesTokenCount: 500, thoughtsTokenCount: 400 };

  // https://github.com/headroomlabs-ai/headroom/pull/2639
  it.each([
    [600, 500],
    [1000, 900],
  ])('has %i tokens in all and %i of the output, its thoughts among the candidates or beside them', async (total, output) => {
    lab.upstream.always(answer(text, { ...counts, totalTokenCount: total }));
    const { response } = await ask(mode);
    expect(response!.usage).toMatchObject({
      input_tokens: 100,
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: 400 },
      total_tokens: total,
    });
  });

  // https://github.com/pydantic/pydantic-ai/pull/3300
  it('is requested again after a malformed call', async () => {
    const patient = await openLab({ retry: { attempts: 2, backoff_ms: 1 } });
    patient.upstream.respond(answer({ finishReason: 'MALFORMED_FUNCTION_CALL' }, { promptTokenCount: 9 }));
    patient.upstream.always(answer(text, counts));
    const { response } = await patient.ask({ wire: 'gemini', mode });
    await patient.close();
    expect(response).toMatchObject({ status: 'completed' });
    expect(patient.upstream.requests).toHaveLength(2);
  });
});

it('cannot be directed to another path by the name of a model', async () => {
  const { upstream } = lab;
  const wild = await openLab({
    providers: [{ id: 'g', wire: 'gemini', base_url: upstream.url, api_key: 'k', models: [{ model: 'g/*' }] }],
  });
  upstream.always(recorded('text', 'buffered'));
  await wild.ask({ wire: 'gemini', mode: 'buffered' }, { model: 'g/../../files?key=x#' });
  expect(upstream.requests.at(-1)!.path).toBe('/v1/models/..%2F..%2Ffiles%3Fkey%3Dx%23:generateContent');
  await wild.close();
});

it('survives an invalid response', async () => {
  for (const body of [
    {},
    { candidates: 'x' },
    { candidates: [{ finishReason: 'STOP', content: { parts: [7] } }] },
    [],
  ]) {
    lab.upstream.always(json(body));
    expect((await ask('buffered')).status).toBe(502);
  }
});
