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
    expect(response.headers.get('x-ratelimit-limit')).toBeNull(); // names the limit that was reached
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
  const reason = expect.stringContaining('is limited to 1 request a minute (limits.models[0].requests_per_minute)');
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

/** A short request of each API; `say` is its text, and directives of the simulator. */
const apis = {
  '/responses': (say: string) => ({ model: 'simulator/echo', input: say }),
  '/chat/completions': (say: string) => ({ model: 'simulator/echo', messages: [{ role: 'user', content: say }] }),
  '/completions': (say: string) => ({ model: 'simulator/echo', prompt: say }),
  '/messages': (say: string) => ({
    model: 'simulator/echo',
    max_tokens: 4096,
    messages: [{ role: 'user', content: say }],
  }),
  '/embeddings': (say: string) => ({ model: 'simulator/embedding', input: say }),
  '/rerank': (say: string) => ({ model: 'simulator/rerank', query: say, documents: ['a'] }),
  '/images': (say: string) => ({ model: 'simulator/image', prompt: say }),
};
const streaming = ['/responses', '/chat/completions', '/completions', '/messages'] as const;
const cases = [
  ...Object.keys(apis).map((path) => [path as keyof typeof apis, false] as const),
  ...streaming.map((path) => [path, true] as const),
];
const send = (path: keyof typeof apis, say: string, stream: boolean, signal?: AbortSignal) =>
  gateway.post(path, { ...apis[path](say), ...(stream && { stream }) }, signal && { signal });

it.each(
  cases,
)('concurrent requests are counted, and those of %s (stream: %s) end with their client', async (path, stream) => {
  gateway = await testGateway({ limits: { workspace: { concurrent_requests: 1 } } });
  const client = new AbortController();
  const slow = send('/responses', '[[wait 60000]]', false, client.signal).catch(() => {});
  await expect.poll(async () => (await gateway.post('/responses', body)).status).toBe(429);
  const refused = await send(path, 'Hello', stream);
  expect(refused.status).toBe(429);
  expect(await refused.text()).toContain('1 request at a time (limits.workspace.concurrent_requests)');
  client.abort();
  await slow;
  await expect.poll(async () => (await send(path, 'Hello', stream)).status).toBe(200);

  const next = new AbortController();
  const open = send(path, '[[wait 60000]]', stream, next.signal).catch(() => {});
  await expect.poll(async () => (await gateway.post('/responses', body)).status).toBe(429);
  next.abort();
  await open;
  await expect.poll(async () => (await gateway.post('/responses', body)).status).toBe(200);
});

it.each(
  cases,
)('of concurrent requests of %s (stream: %s), as many pass as fit into the limit of tokens', async (path, stream) => {
  gateway = await testGateway({ limits: { tokens_per_minute: 100 } });
  const answers = await Promise.all(
    Array.from({ length: 16 }, () => send(path, '[[wait 100]] '.padEnd(400, 'Hello '), stream)),
  );
  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(refused).toHaveLength(15);
  expect(await refused[0]!.text()).toContain('and requests in flight have reserved the rest; try again in 5 s');
  expect(refused[0]!.headers.get('retry-after')).toBe('5');
});

it('the tokens that a request used replace those that it reserved, also if it fails or its client disconnects', async () => {
  gateway = await testGateway({ limits: { tokens_per_minute: 1000 } });
  const client = new AbortController();
  const first = send('/responses', '[[wait 60000]]', true, client.signal).catch(() => {});
  await expect.poll(async () => (await gateway.post('/responses', body)).status).toBe(429);
  client.abort();
  await first;
  await expect.poll(async () => (await gateway.post('/responses', body)).status).toBe(200);
  for (const say of ['[[fail 500]]', 'Hello', '[[fail 400]]', 'Hello']) {
    expect((await send('/responses', say, false)).status).not.toBe(429);
  }
});

it.each(
  cases,
)('a response of %s (stream: %s) says what is left, in the headers that its clients read', async (path, stream) => {
  gateway = await testGateway({ limits: { requests_per_minute: 2, workspace: { tokens_per_minute: 100_000 } } });
  const name = (unit: string, part: string) =>
    path === '/messages' ? `anthropic-ratelimit-${unit}-${part}` : `x-ratelimit-${part}-${unit}`;
  const read = ({ headers }: Response, unit: string) =>
    ['limit', 'remaining', 'reset'].map((part) => headers.get(name(unit, part)));
  const isReset = path === '/messages' ? /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/ : /^(60|[1-5]?\d)s$/;

  const first = await send(path, 'Hello', stream);
  expect(first.status).toBe(200);
  expect(read(first, 'requests')).toEqual(['2', '1', expect.stringMatching(isReset)]);
  const [limit, remaining, reset] = read(first, 'tokens');
  expect([limit, reset]).toEqual(['100000', expect.stringMatching(isReset)]);
  expect(Number(remaining)).toBeLessThan(100_000);
  expect(Number(remaining)).toBeGreaterThan(90_000);
  await first.text();
  const second = await send(path, '[[fail 500]]', stream); // also a failure
  expect(read(second, 'requests').slice(0, 2)).toEqual(['2', '0']);
  await second.text();
  const refused = await send(path, 'Hello', stream);
  expect(refused.status).toBe(429);
  expect(read(refused, 'requests')).toEqual(['2', '0', expect.stringMatching(isReset)]);
});

it.each([
  ['a response', 'Hello'],
  ['attempts that fail after output', '[[cut 9]] one two three four five six seven eight nine ten eleven'],
])('the tokens of %s are those of the ledger', async (_, say) => {
  gateway = await testGateway({ limits: { tokens_per_minute: 1_000_000 } });
  const measure = async () => {
    const response = await gateway.post('/responses', { ...body, max_output_tokens: 16 });
    const { usage } = (await response.json()) as { usage: { total_tokens: number } };
    return { left: Number(response.headers.get('x-ratelimit-remaining-tokens')), used: usage.total_tokens };
  };
  const before = await measure();
  const id = (await send('/responses', say, false)).headers.get('x-generation-id');
  const { data } = (await (await gateway.get(`/generation?id=${id}`)).json()) as {
    data: { tokens_prompt: number; tokens_completion: number };
  };
  expect(data.tokens_completion).toBeGreaterThan(0);
  const after = await measure();
  expect(before.left - after.left).toBe(before.used + data.tokens_prompt + data.tokens_completion);
});

it('a response without a limit has no headers of limits, and one of a model has its own', async () => {
  gateway = await testGateway({ limits: { models: [{ model: 'simulator/writer', requests_per_minute: 5 }] } });
  const names = async (model: string) =>
    [...(await gateway.post('/responses', { ...body, model })).headers.keys()].filter((name) =>
      name.includes('ratelimit'),
    );
  expect(await names('simulator/echo')).toEqual([]);
  expect(await names('simulator/writer')).toHaveLength(3);
});

it('counts of tokens say what is left of the requests', async () => {
  gateway = await testGateway({ limits: { requests_per_minute: 5, concurrent_requests: 1 } });
  const counted = await gateway.post('/messages/count_tokens', apis['/messages']('Hello'));
  expect(counted.headers.get('anthropic-ratelimit-requests-remaining')).toBe('4');
});

it('a limit ends when a reload removes it', async () => {
  gateway = await testGateway({ limits: { requests_per_minute: 1 } });
  await gateway.post('/responses', body);
  expect((await gateway.post('/responses', body)).status).toBe(429);
  await gateway.reload({});
  expect((await gateway.post('/responses', body)).status).toBe(200);
});
