import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { hashKey, deriveKeyNumber } from '../../src/access/key-text.ts';
import { windowStarts } from '../../src/metering/windows.ts';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/index.ts';
import { auditOf, book, expectIssues, type Json, main, manage, other } from './manage.ts';

let gateway: TestGateway;
const ask = manage(() => gateway);
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const good = { model: 'simulator/echo', input: 'hello' };
const infer = async (key: string) => (await gateway.post('/responses', good, { key })).status;
const create = async (body: object = {}) => {
  const answer = await ask('POST', '/keys', { name: 'a key', ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body as { data: Json; key: string };
};

/** Does something while the clock shows another time. */
async function atTime(ms: number, act: () => Promise<void>): Promise<void> {
  vi.useFakeTimers({ toFake: ['Date'], now: ms });
  try {
    await act();
  } finally {
    vi.useRealTimers();
  }
}

describe('management routes', () => {
  const hash = '0'.repeat(64);
  const routes = [
    'GET /keys',
    'POST /keys',
    `GET /keys/${hash}`,
    `PATCH /keys/${hash}`,
    `DELETE /keys/${hash}`,
    `POST /keys/${hash}/rotate`,
    'GET /workspaces',
    'POST /workspaces',
    `GET /workspaces/${main}`,
    `PATCH /workspaces/${main}`,
    `DELETE /workspaces/${main}`,
    `GET /workspaces/${main}/budgets`,
    `GET /workspaces/${main}/budgets/daily`,
    `PUT /workspaces/${main}/budgets/daily`,
    `DELETE /workspaces/${main}/budgets/daily`,
    `GET /workspaces/${main}/members`,
    `POST /workspaces/${main}/members/add`,
    `POST /workspaces/${main}/members/remove`,
    'GET /credits',
    'GET /activity',
    'GET /audit',
  ];

  it.each(routes)('%s requires a management key', async (route) => {
    const [method, path] = route.split(' ') as [string, string];
    for (const key of [testKeys.key, testKeys.organizationKey]) {
      const answer = await ask(method, path, undefined, key);
      expect(answer.status).toBe(403);
      expect(answer.body.error).toMatchObject({
        code: 403,
        message: 'Only management keys can perform this operation.',
        metadata: { error_type: 'permission_denied' },
      });
    }
    expect((await ask(method, path, undefined, null)).status).toBe(401);
    expect((await ask(method, path, undefined, 'unknown-key')).status).toBe(401);
  });

  it('returns 404 and 405 for a management key, too', async () => {
    expect((await ask('GET', '/nothing')).status).toBe(404);
    expect((await ask('PUT', '/keys', {})).status).toBe(405);
  });

  it('accepts bodies of up to 1 MiB', async () => {
    const answer = await ask('POST', '/keys', { name: 'x'.repeat(1024 * 1024) });
    expect(answer.status).toBe(413);
    expect(answer.body.error.message).toBe('The body is larger than 1048576 bytes (fixed for management).');
    expectIssues(await ask('POST', '/keys', { name: 'x'.repeat(1024 * 1024 - 100) }), { name: 'at most 256' });
  });

  it.each([
    ['no body', undefined, 'is missing; send a JSON object'],
    ['a list', [], 'must be an object, got a list of 0'],
    ['null', 'null', 'must be an object, got null'],
  ])('rejects %s', async (_, body, says) => {
    expectIssues(await ask('POST', '/keys', body), { '': says });
  });
});

describe('POST /keys', () => {
  it('creates a key of the default workspace that works at once, and shows its text only then', async () => {
    const answer = await ask('POST', '/keys', { name: 'Größe 📦' });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const { data, key } = answer.body;
    expect(key).toMatch(/^sk-rt-v1-[0-9a-f]{64}$/);
    expect(data).toEqual({
      hash: hashKey(key),
      id: deriveKeyNumber(hashKey(key)),
      label: `${key.slice(0, 12)}...${key.slice(-3)}`,
      name: 'Größe 📦',
      disabled: false,
      workspace_id: main,
      limit: null,
      limit_remaining: null,
      limit_reset: null,
      include_byok_in_limit: false,
      requests_per_minute: null,
      tokens_per_minute: null,
      concurrent_requests: null,
      usage: 0,
      usage_daily: 0,
      usage_weekly: 0,
      usage_monthly: 0,
      byok_usage: 0,
      byok_usage_daily: 0,
      byok_usage_weekly: 0,
      byok_usage_monthly: 0,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      updated_at: null,
      expires_at: null,
      creator_user_id: null,
      external_user: null,
    });
    expect(await infer(key)).toBe(200);
    expect(JSON.stringify((await ask('GET', `/keys/${data.hash}`)).body)).not.toContain(key);
  });

  it('stores every setting', async () => {
    const settings = {
      limit: 12.000000001,
      limit_reset: 'weekly',
      include_byok_in_limit: true,
      expires_at: '2101-02-28T23:59:59Z',
      creator_user_id: 'ada',
      workspace_id: main,
    };
    const { data } = await create({ ...settings, external: { user: 'their-user-7' } });
    const expected = {
      ...settings,
      expires_at: '2101-02-28T23:59:59.000Z',
      limit_remaining: 12.000000001,
      external_user: 'their-user-7',
    };
    expect(data).toMatchObject(expected);
    expect((await ask('GET', `/keys/${data.hash}`)).body.data).toMatchObject(expected);
  });

  it('creates a key of the named member, or else of the organization', async () => {
    const mine = await create({ creator_user_id: 'ada' });
    const ours = await create();
    const keys = await gateway.gateway.storage.access.listKeys();
    const find = ({ data }: { data: Json }) => keys.find(({ hash }) => hash === data.hash);
    expect(find(mine)).toMatchObject({ kind: 'member', memberId: 'ada' });
    expect(find(ours)).toMatchObject({ kind: 'organization', memberId: null });
  });

  it('accepts null for absent fields', async () => {
    const nothing = { limit: null, limit_reset: null, expires_at: null, creator_user_id: null };
    expect((await create(nothing)).data).toMatchObject(nothing);
  });

  it.each([
    [{}, { name: 'is missing' }],
    [{ name: '' }, { name: 'must not be empty' }],
    [{ name: 'x'.repeat(257) }, { name: 'has 257 characters; at most 256 are allowed' }],
    [{ name: 'a\u0000b' }, { name: 'must not hold control characters' }],
    [{ name: 5 }, { name: 'must be a string, got 5' }],
    [{ name: 'k', limit: -1 }, { limit: 'must be a number from 0 to 9000000, got -1' }],
    [{ name: 'k', limit: 9_000_001 }, { limit: 'got 9000001' }],
    [{ name: 'k', limit: '5' }, { limit: 'got "5"' }],
    [
      { name: 'k', limit_reset: 'yearly' },
      { limit_reset: 'one of `daily`, `weekly`, `monthly` or null, got "yearly"' },
    ],
    [{ name: 'k', include_byok_in_limit: null }, { include_byok_in_limit: 'must be a boolean, got null' }],
    [{ name: 'k', expires_at: '2101-01-01' }, { expires_at: 'must be a time in UTC with seconds' }],
    [{ name: 'k', expires_at: '2101-01-01T00:00:00+02:00' }, { expires_at: 'must be a time in UTC' }],
    [{ name: 'k', expires_at: '2101-02-30T00:00:00Z' }, { expires_at: 'must be a time in UTC' }],
    [{ name: 'k', expires_at: '2020-01-01T00:00:00Z' }, { expires_at: 'is in the past: 2020-01-01T00:00:00Z' }],
    [{ name: 'k', creator_user_id: 'nobody' }, { creator_user_id: 'names no member: "nobody"' }],
    [{ name: 'k', creator_user_id: 'ada', workspace_id: other }, { creator_user_id: 'not in the workspace other' }],
    [{ name: 'k', workspace_id: 'nowhere' }, { workspace_id: 'names no workspace: "nowhere"' }],
    [{ name: 'k', workspace_id: 'main' }, { workspace_id: `must be an id, and "main" is a slug; send "${main}"` }],
    [{ name: 'k', external: {} }, { 'external.user': 'is missing' }],
    [
      { name: 'k', external: { user: 'u', api_key: 'k' } },
      { 'external.api_key': 'is not offered: the gateway creates' },
    ],
    [{ name: 'k', limits: 5 }, { limits: 'did you mean `limit`?' }],
    [
      { limit: -1, expires_at: 5, hash: 'x' },
      { name: 'is missing', limit: 'got -1', expires_at: 'got 5', hash: 'is not known here' },
    ],
  ])('rejects %j', async (body, issues) => {
    expectIssues(await ask('POST', '/keys', body), issues);
  });
});

describe('GET /keys', () => {
  it('lists inference keys, newest first, and disabled ones on request', async () => {
    const [first, second] = [await create({ name: 'first' }), await create({ name: 'second' })];
    await ask('PATCH', `/keys/${second.data.hash}`, { disabled: true });
    const hashes = async (query: string) =>
      (await ask('GET', `/keys${query}`)).body.data.map((key: Json) => key.hash) as string[];

    const enabled = await hashes('');
    expect(enabled[0]).toBe(first.data.hash);
    expect(enabled).not.toContain(second.data.hash);
    expect(enabled).not.toContain(hashKey(testKeys.managementKey));
    expect(enabled).toContain(hashKey(testKeys.key));
    expect((await hashes('?include_disabled=true')).slice(0, 2)).toEqual([second.data.hash, first.data.hash]);
    expect(await hashes('?include_disabled=true&offset=1')).toHaveLength(
      (await hashes('?include_disabled=true')).length - 1,
    );
    expect(await hashes(`?workspace_id=${main}`)).toEqual(enabled);
    expect(await hashes(`?workspace_id=${other}`)).toEqual([]);
    expect(Object.keys((await ask('GET', '/keys')).body)).toEqual(['data']);
  });

  it('rejects a query that breaks a rule', async () => {
    const answer = await ask('GET', '/keys?offset=-1&include_disabled=yes&workspace_id=a&workspace_id=b');
    expectIssues(answer, {
      offset: '"-1" is not an integer from 0',
      include_disabled: '"yes" is not one of true, false',
      workspace_id: 'the parameter is repeated',
    });
  });

  it('rejects unknown parameters: a misspelled filter would have no effect', async () => {
    expectIssues(await ask('GET', '/keys?limit=3&workspac_id=a'), {
      limit: '`limit` is not a parameter of this route; the parameters are offset, include_disabled, workspace_id.',
      workspac_id: 'did you mean `workspace_id`?',
    });
    expectIssues(await ask('GET', '/activity?workspac_id=foo'), { workspac_id: 'did you mean `workspace_id`?' });
  });
});

describe('a key by its hash', () => {
  it.each(['GET', 'PATCH', 'DELETE'])('%s returns 404 for an unknown key and for a management key', async (method) => {
    for (const hash of ['0'.repeat(64), 'nothing%00', hashKey(testKeys.managementKey)]) {
      const answer = await ask(method, `/keys/${hash}`, method === 'PATCH' ? {} : undefined);
      expect(answer.status).toBe(404);
      expect(answer.body.error.message).toContain('There is no inference key with the hash');
    }
  });

  it('is changed in the given fields only', async () => {
    const { data } = await create({ limit: 5, limit_reset: 'daily', creator_user_id: 'ada' });
    const path = `/keys/${data.hash}`;
    const first = await ask('PATCH', path, { name: 'renamed', limit: 7.5 });
    expect(first.status).toBe(200);
    expect(first.body.data).toEqual({
      ...data,
      name: 'renamed',
      limit: 7.5,
      limit_remaining: 7.5,
      updated_at: expect.any(String),
    });
    const second = await ask('PATCH', path, { limit: null, limit_reset: null, include_byok_in_limit: true });
    expect(second.body.data).toMatchObject({ limit: null, limit_remaining: null, limit_reset: null });
    expect(second.body.data).toMatchObject({ include_byok_in_limit: true, name: 'renamed', creator_user_id: 'ada' });
    expect((await ask('GET', path)).body).toEqual(second.body);
  });

  it('stays unchanged, without an audit entry, if nothing changes', async () => {
    const { data } = await create();
    const [last] = await auditOf(ask, 1);
    for (const body of [{}, { name: data.name, limit: null, disabled: false }]) {
      expect((await ask('PATCH', `/keys/${data.hash}`, body)).body.data).toEqual(data);
    }
    expect(await auditOf(ask, 1)).toEqual([last]);
  });

  it.each([
    [{ name: '' }, { name: 'must not be empty' }],
    [{ disabled: 'yes' }, { disabled: 'must be a boolean, got "yes"' }],
    [{ limit: -5 }, { limit: 'got -5' }],
    [{ limit_reset: 'hourly' }, { limit_reset: 'got "hourly"' }],
    [{ workspace_id: other }, { workspace_id: 'is not known here' }],
    [
      { expires_at: null, limit: {} },
      { expires_at: 'is not known here', limit: 'got an object' },
    ],
  ])('rejects the change %j', async (body, issues) => {
    const { data } = await create();
    expectIssues(await ask('PATCH', `/keys/${data.hash}`, body), issues);
    expect((await ask('GET', `/keys/${data.hash}`)).body.data).toEqual(data);
  });

  it('is rejected at once when it is disabled, and accepted again when it is enabled', async () => {
    const { data, key } = await create();
    await ask('PATCH', `/keys/${data.hash}`, { disabled: true });
    expect(await infer(key)).toBe(401);
    await ask('PATCH', `/keys/${data.hash}`, { disabled: false });
    expect(await infer(key)).toBe(200);
  });

  it('stops working at once when it is deleted, and its entries stay', async () => {
    const { data, key } = await create();
    const answer = await gateway.post('/responses', good, { key });
    const id = answer.headers.get('x-generation-id')!;
    const deleted = await ask('DELETE', `/keys/${data.hash}`);
    expect([deleted.status, deleted.body]).toEqual([200, { deleted: true }]);

    expect(await infer(key)).toBe(401);
    expect((await ask('GET', `/keys/${data.hash}`)).status).toBe(404);
    expect((await ask('DELETE', `/keys/${data.hash}`)).status).toBe(404);
    expect((await gateway.get(`/generation?id=${id}`)).status).toBe(200);
  });

  it('can be deleted with a Content-Type and without a body', async () => {
    const { data } = await create();
    const headers = { 'content-type': 'application/json' };
    const answer = await gateway.send('DELETE', `/keys/${data.hash}`, undefined, {
      headers,
      key: gateway.managementKey,
    });
    expect(answer.status).toBe(200);
  });
});

describe('the spending of a key', () => {
  it('is returned in total and for the current windows, exactly, with the rest of its limit', async () => {
    const starts = windowStarts(Date.now());
    const { data } = await create({ limit: 1, limit_reset: 'daily' });
    const entry = (createdAtMs: number, costNanoUsd: bigint) => ({ keyHash: data.hash, createdAtMs, costNanoUsd });
    const earliest = Math.min(starts.weekly, starts.monthly);
    await book(
      gateway,
      entry(starts.daily, 100_000_001n),
      entry(starts.daily - 1, 10n),
      entry(starts.weekly, 20n),
      entry(starts.weekly - 1, 40n),
      entry(starts.monthly, 80n),
      entry(starts.monthly - 1, 160n),
      entry(earliest - 1, 320n),
      { keyHash: 'another', costNanoUsd: 999n, createdAtMs: starts.daily },
    );
    const booked = [
      starts.daily,
      starts.daily - 1,
      starts.weekly,
      starts.weekly - 1,
      starts.monthly,
      starts.monthly - 1,
      earliest - 1,
    ].map((ms, index) => ({ ms, cost: [100_000_001, 10, 20, 40, 80, 160, 320][index]! }));
    const since = (start: number) => booked.reduce((sum, { ms, cost }) => (ms >= start ? sum + cost : sum), 0) / 1e9;

    const path = `/keys/${data.hash}`;
    const found = (await ask('GET', path)).body.data;
    expect(found).toMatchObject({
      usage: 0.100000631,
      usage_daily: since(starts.daily),
      usage_weekly: since(starts.weekly),
      usage_monthly: since(starts.monthly),
      limit_remaining: (1e9 - since(starts.daily) * 1e9) / 1e9,
      byok_usage: 0,
    });
    expect((await ask('GET', '/keys')).body.data[0]).toEqual(found);
    for (const [limit_reset, used] of [
      ['weekly', since(starts.weekly)],
      ['monthly', since(starts.monthly)],
      [null, 0.100000631],
    ] as const) {
      const { limit_remaining } = (await ask('PATCH', path, { limit_reset })).body.data;
      expect(limit_remaining).toBeCloseTo(1 - used, 12);
    }
    expect((await ask('PATCH', path, { limit: 0.1 })).body.data.limit_remaining).toBe(0);
  });

  it('includes the responses of the key', async () => {
    const { data, key } = await create();
    const answer = (await (await gateway.post('/responses', good, { key })).json()) as Json;
    await expect
      .poll(
        async () => (await ask('GET', `/activity`)).status && (await ask('GET', `/keys/${data.hash}`)).body.data.usage,
      )
      .toBe(answer.usage.cost);
  });
});

describe('POST /keys/{hash}/rotate', () => {
  it('replaces the key with a new one with the same settings', async () => {
    const old = await create({ limit: 3, limit_reset: 'monthly', creator_user_id: 'ada', external: { user: 'u' } });
    const answer = await ask('POST', `/keys/${old.data.hash}/rotate`);
    expect(answer.status).toBe(201);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const { data, key, previous } = answer.body;

    expect(data).toEqual({
      ...old.data,
      hash: hashKey(key),
      id: deriveKeyNumber(hashKey(key)),
      label: data.label,
      created_at: data.created_at,
    });
    expect(data.hash).not.toBe(old.data.hash);
    expect(previous).toEqual({ ...old.data, disabled: true, updated_at: data.created_at });
    expect([await infer(old.key), await infer(key)]).toEqual([401, 200]);
  });

  it('needs no body, also with a Content-Type', async () => {
    const { data } = await create();
    const headers = { authorization: `Bearer ${gateway.managementKey}`, 'content-type': 'application/json' };
    const url = `${gateway.url}/api/v1/keys`;
    const answer = await fetch(`${url}/${data.hash}/rotate`, { method: 'POST', headers });
    expect(answer.status).toBe(201);
    expect(await answer.json()).toMatchObject({ previous: { hash: data.hash, disabled: true } });
    const refused = await fetch(url, { method: 'POST', headers });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { message: 'The body is empty; send a JSON object.' } });
  });

  it('keeps both valid for the requested time', async () => {
    const old = await create();
    const before = Date.now();
    const { previous, key } = (await ask('POST', `/keys/${old.data.hash}/rotate`, { grace_seconds: 600 })).body;
    const endsAtMs = Date.parse(previous.expires_at);
    expect(endsAtMs).toBeGreaterThanOrEqual(before + 600_000);
    expect(previous.disabled).toBe(false);
    expect([await infer(old.key), await infer(key)]).toEqual([200, 200]);
    await atTime(endsAtMs, async () => expect([await infer(old.key), await infer(key)]).toEqual([401, 200]));
  });

  it('does not extend the life of the old key', async () => {
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const old = await create({ expires_at });
    const { data, previous } = (await ask('POST', `/keys/${old.data.hash}/rotate`, { grace_seconds: 86_400 })).body;
    expect([previous.expires_at, data.expires_at]).toEqual([expires_at, expires_at]);
  });

  it.each([
    [{ grace_seconds: -1 }, { grace_seconds: 'an integer from 0 to 86400, got -1' }],
    [{ grace_seconds: 86_401 }, { grace_seconds: 'got 86401' }],
    [{ grace_seconds: 1.5 }, { grace_seconds: 'got 1.5' }],
    [{ grace: 5 }, { grace: 'is not known here' }],
  ])('rejects %j', async (body, issues) => {
    const { data, key } = await create();
    expectIssues(await ask('POST', `/keys/${data.hash}/rotate`, body), issues);
    expect(await infer(key)).toBe(200);
  });

  it('rejects an expired key, and an unknown one', async () => {
    const { data } = await create();
    await ask('PATCH', `/keys/${data.hash}`, { disabled: true });
    expectIssues(await ask('POST', `/keys/${data.hash}/rotate`), { '': 'The key is disabled' });
    const soon = await create({ expires_at: new Date(Date.now() + 600_000).toISOString() });
    await atTime(Date.now() + 600_000, async () => {
      expect(await infer(soon.key)).toBe(401);
      expectIssues(await ask('POST', `/keys/${soon.data.hash}/rotate`), { '': 'The key expired on' });
    });
    expect((await ask('POST', `/keys/${'0'.repeat(64)}/rotate`)).status).toBe(404);
  });
});

describe('GET /key', () => {
  it('describes an inference key', async () => {
    const { key, data } = await create({ limit: 2, creator_user_id: 'ada' });
    await book(gateway, { keyHash: data.hash, costNanoUsd: 500_000_000n, createdAtMs: Date.now() });
    const answer = await ask('GET', '/key', undefined, key);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      data: {
        label: data.label,
        limit: 2,
        limit_remaining: 1.5,
        limit_reset: null,
        include_byok_in_limit: false,
        usage: 0.5,
        usage_daily: 0.5,
        usage_weekly: 0.5,
        usage_monthly: 0.5,
        byok_usage: 0,
        byok_usage_daily: 0,
        byok_usage_weekly: 0,
        byok_usage_monthly: 0,
        is_free_tier: false,
        is_management_key: false,
        is_provisioning_key: false,
        creator_user_id: 'ada',
        organization_id: null,
        workspace_id: main,
        expires_at: null,
        requests_per_minute: null,
        tokens_per_minute: null,
        concurrent_requests: null,
        rate_limit: { requests: -1, interval: '1m', note: expect.any(String) },
        allowed_data_regions: ['global'],
        free_model_daily_requests: { used: 0, limit: -1, remaining: -1 },
      },
    });
  });

  it('describes a management key', async () => {
    expect((await ask('GET', '/key')).body.data).toMatchObject({
      is_management_key: true,
      is_provisioning_key: true,
      workspace_id: null,
      limit: null,
      usage: 0,
    });
  });

  it('needs a key', async () => {
    expect((await ask('GET', '/key', undefined, null)).status).toBe(401);
  });
});

describe('GET /audit', () => {
  it('returns the changes of a key with their authors, newest first, without the key', async () => {
    const { data, key } = await create({ limit: 5 });
    await ask('PATCH', `/keys/${data.hash}`, { limit: 6, disabled: true });
    await ask('PATCH', `/keys/${data.hash}`, { disabled: false });
    const rotated = (await ask('POST', `/keys/${data.hash}/rotate`)).body;
    await ask('DELETE', `/keys/${data.hash}`);

    const entries = await auditOf(ask, 6);
    expect(entries.map((entry) => [entry.action, entry.object_id])).toEqual([
      ['key.delete', data.hash],
      ['key.rotate', data.hash],
      ['key.create', rotated.data.hash],
      ['key.update', data.hash],
      ['key.update', data.hash],
      ['key.create', data.hash],
    ]);
    expect(entries[4]).toEqual({
      id: expect.stringMatching(/^audit_/),
      at: expect.stringMatching(/Z$/),
      actor_key_hash: hashKey(testKeys.managementKey),
      action: 'key.update',
      object_kind: 'key',
      object_id: data.hash,
      workspace_id: main,
      changes: { disabled: { before: false, after: true }, limit: { before: 5, after: 6 } },
    });
    expect(entries[1].changes).toEqual({
      disabled: { before: false, after: true },
      replaced_by: { before: null, after: rotated.data.hash },
    });
    expect(entries[5].changes).toMatchObject({ name: { before: null, after: 'a key' } });
    expect(entries[0].changes).toMatchObject({ limit: { before: 6, after: null } });
    for (const secret of [key, rotated.key]) expect(JSON.stringify(entries)).not.toContain(secret);
  });

  it('is read page by page', async () => {
    await create();
    const all = (await ask('GET', '/audit?limit=100')).body;
    const page = (await ask('GET', '/audit?offset=1&limit=2')).body;
    expect(page).toEqual({ data: all.data.slice(1, 3), total_count: all.total_count });
    expectIssues(await ask('GET', '/audit?limit=101&offset=x'), { offset: '"x"', limit: 'from 1 to 100' });
  });

  it('has no entries for rejected requests', async () => {
    const before = (await ask('GET', '/audit')).body.total_count;
    await ask('POST', '/keys', { name: 'k', creator_user_id: 'nobody' });
    await ask('DELETE', `/keys/${'0'.repeat(64)}`);
    await ask('POST', '/keys', { name: 'k' }, testKeys.key);
    expect((await ask('GET', '/audit')).body.total_count).toBe(before);
  });
});

it('a key of the configuration keeps its limits over a reload, and the file takes precedence', async () => {
  const path = `/keys/${hashKey(testKeys.organizationKey)}`;
  await ask('PATCH', path, { limit: 5, limit_reset: 'daily', name: 'renamed' });
  await gateway.reload({});
  expect((await ask('GET', path)).body.data).toMatchObject({ limit: 5, limit_reset: 'daily', name: 'org' });
});

it('returns 503 if the store does not respond, and changes nothing', async () => {
  const apart = await testGateway();
  const asking = manage(() => apart);
  await apart.gateway.storage.close();
  for (const [method, path, body] of [
    ['GET', '/keys', undefined],
    ['POST', '/keys', { name: 'k' }],
    ['GET', '/key', undefined],
    ['GET', '/workspaces', undefined],
    ['GET', '/credits', undefined],
    ['GET', '/activity', undefined],
    ['GET', '/audit', undefined],
  ] as const) {
    const answer = await asking(method, path, body);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
  }
  await apart.close();
});

it('a key that one gateway disables is rejected by another on the same store soon', async () => {
  const { data, key } = await create();
  // Like another process: directly in the store.
  await gateway.gateway.storage.management.change({ atMs: 1, actorKeyHash: 'x' }, async (transaction) => {
    await transaction.deleteKey(data.hash);
    await transaction.record({
      action: 'key.delete',
      objectKind: 'key',
      objectId: data.hash,
      workspaceId: main,
      changes: {},
    });
  });
  await expect.poll(() => infer(key)).toBe(401);
});
