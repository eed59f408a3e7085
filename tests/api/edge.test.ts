import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';

let gateway: TestGateway;
let withoutCors: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({
    server: { cors_origins: ['https://app.example.com', 'https://*.pages.example.com'] },
    bootstrap: {
      keys: [{ key: 'test-disabled-key-0001', name: 'old', workspace: 'main', member: 'ada', disabled: true }],
    },
  });
  withoutCors = await testGateway({});
});
afterAll(async () => {
  await gateway.close();
  await withoutCors.close();
});

const good = { model: 'simulator/echo', input: 'hello' };

describe('the key', () => {
  it.each([
    [null, {}, 'Missing authentication header'],
    ['wrong-key-wrong-key', {}, 'Invalid or missing API key'],
    ['test-disabled-key-0001', {}, 'The API key is disabled.'],
    [null, { authorization: 'Basic abc' }, 'Invalid or missing API key'],
    [null, { authorization: 'Bearer' }, 'Missing authentication header'],
  ])('returns 401 for %j %j', async (key, headers, message) => {
    const response = await gateway.post('/responses', good, { key, headers: headers as Record<string, string> });
    expect(response.status).toBe(401);
    const { error, ...rest } = (await response.json()) as { error: { message: string } };
    expect(error).toMatchObject({ code: 401, metadata: { error_type: 'authentication' } });
    expect(error.message).toContain(message);
    expect(rest).toEqual({});
  });

  it.each([
    { authorization: 'Bearer sk-ant-oat01-of-a-desktop', 'x-api-key': 'KEY' },
    { authorization: 'Bearer ', 'x-api-key': 'KEY' },
    { authorization: 'Bearer KEY', 'x-api-key': 'not-needed' },
    { 'x-api-key': 'not-needed', 'api-key': 'KEY' },
    { authorization: 'KEY' },
  ])('counts beside another header: %j', async (sent) => {
    const headers = Object.fromEntries(
      Object.entries(sent).map(([name, value]) => [name, value.replace('KEY', gateway.key)]),
    );
    expect((await gateway.post('/responses', good, { key: null, headers })).status).toBe(200);
  });

  it('may come with 60 KB of cookies, and more are a 431', async () => {
    const headers = { cookie: `session=${'x'.repeat(60_000)}` };
    expect((await gateway.post('/responses', good, { headers })).status).toBe(200);
    const response = await gateway.post('/responses', good, { headers: { cookie: 'x'.repeat(70_000) } });
    expect(response.status).toBe(431);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_request' } }); // its path is unknown
  });

  it('accepts Bearer in any case', async () => {
    const response = await gateway.post('/responses', good, {
      key: null,
      headers: { authorization: `bearer ${gateway.key}` },
    });
    expect(response.status).toBe(200);
  });

  it('returns 403 for a management key on inference', async () => {
    const response = await gateway.post('/responses', good, { key: gateway.managementKey });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({
      error: { code: 403, metadata: { error_type: 'permission_denied' } },
    });
  });

  it('can act as the organization', async () => {
    expect((await gateway.post('/responses', good, { key: gateway.organizationKey })).status).toBe(200);
  });

  it('is checked before the body is read: a large body without a key is a 401', async () => {
    const response = await gateway.post('/responses', 'x'.repeat(100_000), { key: null });
    expect(response.status).toBe(401);
  });

  it('that is disabled in the store is rejected soon', async () => {
    const { access } = gateway.gateway.storage;
    const extra = (await access.listKeys()).find(({ name }) => name === 'org')!;
    await access.setKeyDisabled(extra.hash, true);
    await expect
      .poll(async () => (await gateway.post('/responses', good, { key: gateway.organizationKey })).status, {
        interval: 50,
      })
      .toBe(401);
    await access.setKeyDisabled(extra.hash, false);
  });
});

describe('every response', () => {
  it.each([
    ['[[fail 503]]', 529, 'Overloaded'],
    ['[[fail 400]]', 400, 'Bad Request'],
  ])('has a reason phrase: %s', async (input, status, reason) => {
    const response = await gateway.post('/responses', { model: 'simulator/echo', input });
    expect([response.status, response.statusText]).toEqual([status, reason]);
  });

  it('names a setting of stored conversations, which has no effect', async () => {
    const fields = { context_management: [{ type: 'compaction', compact_threshold: 1000 }] };
    const response = await gateway.post('/responses', { ...good, ...fields });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-router-dropped-fields')).toBe('context_management');
  });

  it.each([
    ['POST', '/api/v1/responses', 200],
    ['GET', '/api/v1/nothing', 404],
    ['DELETE', '/api/v1/responses', 405],
    ['GET', '/health', 200],
  ])('has X-Generation-Id and X-Request-Id: %s %s → %i', async (method, path, status) => {
    const response = await fetch(gateway.url + path, {
      method,
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      ...(method === 'POST' ? { body: JSON.stringify(good) } : undefined),
    });
    expect(response.status).toBe(status);
    expect(response.headers.get('x-generation-id')).toMatch(/^gen-[0-9A-Za-z]{24}$/);
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
    if (status >= 400) expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
  });

  it.each([
    ['DELETE', '/api/v1/responses', 'POST, GET, HEAD'],
    ['POST', '/api/v1/generation?id=x', 'GET, HEAD'],
    ['POST', '/api/v1/workspaces/main/budgets/daily', 'GET, HEAD, PUT, DELETE'],
    ['PUT', '/api/v1/keys/abc/', 'GET, HEAD, PATCH, DELETE'],
    ['POST', '/api/v1/models/a/b/endpoints', 'GET, HEAD'],
    ['PATCH', '/api/v1/model/a%2Fb', 'GET, HEAD'],
    ['POST', '/health', 'GET, HEAD'],
  ])('lists in Allow the methods of the path for %s %s', async (method, path, allow) => {
    const response = await fetch(gateway.url + path, { method, headers: { authorization: `Bearer ${gateway.key}` } });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe(allow);
    expect((await response.json()) as object).toMatchObject({
      error: { code: 405, message: expect.stringContaining(`does not support ${method}. Use ${allow}.`) },
    });
  });

  // HAProxy checks servers with OPTIONS: https://github.com/haproxy/haproxy/issues/989, https://github.com/standardnotes/server/issues/1038
  it.each([
    ['/', 204, 'GET, HEAD, OPTIONS'],
    ['/health', 204, 'GET, HEAD, OPTIONS'],
    ['/ready', 200, null],
    ['/api/v1/responses', 204, 'POST, GET, HEAD, OPTIONS'],
    ['/nothing', 404, null],
  ])('responds to OPTIONS %s without a key with %i', async (path, status, allow) => {
    for (const { url } of [gateway, withoutCors]) {
      const response = await fetch(url + path, { method: 'OPTIONS' });
      expect([response.status, response.headers.get('allow')]).toEqual([status, allow]);
      expect(response.headers.get('x-request-id')).toMatch(/^req_/);
    }
  });

  // https://github.com/BerriAI/litellm/issues/22272
  it.each([
    '/gateway/api/v1/models',
    '/a/b/ready',
    '/gateway/api/v1beta/models/x:generateContent',
  ])('says that a proxy must remove the prefix of %s', async (path) => {
    const response = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${gateway.key}` } });
    expect(response.status).toBe(404);
    expect(await response.text()).toMatch(/a proxy in front of it must remove \/(gateway|a\/b),/);
  });

  it('responds to OPTIONS of the server', async () => {
    for (const { url } of [gateway, withoutCors]) {
      const asked = request(url, { method: 'OPTIONS', path: '*' }).end();
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      response.resume();
      expect(response.statusCode).toBe(204);
    }
  });

  it('echoes a valid X-Request-Id and replaces an invalid one', async () => {
    const echo = async (id: string) =>
      (await gateway.get('/health', { headers: { 'x-request-id': id } })).headers.get('x-request-id');
    expect(await echo('abc-123')).toBe('abc-123');
    expect(await echo('a b;c')).toMatch(/^req_/);
  });
});

it.each([
  ['https://app.example.com', true],
  ['https://preview-7.pages.example.com', true],
  ['https://a.b.pages.example.com', true],
  ['https://pages.example.com', false],
  ['https://evil.com/.pages.example.com', false],
  ['https://a.pagesXexample.com', false],
])('the origin %s may call it: %s', async (origin, may) => {
  const { headers } = await gateway.get('/models', { headers: { origin } });
  expect(headers.get('access-control-allow-origin')).toBe(may ? origin : null);
});

describe('health', () => {
  it('needs no key', async () => {
    const response = await gateway.get('/health', { key: null });
    expect(await response.json()).toMatchObject({ status: 'ok', name: 'headgate' });
    expect((await gateway.get('/ready', { key: null })).status).toBe(200);
  });
});

describe('CORS', () => {
  it('allows the configured origin, and no other', async () => {
    const preflight = (origin: string) =>
      fetch(`${gateway.baseUrl}/responses`, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,x-router-metadata,x-stainless-new',
        },
      });
    const ours = await preflight('https://app.example.com');
    expect(ours.status).toBe(204);
    expect(ours.headers.get('access-control-allow-origin')).toBe('https://app.example.com');
    expect(ours.headers.get('access-control-allow-headers')).toBe('authorization,x-router-metadata,x-stainless-new');
    expect((await preflight('https://evil.example.com')).headers.get('access-control-allow-origin')).toBeNull();
    const streamed = await gateway.stream(good, { headers: { origin: 'https://app.example.com' } });
    expect(streamed.headers.get('access-control-allow-origin')).toBe('https://app.example.com');
    const exposed = streamed.headers.get('access-control-expose-headers')?.split(', ');
    const names = [
      ...['x-generation-id', 'x-router-dropped-fields', 'x-router-token-count', 'x-ratelimit-remaining-tokens'],
      ...['etag', 'content-range', 'content-disposition'],
    ];
    expect(exposed).toEqual(expect.arrayContaining(names));
  });

  it('lets a script read that its key is wrong', async () => {
    const headers = { origin: 'https://app.example.com' };
    for (const key of [null, 'wrong']) {
      const response = await gateway.post('/responses', good, { headers, key });
      expect(response.status).toBe(401);
      expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example.com');
    }
  });

  it('is off unless configured', async () => {
    const plain = await testGateway();
    const response = await plain.post('/responses', good, { headers: { origin: 'https://app.example.com' } });
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    await plain.close();
  });
});

describe('a generation', () => {
  it('is visible to keys of its workspace and management keys, and an unknown one is a 404', async () => {
    const made = await gateway.post('/responses', good);
    const id = made.headers.get('x-generation-id')!;
    const found = await gateway.get(`/generation?id=${id}`);
    expect(await found.json()).toMatchObject({
      data: { id, model: 'simulator/echo', provider_name: 'Simulator', streamed: false, cancelled: false, status: 200 },
    });
    const asked = await gateway.get(`/generation?id=${id}`, { key: gateway.managementKey }); // of any workspace
    expect(asked.status).toBe(200);
    expect(await asked.json()).toMatchObject({ data: { id } });
    const unknown = await gateway.get('/generation?id=gen-none', { key: gateway.managementKey });
    expect([unknown.status, ((await unknown.json()) as { error: { message: string } }).error.message]).toEqual([
      404,
      'There is no generation gen-none.',
    ]);
    expect((await gateway.get('/generation?id=gen-none')).status).toBe(404);
    expect((await gateway.get('/generation')).status).toBe(400);
  });
});
