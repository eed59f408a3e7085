import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { auditOf, book, expectIssues, type Json, main, manage, other } from './manage.ts';

let gateway: TestGateway;
const ask = manage(() => gateway);
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

let count = 0;
const create = async (body: object = {}): Promise<Json> => {
  const number = ++count;
  const answer = await ask('POST', '/workspaces', { name: `Team ${number}`, slug: `team-${number}`, ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.data;
};
const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
const midnight = expect.stringMatching(/^\d{4}-\d\d-\d\dT00:00:00\.000Z$/);
const missing = '00000000-0000-4000-8000-00000000ffff';

describe('POST /workspaces', () => {
  it('creates a workspace', async () => {
    const answer = await ask('POST', '/workspaces', { name: 'Größe 📦', slug: 'groesse-1' });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      data: {
        id: uuid,
        slug: 'groesse-1',
        name: 'Größe 📦',
        description: null,
        default_guardrail_id: uuid,
        default_text_model: null,
        default_image_model: null,
        default_provider_sort: null,
        default_plugins: null,
        disabled_server_tools: null,
        is_observability_io_logging_enabled: false,
        is_observability_broadcast_enabled: false,
        is_data_discount_logging_enabled: false,
        io_logging_sampling_rate: 1,
        io_logging_api_key_ids: null,
        include_byok_in_budgets: false,
        ledger_retention_days: null,
        requests_per_minute: null,
        tokens_per_minute: null,
        concurrent_requests: null,
        created_at: time,
        created_by: null,
        updated_at: null,
      },
    });
  });

  it('stores every setting, and finds it by id and by slug', async () => {
    const settings = {
      description: 'two\nlines',
      ledger_retention_days: 0,
      default_text_model: 'acme/one',
      default_image_model: 'acme/painter',
      default_provider_sort: 'throughput',
      is_observability_io_logging_enabled: true,
      is_observability_broadcast_enabled: true,
      is_data_discount_logging_enabled: true,
      io_logging_sampling_rate: 0.0001,
      io_logging_api_key_ids: [],
    };
    const made = await create(settings);
    expect(made).toMatchObject(settings);
    for (const id of [made.id, made.slug]) {
      expect((await ask('GET', `/workspaces/${id}`)).body).toEqual({ data: made });
    }
  });

  it('stores contents of its own keys: others are an error, and nothing changes', async () => {
    const { id } = await create();
    const makeKey = async (workspace_id: string) => (await ask('POST', '/keys', { name: 'k', workspace_id })).body.data;
    const [own, gone, foreign] = [await makeKey(id), await makeKey(id), await makeKey(other)];
    const path = `/workspaces/${id}`;
    await ask('PATCH', `/keys/${own.hash}`, { disabled: true });
    const kept = await ask('PATCH', path, { io_logging_api_key_ids: [own.id, gone.id] });
    expect(kept.body.data.io_logging_api_key_ids).toEqual([own.id, gone.id]);

    const refused = await ask('PATCH', path, { description: 'x', io_logging_api_key_ids: [own.id, 12, foreign.id] });
    expectIssues(refused, {
      'io_logging_api_key_ids[1]': '12 is the `id` of no key of this workspace',
      'io_logging_api_key_ids[2]': `${foreign.id} is the \`id\` of no key of this workspace`,
    });
    expect((await ask('GET', path)).body).toEqual(kept.body);
    const born = await ask('POST', '/workspaces', { name: 'born', slug: 'born', io_logging_api_key_ids: [own.id] });
    expectIssues(born, { 'io_logging_api_key_ids[0]': 'of no key of this workspace' });

    await ask('DELETE', `/keys/${gone.hash}`); // earlier values may be sent again
    const again = await ask('PATCH', path, { description: 'x', io_logging_api_key_ids: [gone.id, own.id] });
    expect(again.body.data.io_logging_api_key_ids).toEqual([gone.id, own.id]);
  });

  it('can have keys at once', async () => {
    const { id } = await create();
    const { key, data } = (await ask('POST', '/keys', { name: 'k', workspace_id: id })).body;
    expect(data.workspace_id).toBe(id);
    expect((await gateway.post('/responses', { model: 'simulator/echo', input: 'x' }, { key })).status).toBe(200);
  });

  it.each([
    [{}, { name: 'is missing', slug: 'is missing' }],
    [
      { name: '', slug: '' },
      { name: 'must not be empty', slug: 'must be lower-case letters' },
    ],
    [{ name: 'x'.repeat(101), slug: 'a' }, { name: 'has 101 characters; at most 100' }],
    [{ name: 'n', slug: 'a'.repeat(51) }, { slug: 'has 51 characters; at most 50' }],
    [
      { name: 'n', slug: 'A b' },
      { slug: 'must be lower-case letters, digits and single hyphens between them, got "A b"' },
    ],
    [{ name: 'n', slug: 'a--b' }, { slug: 'got "a--b"' }],
    [{ name: 'n', slug: missing }, { slug: 'must not look like an id' }],
    [
      { name: 'main', slug: 'other' },
      { name: 'belongs to another workspace: "main"', slug: 'another workspace: "other"' },
    ],
    [{ name: 'n', slug: 's', description: 'x'.repeat(501) }, { description: 'has 501 characters; at most 500' }],
    [{ name: 'n', slug: 's', default_provider_sort: 'cheap' }, { default_provider_sort: 'got "cheap"' }],
    [{ name: 'n', slug: 's', io_logging_sampling_rate: 0 }, { io_logging_sampling_rate: 'from 0.0001 to 1, got 0' }],
    [{ name: 'n', slug: 's', io_logging_sampling_rate: 1.1 }, { io_logging_sampling_rate: 'got 1.1' }],
    [{ name: 'n', slug: 's', io_logging_api_key_ids: ['a'] }, { 'io_logging_api_key_ids[0]': 'an integer, got "a"' }],
    [{ name: 'n', slug: 's', id: 'x' }, { id: 'is not known here' }],
  ])('rejects %j', async (body, issues) => {
    expectIssues(await ask('POST', '/workspaces', body), issues);
  });
});

describe('GET /workspaces', () => {
  it('lists them, oldest first, page by page', async () => {
    const [first, second] = [await create(), await create()];
    const all = (await ask('GET', '/workspaces?limit=100')).body;
    expect(all.data.slice(0, 2).map((one: Json) => one.slug)).toEqual(['main', 'other']);
    expect(all.data.slice(-2)).toEqual([first, second]);
    expect(all.total_count).toBe(all.data.length);
    const offset = all.total_count - 2;
    expect((await ask('GET', `/workspaces?offset=${offset}&limit=1`)).body).toEqual({ ...all, data: [first] });
  });

  it('rejects a query that breaks a rule', async () => {
    expectIssues(await ask('GET', '/workspaces?offset=x&limit=0'), { offset: '"x"', limit: 'from 1 to 100' });
  });
});

describe('PATCH /workspaces/{id}', () => {
  it('changes the given fields only, by id or slug, and records it in the audit log', async () => {
    const made = await create({ description: 'old', default_text_model: 'acme/one' });
    const body = { name: `${made.name}!`, slug: `${made.slug}-x`, description: null, io_logging_sampling_rate: 0.5 };
    const changed = (await ask('PATCH', `/workspaces/${made.slug}`, body)).body.data;
    expect(changed).toEqual({ ...made, ...body, updated_at: time });
    expect((await ask('GET', `/workspaces/${made.slug}`)).status).toBe(404);
    expect((await ask('GET', `/workspaces/${made.id}`)).body.data).toEqual(changed);
    expect((await auditOf(ask, 1))[0]).toMatchObject({
      action: 'workspace.update',
      object_kind: 'workspace',
      object_id: made.id,
      workspace_id: made.id,
      changes: {
        name: { before: made.name, after: body.name },
        slug: { before: made.slug, after: body.slug },
        description: { before: 'old', after: null },
        io_logging_sampling_rate: { before: 1, after: 0.5 },
      },
    });
  });

  it('accepts its own name and slug, and adds no audit entry if nothing changes', async () => {
    const made = await create();
    const [last] = await auditOf(ask, 1);
    const answer = await ask('PATCH', `/workspaces/${made.id}`, { name: made.name, slug: made.slug });
    expect(answer.body.data).toEqual(made);
    expect(await auditOf(ask, 1)).toEqual([last]);
  });

  it.each([
    [{ name: 'main' }, { name: 'belongs to another workspace' }],
    [{ slug: 'main' }, { slug: 'belongs to another workspace' }],
    [{ slug: main }, { slug: 'must not look like an id' }],
    [{ name: null }, { name: 'must be a string, got null' }],
    [{ default_guardrail_id: missing }, { default_guardrail_id: 'is not known here' }],
  ])('rejects %j', async (body, issues) => {
    const made = await create();
    expectIssues(await ask('PATCH', `/workspaces/${made.id}`, body), issues);
    expect((await ask('GET', `/workspaces/${made.id}`)).body.data).toEqual(made);
  });
});

describe('DELETE /workspaces/{id}', () => {
  it('deletes one without keys, with everything that belongs to it', async () => {
    const { id, slug } = await create();
    await ask('PUT', `/workspaces/${id}/budgets/daily`, { limit_usd: 5 });
    await ask('POST', `/workspaces/${id}/members/add`, { user_ids: ['ada'] });
    const answer = await ask('DELETE', `/workspaces/${slug}`);
    expect([answer.status, answer.body]).toEqual([200, { deleted: true }]);
    expect((await ask('GET', `/workspaces/${id}`)).status).toBe(404);
    expect((await ask('GET', `/workspaces/${id}/budgets`)).status).toBe(404);
    expect((await auditOf(ask, 1))[0]).toMatchObject({ action: 'workspace.delete', object_id: id });
  });

  it('is rejected while there are keys, including disabled ones', async () => {
    const { id, slug } = await create();
    const { data } = (await ask('POST', '/keys', { name: 'k', workspace_id: id })).body;
    await ask('PATCH', `/keys/${data.hash}`, { disabled: true });
    expectIssues(await ask('DELETE', `/workspaces/${id}`), { '': `"${slug}" has 1 key, disabled ones included` });
    await ask('DELETE', `/keys/${data.hash}`);
    expect((await ask('DELETE', `/workspaces/${id}`)).status).toBe(200);
  });

  it('needs a confirmation for the default workspace, which is the oldest if none has that name', async () => {
    const flag = 'confirm_default_workspace_deletion';
    const apart = await testGateway();
    const asking = manage(() => apart);
    expectIssues(await asking('DELETE', `/workspaces/${main}`), {
      '': '"main" has 2 keys',
      [flag]: 'default workspace',
    });
    expectIssues(await asking('DELETE', `/workspaces/${main}?${flag}=true`), { '': '"main" has 2 keys' });
    for (const { hash } of (await asking('GET', '/keys')).body.data) await asking('DELETE', `/keys/${hash}`);
    expectIssues(await asking('DELETE', `/workspaces/${main}?${flag}=false`), { [flag]: 'send confirm_' });
    expectIssues(await asking('DELETE', `/workspaces/${main}?${flag}=yes`), { [flag]: 'one of true, false' });
    expect((await asking('DELETE', `/workspaces/${main}?${flag}=true`)).status).toBe(200);

    expectIssues(await asking('DELETE', `/workspaces/other`), { [flag]: 'other is the default workspace' });
    await asking('POST', '/workspaces', { name: 'default', slug: 'standard' });
    expectIssues(await asking('DELETE', `/workspaces/standard`), { [flag]: 'standard is the default workspace' });
    expect((await asking('DELETE', `/workspaces/other`)).status).toBe(200);
    expect((await asking('DELETE', `/workspaces/standard?${flag}=true`)).status).toBe(200);
    expectIssues(await asking('POST', '/keys', { name: 'k' }), { workspace_id: 'no workspace yet' });
    await apart.close();
  });
});

describe('an unknown workspace', () => {
  it.each([
    ['GET', ''],
    ['PATCH', '', {}],
    ['DELETE', ''],
    ['GET', '/budgets'],
    ['GET', '/budgets/daily'],
    ['PUT', '/budgets/daily', { limit_usd: 1 }],
    ['DELETE', '/budgets/daily'],
    ['GET', '/members'],
    ['POST', '/members/add', { user_ids: ['ada'] }],
    ['POST', '/members/remove', { user_ids: ['ada'] }],
  ])('is a 404: %s /workspaces/{id}%s', async (method, path, body?: object) => {
    for (const id of [missing, 'nothing', 'a%00b']) {
      const answer = await ask(method, `/workspaces/${id}${path}`, body);
      expect(answer.status).toBe(404);
      expect(answer.body.error.message).toContain('There is no workspace with the id or slug');
    }
  });
});

describe('budgets', () => {
  const intervals = ['lifetime', 'monthly', 'weekly', 'daily'];

  it('are set, read, changed and deleted, one for each interval, the broadest first', async () => {
    const { id, slug } = await create();
    const made: Json[] = [];
    for (const [index, interval] of intervals.toReversed().entries()) {
      const answer = await ask('PUT', `/workspaces/${id}/budgets/${interval}`, { limit_usd: 10 ** index / 1e9 });
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        data: {
          id: uuid,
          workspace_id: id,
          limit_usd: 10 ** index / 1e9,
          reset_interval: interval === 'lifetime' ? null : interval,
          usage_usd: 0,
          limit_remaining_usd: 10 ** index / 1e9,
          resets_at: interval === 'lifetime' ? null : midnight,
          created_at: time,
          updated_at: answer.body.data.created_at,
        },
        include_byok_in_budgets: false,
      });
      made.unshift(answer.body.data);
    }
    expect((await ask('GET', `/workspaces/${slug}/budgets`)).body).toEqual({
      data: made,
      include_byok_in_budgets: false,
    });

    const path = `/workspaces/${slug}/budgets/daily`;
    const changed = (await ask('PUT', path, { limit_usd: 5e-9 })).body.data;
    expect(changed).toEqual({ ...made[3], limit_usd: 5e-9, limit_remaining_usd: 5e-9, updated_at: time });
    expect((await ask('GET', path)).body.data).toEqual(changed);
    expect((await ask('DELETE', path)).body).toEqual({ deleted: true });
    expect((await ask('GET', path)).status).toBe(404);
    const again = await ask('DELETE', path);
    expect([again.status, again.body.error.message]).toEqual([404, `The workspace "${slug}" has no daily budget.`]);
    expect((await auditOf(ask, 2)).map(({ action, object_id, changes }) => [action, object_id, changes])).toEqual([
      [
        'budget.delete',
        changed.id,
        { interval: { before: 'daily', after: null }, limit_usd: { before: 5e-9, after: null } },
      ],
      ['budget.update', changed.id, { limit_usd: { before: 1e-9, after: 5e-9 } }],
    ]);
  });

  it('return the spending in the current window, the rest, and the time of the reset', async () => {
    const { id } = await create();
    const path = `/workspaces/${id}/budgets`;
    for (const [interval, limit_usd] of [
      ['daily', 1],
      ['monthly', 2.5],
      ['lifetime', 9],
    ] as const) {
      await ask('PUT', `${path}/${interval}`, { limit_usd });
    }
    const entry = (createdAtMs: number, costNanoUsd: bigint, isByok = false) => ({
      workspaceId: id,
      keyHash: 'k',
      createdAtMs,
      costNanoUsd,
      isByok,
    });
    const now = Date.now();
    await book(
      gateway,
      entry(now, 250_000_000n),
      entry(now, 500_000_000n, true),
      entry(now - 40 * 86_400_000, 3_000_000_000n),
    );
    const read = async () => {
      const { data } = (await ask('GET', path)).body;
      return data.map((one: Json) => [one.usage_usd, one.limit_remaining_usd, one.resets_at]);
    };
    const date = new Date(now);
    const nextMonth = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)).toISOString();
    const tomorrow = new Date((Math.floor(now / 86_400_000) + 1) * 86_400_000).toISOString();
    expect(await read()).toEqual([
      [3.25, 5.75, null],
      [0.25, 2.25, nextMonth],
      [0.25, 0.75, tomorrow],
    ]);
    const put = await ask('PUT', `${path}/daily`, { limit_usd: 0.5, include_byok_in_budgets: true });
    expect(put.body.data).toMatchObject({ usage_usd: 0.75, limit_remaining_usd: 0, resets_at: tomorrow }); // 0 at least
    expect((await ask('GET', `${path}/daily`)).body).toEqual(put.body);
    expect((await read()).map(([usage]: Json) => usage)).toEqual([3.75, 0.75, 0.75]);
  });

  it('must strictly decrease from lifetime to daily, whichever of them are set', async () => {
    const { id } = await create();
    const put = (interval: string, limit_usd: number) =>
      ask('PUT', `/workspaces/${id}/budgets/${interval}`, { limit_usd });
    expect((await put('monthly', 100)).status).toBe(200);
    expectIssues(await put('daily', 100), { limit_usd: 'must be less than the monthly budget of 100 USD, got 100.' });
    expectIssues(await put('lifetime', 100), {
      limit_usd: 'must be more than the monthly budget of 100 USD, got 100.',
    });
    expect((await put('daily', 99.999999999)).status).toBe(200);
    expect((await put('lifetime', 100.000000001)).status).toBe(200);
    const answer = await put('weekly', 100);
    expect(answer.status).toBe(400);
    expect((await put('monthly', 99.999999999)).status).toBe(400);
    expect((await put('monthly', 100.000000001)).status).toBe(400);
    expect((await put('monthly', 100)).status).toBe(200);
    expect((await put('daily', 200)).body.error.metadata.issues).toHaveLength(2);
    const limits = (await ask('GET', `/workspaces/${id}/budgets`)).body.data.map((one: Json) => one.limit_usd);
    expect(limits).toEqual([100.000000001, 100, 99.999999999]);
  });

  it('carry a flag that belongs to the workspace', async () => {
    const { id } = await create();
    const path = `/workspaces/${id}/budgets/weekly`;
    const first = await ask('PUT', path, { limit_usd: 5, include_byok_in_budgets: true });
    expect(first.body.include_byok_in_budgets).toBe(true);
    expect((await ask('GET', `/workspaces/${id}`)).body.data.include_byok_in_budgets).toBe(true);
    expect((await ask('PUT', path, { limit_usd: 6 })).body.include_byok_in_budgets).toBe(true);
    const third = await ask('PUT', path, { limit_usd: 6, include_byok_in_budgets: false });
    expect([third.body.data.limit_usd, third.body.include_byok_in_budgets]).toEqual([6, false]);
    expect((await auditOf(ask, 1))[0]).toMatchObject({ action: 'workspace.update', object_id: id });
    const [last] = await auditOf(ask, 1);
    expect((await ask('PUT', path, { limit_usd: 6 })).body).toEqual(third.body);
    expect(await auditOf(ask, 1)).toEqual([last]);
  });

  it.each([
    [{}, { limit_usd: 'is missing' }],
    [{ limit_usd: 0 }, { limit_usd: 'got 0' }],
    [{ limit_usd: -1 }, { limit_usd: 'got -1' }],
    [{ limit_usd: 9_000_001 }, { limit_usd: 'got 9000001' }],
    [{ limit_usd: null }, { limit_usd: 'got null' }],
    [{ limit_usd: 5, include_byok_in_budgets: 1 }, { include_byok_in_budgets: 'must be a boolean, got 1' }],
    [{ limit_usd: 5, limit: 5 }, { limit: 'is not known here; the fields are `limit_usd`' }],
  ])('reject %j', async (body, issues) => {
    expectIssues(await ask('PUT', `/workspaces/${other}/budgets/daily`, body), issues);
    expect((await ask('GET', `/workspaces/${other}/budgets`)).body.data).toEqual([]);
  });

  it.each(['GET', 'PUT', 'DELETE'])('%s rejects an invalid interval', async (method) => {
    const answer = await ask(method, `/workspaces/${main}/budgets/yearly`, method === 'PUT' ? {} : undefined);
    expectIssues(answer, { interval: '"yearly" is not one of daily, weekly, monthly, lifetime.' });
  });
});

describe('members', () => {
  it('are added once, made when they are new, listed and removed', async () => {
    const { id, slug } = await create();
    const name = `müller-${slug}`;
    const added = await ask('POST', `/workspaces/${slug}/members/add`, { user_ids: ['ada', name, 'ada'] });
    expect(added.status).toBe(200);
    expect(added.body.added_count).toBe(2);
    expect(added.body.data).toHaveLength(2);
    expect(added.body.data).toContainEqual({
      id: uuid,
      workspace_id: id,
      user_id: name,
      role: 'member',
      created_at: time,
    });
    expect((await auditOf(ask, 3)).map((entry) => [entry.action, entry.object_id, entry.workspace_id])).toEqual([
      ['member.add', name, id],
      ['member.create', name, null],
      ['member.add', 'ada', id],
    ]);
    const again = await ask('POST', `/workspaces/${id}/members/add`, { user_ids: ['ada'] });
    expect(again.body).toMatchObject({ added_count: 0, data: [{ user_id: 'ada' }] });
    const listed = (await ask('GET', `/workspaces/${id}/members`)).body;
    expect(listed).toEqual({ data: added.body.data, total_count: 2 });
    expect((await ask('GET', `/workspaces/${id}/members?offset=1`)).body.data).toEqual(added.body.data.slice(1));

    const removed = await ask('POST', `/workspaces/${id}/members/remove`, { user_ids: [name, 'nobody'] });
    expect([removed.status, removed.body]).toEqual([200, { removed_count: 1 }]);
    expect((await ask('GET', `/workspaces/${id}/members`)).body).toMatchObject({
      data: [{ user_id: 'ada' }],
      total_count: 1,
    });
    expect((await ask('POST', `/workspaces/${id}/members/remove`, { user_ids: [name] })).body).toEqual({
      removed_count: 0,
    });
  });

  it('may own keys of the workspace they are in, and stay as long as they do', async () => {
    const { id } = await create();
    const body = { name: 'k', workspace_id: id, creator_user_id: 'ada' };
    expectIssues(await ask('POST', '/keys', body), { creator_user_id: 'that is not in the workspace' });
    await ask('POST', `/workspaces/${id}/members/add`, { user_ids: ['ada', 'ben'] });
    const { data } = (await ask('POST', '/keys', body)).body;
    expectIssues(await ask('POST', `/workspaces/${id}/members/remove`, { user_ids: ['ben', 'ada'] }), {
      'user_ids[1]': '"ada" has a key in this workspace',
    });
    expect((await ask('GET', `/workspaces/${id}/members`)).body.total_count).toBe(2);
    await ask('PATCH', `/keys/${data.hash}`, { disabled: true });
    const answer = await ask('POST', `/workspaces/${id}/members/remove`, { user_ids: ['ben', 'ada'] });
    expect(answer.body).toEqual({ removed_count: 2 });
  });

  it('may be a hundred at once', async () => {
    const { id } = await create();
    const user_ids = Array.from({ length: 100 }, (_, index) => `user-${id}-${index}`);
    expect((await ask('POST', `/workspaces/${id}/members/add`, { user_ids })).body.added_count).toBe(100);
    expect((await ask('GET', `/workspaces/${id}/members`)).body).toMatchObject({ total_count: 100 });
    expect((await ask('GET', `/workspaces/${id}/members`)).body.data).toHaveLength(50);
  });

  it.each([
    [{}, { user_ids: 'is missing' }],
    [{ user_ids: [] }, { user_ids: 'must not be empty' }],
    [{ user_ids: Array.from({ length: 101 }, () => 'a') }, { user_ids: 'has 101 entries; at most 100' }],
    [{ user_ids: ['a', 5] }, { 'user_ids[1]': 'must be a string, got 5' }],
    [{ user_ids: ['', 'a\u0000b'] }, { 'user_ids[0]': 'must not be empty', 'user_ids[1]': 'control characters' }],
    [{ user_ids: 'ada' }, { user_ids: 'must be a list' }],
    [{ user_ids: ['a'], role: 'admin' }, { role: 'is not known here' }],
  ])('are not added or removed by %j', async (body, issues) => {
    expectIssues(await ask('POST', `/workspaces/${main}/members/add`, body), issues);
    expectIssues(await ask('POST', `/workspaces/${main}/members/remove`, body), issues);
  });
});

describe('changes at the same moment', () => {
  const statuses = (answers: { status: number }[]) => answers.map(({ status }) => status).sort();

  it('leave one workspace with a name or slug', async () => {
    const bodies = [1, 2, 3, 4, 5, 6].map((number) => ({
      name: number % 2 ? 'the same' : `own ${number}`,
      slug: number % 2 ? `own-${number}` : 'the-same',
    }));
    const answers = await Promise.all(bodies.map((body) => ask('POST', '/workspaces', body)));
    expect(statuses(answers)).toEqual([201, 201, 400, 400, 400, 400]);
  });

  it('leave budgets in order', async () => {
    const { id } = await create();
    const answers = await Promise.all(
      ['daily', 'weekly', 'monthly', 'lifetime'].map((interval) =>
        ask('PUT', `/workspaces/${id}/budgets/${interval}`, { limit_usd: 7 }),
      ),
    );
    expect(statuses(answers)).toEqual([200, 400, 400, 400]);
  });

  it('rotate a key once', async () => {
    const { data } = (await ask('POST', '/keys', { name: 'k' })).body;
    const answers = await Promise.all([1, 2, 3].map(() => ask('POST', `/keys/${data.hash}/rotate`)));
    expect(statuses(answers)).toEqual([201, 400, 400]);
  });

  it('delete a workspace or give it a key, and not both', async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = await create();
      const [made, deleted] = await Promise.all([
        ask('POST', '/keys', { name: 'k', workspace_id: id }),
        ask('DELETE', `/workspaces/${id}`),
      ]);
      expect([
        [201, 400],
        [400, 200],
      ]).toContainEqual([made.status, deleted.status]);
    }
  });
});
