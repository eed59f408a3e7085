import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { providerKey } from './lab.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  const server = { wire: 'openai-chat', base_url: upstream.url, api_key: providerKey };
  gateway = await testGateway({
    providers: [
      { ...server, id: 'first', models: [{ model: 'acme/one', upstream_model: 'first' }] },
      { ...server, id: 'second', models: [{ model: 'acme/two', upstream_model: 'second' }] },
      {
        ...server,
        id: 'small',
        models: [{ model: 'acme/small', upstream_model: 'small', context_length: 20_000, max_output_tokens: 4096 }],
      },
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

interface ErrorBody {
  error: { message: string; code: unknown; type?: string; metadata: { error_type?: string } };
}

const apis = [
  { path: '/responses', body: { input: 'Hi' } },
  { path: '/chat/completions', body: { messages: [{ role: 'user', content: 'Hi' }] } },
  { path: '/messages', body: { max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] } },
] as const;

const completion = json({
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello.' } }],
  usage: { prompt_tokens: 2, completion_tokens: 1 },
});

/** The first provider fails, the second one answers. */
const failFirst = (status: number, error: object) =>
  upstream.always(({ body }: ScriptedRequest) =>
    (body as { model: string }).model === 'first' ? json(error, { status }) : completion,
  );

describe.each(apis)('an error of a provider on $path', ({ path, body }) => {
  const ask = (more: object) => gateway.post(path, { ...body, ...more });

  it.each([
    ['a spending limit', 400, { error: { message: 'You have reached your specified API usage limits.' } }],
    ['an unpaid account', 400, { error: { code: 'Arrearage', message: 'Access denied.' } }],
    // diegosouzapw/OmniRoute#4976
    ['a rate limit in words', 400, { error: { message: 'Detected high-frequency non-compliant requests from you.' } }],
    ['a refused content', 400, { error: { code: 'data_inspection_failed', message: 'No.' } }],
    ['a model that is gone', 400, { error: { message: 'Model Not Exist', type: 'invalid_request_error' } }],
    ['an input that is too long', 400, { error: { message: 'Range of input length should be [1, 204800]' } }],
  ])('%s falls back to another model', async (_, status, error) => {
    failFirst(status, error);
    const more =
      path === '/responses' ? { models: ['acme/one', 'acme/two'] } : { model: 'acme/one', models: ['acme/two'] };
    const response = await ask(more);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('Hello.');
  });

  it.each([
    ['account', { error: { code: 'Arrearage', message: 'Access denied.' } }, 502],
    ['model', { error: { message: 'Model Not Exist' } }, 404],
    ['content', { error: { code: 'data_inspection_failed', message: 'No.' } }, 400],
    ['rejected', { error: { message: 'temperature must be at most 1' } }, 400],
  ])('has the status of its meaning: %s', async (_, error, status) => {
    failFirst(400, error);
    expect((await ask({ model: 'acme/one' })).status).toBe(status);
  });

  it('is a rate limit with the wait that the message names', async () => {
    failFirst(429, { error: { code: '429', message: 'Please retry after 26 seconds.' } });
    const response = await ask({ model: 'acme/one' });
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('26');
  });

  it('is in the error field of an empty stream, too', async () => {
    upstream.always(sse([{ base_resp: { status_code: 1008, status_msg: 'no money' } }]));
    const response = await ask({ model: 'acme/one', stream: true });
    const text = await response.text();
    expect(text).toContain('no money');
    expect(response.status).toBe(502);
  });
});

describe('the words for an input that is too long', () => {
  const provider = { error: { message: 'prompt is too long: 209353 tokens > 199999 maximum' } };
  const long = 'word '.repeat(30_000);

  it('are those of chat completions', async () => {
    failFirst(400, provider);
    const own = await gateway.post('/chat/completions', {
      model: 'acme/one',
      messages: [{ role: 'user', content: 'Hi' }],
    });
    const { error } = (await own.json()) as ErrorBody;
    expect(error.code).toBe('context_length_exceeded');
    expect(error.message).toMatch(/^This model's maximum context length is 199999 tokens\. /);
    const full = await gateway.post('/chat/completions', {
      model: 'acme/small',
      messages: [{ role: 'user', content: long }],
    });
    expect(full.status).toBe(400);
    expect(((await full.json()) as ErrorBody).error).toMatchObject({
      code: 'context_length_exceeded',
      message: expect.stringMatching(/^This model's maximum context length is 20000 tokens\. /),
    });
  });

  it('are those of messages', async () => {
    failFirst(400, provider);
    const message = { max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] };
    const own = await gateway.post('/messages', { model: 'acme/one', ...message });
    const { error } = (await own.json()) as ErrorBody;
    expect(error).toMatchObject({
      type: 'invalid_request_error',
      message: expect.stringMatching(/^prompt is too long: 209353 tokens > 199999 maximum\. /),
    });
    const full = await gateway.post('/messages', {
      model: 'acme/small',
      max_tokens: 50,
      messages: [{ role: 'user', content: long }],
    });
    expect(((await full.json()) as ErrorBody).error.message).toMatch(
      /^prompt is too long: \d+ tokens > 20000 maximum\. /,
    );
  });

  it('are an error type on responses', async () => {
    failFirst(400, provider);
    const own = await gateway.post('/responses', { model: 'acme/one', input: 'Hi' });
    const { error } = (await own.json()) as ErrorBody;
    expect(error.metadata.error_type).toBe('context_length_exceeded');
    expect(error.code).toBe(400);
  });
});

describe('a limit of the output that is too large', () => {
  it.each([
    ['/responses', { input: 'Hi', max_output_tokens: 32_000 }, 'max_output_tokens'],
    ['/chat/completions', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 32_000 }, 'max_tokens'],
    ['/messages', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 32_000 }, 'max_tokens'],
  ])('is lowered and named on %s', async (path, body, name) => {
    upstream.always(completion);
    const seen = upstream.requests.length;
    const response = await gateway.post(path, { model: 'acme/small', ...body });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-router-dropped-fields')).toBe(name);
    expect(upstream.requests[seen]!.body).toMatchObject({ max_completion_tokens: 4096 });
  });
});
