import { afterEach, expect, it } from 'vitest';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/test-gateway.ts';

let gateway: TestGateway;
afterEach(() => gateway.close());

const body = { model: 'simulator/echo', input: 'Hello' };

it('a key with too many requests gets 429 with the limit, streamed or not, and other keys do not', async () => {
  gateway = await testGateway({ limits: { requests_per_minute: 2 } });
  for (let count = 0; count < 2; count++) {
    const response = await gateway.post('/responses', body);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-ratelimit-limit')).toBeNull(); // a success has no limit headers
  }
  for (const stream of [false, true]) {
    const response = await gateway.post(
      '/responses',
      { ...body, stream },
      { headers: { 'x-router-metadata': 'enabled' } },
    );
    expect(response.status).toBe(429);
    expect(response.headers.get('x-ratelimit-limit')).toBe('2');
    expect(response.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(Number(response.headers.get('x-ratelimit-reset'))).toBeGreaterThan(Date.now());
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    const answer = (await response.json()) as { error: { metadata: object }; router_metadata?: object };
    expect(answer.error).toMatchObject({
      code: 429,
      message: expect.stringContaining('2 requests a minute (limits.requests_per_minute)'),
      metadata: { error_type: 'rate_limit_exceeded', headers: { 'X-RateLimit-Limit': '2' } },
    });
    expect(answer).not.toHaveProperty('router_metadata');
  }
  expect((await gateway.post('/responses', body, { key: testKeys.organizationKey })).status).toBe(200);
});

it('a body that is rejected does not count', async () => {
  gateway = await testGateway({ limits: { requests_per_minute: 1 } });
  for (let count = 0; count < 3; count++) expect((await gateway.post('/responses', { model: 7 })).status).toBe(400);
  expect((await gateway.post('/responses', body)).status).toBe(200);
});

it('tokens are counted by the usage', async () => {
  gateway = await testGateway({ limits: { models: [{ model: 'simulator/*', tokens_per_minute: 3 }] } });
  expect((await gateway.post('/responses', body)).status).toBe(200);
  expect((await gateway.post('/responses', body)).status).toBe(429);
});

it('a limit of a model includes its slugs with sorting suffixes', async () => {
  gateway = await testGateway({ limits: { models: [{ model: 'simulator/echo', requests_per_minute: 2 }] } });
  expect((await gateway.post('/responses', body)).status).toBe(200);
  expect((await gateway.post('/responses', { ...body, model: 'Simulator/Echo:nitro' })).status).toBe(200);
  expect((await gateway.post('/responses', { ...body, model: 'simulator/echo:floor' })).status).toBe(429);
  expect((await gateway.post('/responses', { ...body, model: 'simulator/writer' })).status).toBe(200);
});

it('a fallback model counts when it is called, and is skipped at its limit', async () => {
  const models = [{ model: 'simulator/echo', requests_per_minute: 1 }];
  gateway = await testGateway({ limits: { requests_per_minute: 4, models } });
  const ask = async (...names: string[]) => {
    const options = { headers: { 'x-router-metadata': 'enabled' } };
    const response = await gateway.post('/responses', { models: names, input: 'Hello' }, options);
    const answer = (await response.json()) as { model: string; router_metadata?: { params?: object } };
    return { status: response.status, headers: response.headers, answer };
  };
  expect((await ask('simulator/writer', 'simulator/echo')).answer.model).toBe('simulator/writer');
  expect((await ask('simulator/echo', 'simulator/writer')).answer.model).toBe('simulator/echo'); // it had not been called
  const third = await ask('simulator/echo', 'simulator/writer');
  expect(third.answer.model).toBe('simulator/writer');
  const reason = expect.stringContaining('is limited to 1 requests a minute (limits.models[0].requests_per_minute)');
  expect(third.answer.router_metadata!.params).toMatchObject({ excluded: [{ model: 'simulator/echo', reason }] });
  for (let count = 0; count < 3; count++) {
    const refused = await ask('simulator/echo', 'Simulator/Echo:nitro');
    expect(refused.status).toBe(429);
    expect(refused.headers.get('x-ratelimit-limit')).toBe('1'); // not 4, because it does not count for the key
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.answer).not.toHaveProperty('router_metadata');
  }
  expect((await gateway.post('/responses', { ...body, model: 'simulator/writer' })).status).toBe(200);
});

it('a model that a router chooses counts like a named one', async () => {
  gateway = await testGateway({ limits: { models: [{ model: 'simulator/*', requests_per_minute: 1 }] } });
  const ask = async (model: string) => (await gateway.post('/responses', { model, input: 'Hello' })).status;
  expect(await ask('router/free')).toBe(200);
  expect(await ask('router/free')).toBe(429);
  expect(await ask('simulator/echo')).toBe(429);
});

it('open streams are counted, and are released if the client disconnects', async () => {
  gateway = await testGateway({ limits: { workspace: { concurrent_streams: 1 } } });
  const client = new AbortController();
  const slow = { model: 'simulator/echo', input: '[[slow 200]] [[words 1000]]', stream: true };
  const first = await gateway.post('/responses', slow, { signal: client.signal });
  expect(first.status).toBe(200); // its headers come with its first words
  const refused = await gateway.post('/responses', { ...body, stream: true });
  expect(refused.status).toBe(429);
  expect((await gateway.post('/responses', body)).status).toBe(200); // a buffered request
  client.abort();
  await expect.poll(async () => (await gateway.post('/responses', { ...body, stream: true })).status).toBe(200);
});

it('a limit ends when a reload removes it', async () => {
  gateway = await testGateway({ limits: { requests_per_minute: 1 } });
  await gateway.post('/responses', body);
  expect((await gateway.post('/responses', body)).status).toBe(429);
  await gateway.reload({});
  expect((await gateway.post('/responses', body)).status).toBe(200);
});
