import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { ask, streamFrames, wholeBody } from './lab.ts';
import { type Json, main, manage } from './manage.ts';

/** @see docs/guides/money.md#models-without-a-price */

const pricing = { prompt: 0.000001, completion: 0.000002 };
let upstream: ScriptedUpstream;
beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(({ body, path }) => {
    if (path.endsWith('/embeddings')) {
      const data = [{ object: 'embedding', index: 0, embedding: [1, 0] }];
      return json({ object: 'list', model: 'm', data, usage: { prompt_tokens: 20, total_tokens: 20 } });
    }
    return (body as Json)?.['stream']
      ? sse([...streamFrames('openai-chat'), '[DONE]'])
      : json(wholeBody('openai-chat'));
  });
});
afterAll(() => upstream.close());

const open = (unpriced: unknown, more: object = {}): Promise<TestGateway> =>
  testGateway({
    catalog: { builtin: false },
    ...(unpriced !== undefined && { limits: { unpriced_models: unpriced } }),
    providers: [
      {
        id: 'acme',
        wire: 'openai-chat',
        base_url: upstream.url,
        models: [
          { model: 'acme/unpriced', upstream_model: 'm' },
          { model: 'acme/both' },
          { model: 'acme/free', pricing: { prompt: 0, completion: 0 } },
        ],
      },
      {
        id: 'priced',
        wire: 'openai-chat',
        base_url: upstream.url,
        models: [{ model: 'acme/both', upstream_model: 'm', pricing }],
      },
      { id: 'embed', wire: 'openai-embeddings', base_url: upstream.url, models: [{ model: 'acme/embedding' }] },
      { id: 'rank', wire: 'cohere', base_url: upstream.url, models: [{ model: 'acme/rerank' }] },
      { id: 'draw', wire: 'openai-images', base_url: upstream.url, models: [{ model: 'acme/image' }] },
      {
        id: 'own',
        wire: 'openai-chat',
        base_url: upstream.url,
        workspace: 'main',
        models: [{ model: 'own/unpriced', upstream_model: 'm' }],
      },
    ],
    ...more,
  });

async function createKey(gateway: TestGateway, more: object = { limit: 5 }): Promise<string> {
  const made = await manage(() => gateway)('POST', '/keys', { name: 'limited', workspace_id: main, ...more });
  expect(made.status).toBe(201);
  return made.body.key;
}

const messages = [{ role: 'user', content: 'Hello' }];
const model = 'acme/unpriced';
const requests: [string, Json][] = [
  ...[false, true].flatMap((stream): [string, Json][] => [
    ['/responses', { model, input: 'Hello', stream }],
    ['/chat/completions', { model, messages, stream }],
    ['/completions', { model, prompt: 'Hello', stream }],
    ['/messages', { model, max_tokens: 9, messages, stream }],
  ]),
  ['/models/acme/unpriced:generateContent', { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }],
  ['/models/acme/unpriced:streamGenerateContent', { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }],
  ['/embeddings', { model: 'acme/embedding', input: 'Hello' }],
  ['/rerank', { model: 'acme/rerank', query: 'a', documents: ['a'] }],
  ['/images', { model: 'acme/image', prompt: 'A dot.' }],
];

describe('reject', () => {
  let gateway: TestGateway;
  let limited: string;
  beforeAll(async () => {
    gateway = await open('reject');
    limited = await createKey(gateway);
  });
  afterAll(() => gateway.close());

  it.each(requests)('is a 402 of POST %s under a limit that says what to set: %j', async (path, body) => {
    const before = upstream.requests.length;
    const response = await gateway.post(path, body, { key: limited });
    const text = await response.text();
    expect([response.status, text]).toEqual([402, expect.stringContaining('limits.unpriced_models')]);
    expect(text).toMatch(/no price of acme\/\w+ is known/);
    expect(upstream.requests).toHaveLength(before);
  });

  it('names the reason in the metadata, and the entry has the message', async () => {
    const refused = await ask(gateway, 'buffered', { model }, { key: limited });
    expect(refused.envelope!.error).toMatchObject({
      code: 402,
      type: 'payment_required',
      metadata: { limit_source: 'unpriced_model', remedy_hint: expect.stringContaining('Set `pricing` of the model') },
    });
    const found = await gateway.get(`/generation?id=${refused.headers.get('x-generation-id')}`, { key: limited });
    expect(((await found.json()) as Json)['data']).toMatchObject({
      status: 402,
      total_cost: 0,
      attempts: [],
      error_message: refused.envelope!.error.message,
    });
  });

  it('lets requests without a limit pass', async () => {
    expect((await ask(gateway, 'buffered', { model })).status).toBe(200);
  });

  it.each(['acme/both', 'acme/free'])('lets requests to %s pass, also as a fallback', async (other) => {
    for (const mode of ['buffered', 'streamed'] as const) {
      const before = upstream.requests.length;
      const headers = { 'x-router-metadata': 'enabled' };
      const served = await ask(gateway, mode, { model, models: [other] }, { key: limited, headers });
      expect(served.status).toBe(200);
      expect(upstream.requests).toHaveLength(before + 1);
    }
  });

  it('excludes the endpoints without a price of a model that has others, and says so', async () => {
    const headers = { 'x-router-metadata': 'enabled' };
    const { response } = await ask(gateway, 'buffered', { model: 'acme/both' }, { key: limited, headers });
    expect(response!.router_metadata).toMatchObject({
      params: {
        excluded: [
          { provider: 'acme', model: 'acme/both', reason: 'has no known price, which a spending limit needs' },
        ],
      },
    });
    const only = { model: 'acme/both', provider: { only: ['acme'] } };
    expect((await ask(gateway, 'buffered', only, { key: limited })).status).toBe(402);
  });

  it('concerns a BYOK endpoint only if the limit counts its cost', async () => {
    const counting = await createKey(gateway, { limit: 5, include_byok_in_limit: true });
    expect((await ask(gateway, 'buffered', { model: 'own/unpriced' }, { key: limited })).status).toBe(200);
    expect((await ask(gateway, 'buffered', { model: 'own/unpriced' }, { key: counting })).status).toBe(402);
  });
});

it('allow is the default: a request under a limit reaches a model without a price', async () => {
  const gateway = await open(undefined);
  const served = await ask(gateway, 'buffered', { model }, { key: await createKey(gateway) });
  expect(served.response!.usage).toMatchObject({ cost: null });
  await gateway.close();
});

it('a budget of the organization is a limit of every key', async () => {
  const gateway = await open('reject', { budgets: { organization: { daily: 5 } } });
  expect((await ask(gateway, 'buffered', { model })).status).toBe(402);
  await gateway.close();
});

describe('a price', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await open({ prompt: 0.00001, completion: '2e-5' });
  });
  afterAll(() => gateway.close());

  it.each(['buffered', 'streamed'] as const)('is that of every model without one, %s', async (mode) => {
    const served = await ask(gateway, mode, { model });
    const { input_tokens: input, output_tokens: output, cost } = served.response!.usage!;
    expect(cost).toBeCloseTo(input * 0.00001 + output * 0.00002, 9);
    expect(cost).toBeGreaterThan(0);
    const priced = await ask(gateway, mode, { model: 'acme/both', provider: { only: ['priced'] } });
    expect(priced.response!.usage!.cost).toBeCloseTo(input * 0.000001 + output * 0.000002, 9);
  });

  it('is that of embeddings', async () => {
    const response = await gateway.post('/embeddings', { model: 'acme/embedding', input: 'Hello' });
    expect(await response.json()).toMatchObject({ usage: { prompt_tokens: 20, cost: 0.0002 } });
  });

  it('is reserved, so that a request that does not fit is rejected', async () => {
    const key = await createKey(gateway, { limit: 0.0001 });
    const refused = await ask(gateway, 'buffered', { model, max_output_tokens: 100 }, { key });
    expect([refused.status, refused.envelope!.error.metadata]).toMatchObject([
      402,
      { limit_source: 'router_in_flight_budget' },
    ]);
  });
});
