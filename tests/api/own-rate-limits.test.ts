import { afterEach, describe, expect, it } from 'vitest';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/index.ts';
import { auditOf, expectIssues, type Json, main, manage } from './manage.ts';

let gateway: TestGateway;
const ask = manage(() => gateway);
afterEach(() => gateway.close());

const body = { model: 'simulator/echo', input: 'Hello' };
const infer = async (key: string = testKeys.key, more: object = {}) => {
  const response = await gateway.post('/responses', { ...body, ...more }, { key });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
};
const statusOf = async (key?: string) => (await infer(key)).status;
const createKey = async (fields: object = {}): Promise<{ key: string; data: Json }> => {
  const answer = await ask('POST', '/keys', { name: 'limited', workspace_id: main, ...fields });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body;
};

/** Holders of limits: the path, their name in messages, and a key that the limits apply to. */
const holders: [string, () => Promise<{ path: string; key: string; name: string; place: string }>][] = [
  [
    'a key',
    async () => {
      const { key, data } = await createKey();
      return { path: `/keys/${data.hash}`, key, name: 'The key "limited"', place: 'of the key' };
    },
  ],
  [
    'a member',
    async () => ({ path: '/members/ada', key: testKeys.key, name: 'The member "ada"', place: 'of the member' }),
  ],
  [
    'a workspace',
    async () => ({ path: '/workspaces/main', key: testKeys.key, name: 'This workspace', place: 'of the workspace' }),
  ],
];

describe.each(holders)('rate limits of %s', (_, open) => {
  it('reject with a 429 that names the limit and its holder, buffered and streamed, and survive a restart', async () => {
    gateway = await testGateway();
    const { path, key, name, place } = await open();
    const limits = { requests_per_minute: 2, tokens_per_minute: null, concurrent_requests: null };
    const changed = await ask('PATCH', path, { requests_per_minute: 2 });
    expect(changed).toMatchObject({ status: 200, body: { data: limits } });
    expect((await ask('GET', path)).body.data).toMatchObject(limits);
    expect((await auditOf(ask, 1))[0]).toMatchObject({
      action: expect.stringMatching(/^(key|member|workspace)\.update$/),
      changes: { requests_per_minute: { before: null, after: 2 } },
    });

    const expectLimited = async () => {
      for (const stream of [false, true]) {
        const { status, headers, text } = await infer(key, { stream });
        expect(status).toBe(429);
        expect(headers.get('x-ratelimit-limit')).toBe('2');
        expect(headers.get('x-ratelimit-remaining')).toBe('0');
        expect(Number(headers.get('x-ratelimit-reset'))).toBeGreaterThan(Date.now());
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
        expect(JSON.parse(text).error).toMatchObject({
          message: expect.stringContaining(`${name} is limited to 2 requests a minute (requests_per_minute ${place});`),
          metadata: { error_type: 'rate_limit_exceeded' },
        });
      }
    };
    expect([await statusOf(key), (await infer(key, { stream: true })).status]).toEqual([200, 200]);
    await expectLimited();

    const { dataDir } = gateway;
    await gateway.close({ keepData: true });
    gateway = await testGateway({}, dataDir);
    expect([await statusOf(key), await statusOf(key)]).toEqual([200, 200]); // counts in memory start over
    await expectLimited();
  });

  it('keep their counts when they change, and end when they are set to null', async () => {
    gateway = await testGateway();
    const { path, key } = await open();
    await ask('PATCH', path, { requests_per_minute: 2, tokens_per_minute: 1_000_000_000_000 });
    expect([await statusOf(key), await statusOf(key), await statusOf(key)]).toEqual([200, 200, 429]);
    await ask('PATCH', path, { requests_per_minute: 3 });
    expect([await statusOf(key), await statusOf(key)]).toEqual([200, 429]);
    await gateway.reload({});
    expect(await statusOf(key)).toBe(429);
    await ask('PATCH', path, { requests_per_minute: null });
    expect(await statusOf(key)).toBe(200);
    await ask('PATCH', path, { tokens_per_minute: 1 }); // its counts hold what was used before
    expect(await infer(key)).toMatchObject({
      status: 429,
      text: expect.stringContaining('1 token a minute (tokens_per_minute of the'),
    });
  });

  it('count concurrent requests', async () => {
    gateway = await testGateway();
    const { path, key } = await open();
    await ask('PATCH', path, { concurrent_requests: 1 });
    const client = new AbortController();
    const slow = { ...body, input: '[[slow 200]] [[words 1000]]', stream: true };
    const first = await gateway.post('/responses', slow, { key, signal: client.signal });
    expect(first.status).toBe(200);
    for (const stream of [true, false]) {
      expect((await infer(key, { stream })).text).toContain('1 request at a time (concurrent_requests of the');
    }
    client.abort();
    await expect.poll(() => statusOf(key)).toBe(200);
  });

  it.each([
    [{ requests_per_minute: 0 }, { requests_per_minute: 'must be an integer from 1 to 1000000000000' }],
    [{ tokens_per_minute: 1.5 }, { tokens_per_minute: 'must be an integer' }],
    [{ concurrent_requests: '5' }, { concurrent_requests: 'got "5"' }],
    [{ concurrent_requests: 1e13 }, { concurrent_requests: 'got 10000000000000' }],
    [{ request_per_minute: 5 }, { request_per_minute: '' }],
  ])('reject %j', async (fields, issues) => {
    gateway = await testGateway();
    const { path } = await open();
    expectIssues(await ask('PATCH', path, fields), issues as Record<string, string>);
  });
});

it('the stricter of the limit of a key and of the configuration applies, separately for each limit', async () => {
  gateway = await testGateway({ limits: { requests_per_minute: 2, tokens_per_minute: 1_000_000 } });
  const strict = await createKey({ requests_per_minute: 1 });
  const loose = await createKey({ requests_per_minute: 3, tokens_per_minute: 1 });
  expect([await statusOf(strict.key), await statusOf(strict.key)]).toEqual([200, 429]);
  expect((await infer(strict.key)).text).toContain('1 request a minute (requests_per_minute of the key)');
  expect(await statusOf(loose.key)).toBe(200);
  expect((await infer(loose.key)).text).toContain('1 token a minute (tokens_per_minute of the key)');
  await ask('PATCH', `/keys/${loose.data.hash}`, { tokens_per_minute: null });
  expect(await statusOf(loose.key)).toBe(200);
  expect((await infer(loose.key)).text).toContain('2 requests a minute (limits.requests_per_minute)');
});

it('limits of each member in the configuration apply to all its keys together', async () => {
  gateway = await testGateway({ limits: { member: { requests_per_minute: 2 } } });
  const second = await createKey({ creator_user_id: 'ada' });
  expect([await statusOf(), await statusOf(second.key)]).toEqual([200, 200]);
  expect(JSON.parse((await infer()).text).error.message).toContain(
    'The member "ada" is limited to 2 requests a minute (limits.member.requests_per',
  );
  expect(await statusOf(testKeys.organizationKey)).toBe(200); // has no member
});

it('limits of a new key apply from its first request, also to images, and are rotated with it', async () => {
  gateway = await testGateway();
  const { key, data } = await createKey({ requests_per_minute: 1 });
  expect(data).toMatchObject({ requests_per_minute: 1, tokens_per_minute: null, concurrent_requests: null });
  const images = { model: 'simulator/image', prompt: 'a dot' };
  const statusOfImage = async (one: string) => (await gateway.post('/images', images, { key: one })).status;
  expect([await statusOfImage(key), await statusOfImage(key), await statusOf(key)]).toEqual([200, 429, 429]);
  const rotated = await ask('POST', `/keys/${data.hash}/rotate`);
  expect(rotated.body.data).toMatchObject({ requests_per_minute: 1 });
  expect([await statusOf(rotated.body.key), await statusOf(rotated.body.key)]).toEqual([200, 429]);
});

it('a rejected request counts for none of its limits', async () => {
  gateway = await testGateway();
  await ask('PATCH', '/members/ada', { requests_per_minute: 2 });
  await ask('PATCH', '/workspaces/main', { requests_per_minute: 1 });
  expect([await statusOf(), await statusOf(), await statusOf()]).toEqual([200, 429, 429]);
  await ask('PATCH', '/workspaces/main', { requests_per_minute: null });
  expect([await statusOf(), await statusOf()]).toEqual([200, 429]); // the second and the third of the member
});

it('GET /key shows the limits of the key that asks', async () => {
  gateway = await testGateway();
  const { key } = await createKey({ requests_per_minute: 7, concurrent_requests: 2 });
  const show = async (one: string) => (await ask('GET', '/key', undefined, one)).body.data;
  expect(await show(key)).toMatchObject({
    requests_per_minute: 7,
    tokens_per_minute: null,
    concurrent_requests: 2,
    rate_limit: { requests: 7, interval: '1m' },
  });
  expect((await show(testKeys.key)).rate_limit.requests).toBe(-1);
});

describe('members', () => {
  it('are listed oldest first, page by page, and an unknown one is a 404', async () => {
    gateway = await testGateway();
    await ask('POST', '/workspaces/main/members/add', { user_ids: ['ben/a b'] });
    const ada = { id: 'ada', requests_per_minute: null, created_at: expect.stringContaining('T') };
    expect((await ask('GET', '/members')).body).toMatchObject({ data: [ada, { id: 'ben/a b' }], total_count: 2 });
    expect((await ask('GET', '/members?offset=1')).body.data).toMatchObject([{ id: 'ben/a b' }]);
    const path = `/members/${encodeURIComponent('ben/a b')}`;
    expect((await ask('PATCH', path, { tokens_per_minute: 5 })).body.data).toMatchObject({ tokens_per_minute: 5 });
    expect((await ask('GET', '/members/cleo')).status).toBe(404);
    expect((await ask('PATCH', '/members/cleo', {})).status).toBe(404);
  });

  it('stay unchanged, without an audit entry, if nothing changes', async () => {
    gateway = await testGateway();
    await ask('PATCH', '/members/ada', { requests_per_minute: 5 });
    const before = (await ask('GET', '/audit')).body.total_count;
    for (const same of [{}, { requests_per_minute: 5 }, { tokens_per_minute: null }]) {
      expect((await ask('PATCH', '/members/ada', same)).status).toBe(200);
    }
    expect((await ask('GET', '/audit')).body.total_count).toBe(before);
  });
});
