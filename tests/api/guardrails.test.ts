import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { wholeBody } from './lab.ts';
import { auditOf, book, expectIssues, type Json, main, manage, other } from './manage.ts';

let gateway: TestGateway;
let upstream: ScriptedUpstream;
const ask = manage(() => gateway);

const usd = (perMillion: number) => ({ prompt: perMillion / 1e6, completion: perMillion / 1e6 });
const safe = { retains: false, trains: false };
beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(json(wholeBody('openai-chat')));
  const provider = (id: string, models: object[], more: object = {}) => ({
    id,
    wire: 'openai-chat',
    base_url: upstream.url,
    api_key: `key-of-${id}`,
    models,
    ...more,
  });
  gateway = await testGateway({
    catalog: { builtin: false },
    routers: { latest: [{ alias: '~acme/one-latest', pattern: 'acme/one*' }] },
    providers: [
      provider(
        'alpha',
        [
          { model: 'acme/one', pricing: usd(1) },
          { model: 'acme/one-mini', pricing: usd(0.1) },
        ],
        {
          data_policy: safe,
        },
      ),
      provider(
        'beta',
        [
          { model: 'acme/one', pricing: usd(2) },
          { model: 'openai/gpt', pricing: usd(5) },
        ],
        {
          name: 'Beta Cloud',
        },
      ),
      provider('gamma', [
        { model: 'other/free', pricing: usd(0) },
        { model: 'wild/*', pricing: usd(1) },
        { model: 'con*/any', upstream_model: 'any', pricing: usd(1) },
      ]),
      provider('delta', [{ model: 'google/*' }], { wire: 'gemini' }),
    ],
  });
});
afterAll(() => Promise.all([gateway?.close(), upstream.close()]));

/** The defaults of a new guardrail. */
const unset = {
  description: null,
  limit_usd: null,
  reset_interval: null,
  include_byok_in_budgets: false,
  allowed_models: null,
  ignored_models: null,
  allowed_providers: null,
  ignored_providers: null,
  allowed_data_regions: null,
  content_filters: null,
  content_filter_builtins: null,
  enforce_zdr: null,
  enforce_zdr_anthropic: null,
  enforce_zdr_openai: null,
  enforce_zdr_google: null,
  enforce_zdr_xai: null,
  enforce_zdr_other: null,
  enable_paid_model_training: null,
  enable_free_model_training: null,
  enable_free_model_publication: null,
  updated_at: null,
};
const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
const missing = '00000000-0000-4000-8000-00000000ffff';

/** Creates a guardrail in `main`. */
async function create(body: object = {}): Promise<Json> {
  const answer = await ask('POST', '/guardrails', { name: 'Interns', workspace_id: main, ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.data;
}

interface NewKey {
  key: string;
  hash: string;
}
async function createKey(body: object = {}): Promise<NewKey> {
  const answer = await ask('POST', '/keys', { name: 'k', workspace_id: main, ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return { key: answer.body.key, hash: answer.body.data.hash };
}
async function createWorkspace(): Promise<Json> {
  const slug = `w-${randomUUID().slice(0, 8)}`;
  return (await ask('POST', '/workspaces', { name: slug, slug })).body.data;
}
/** Creates a key with a new guardrail that has these rules. */
async function guard(rules: object): Promise<NewKey> {
  const [key, guardrail] = [await createKey(), await create(rules)];
  const { status } = await ask('POST', `/guardrails/${guardrail.id}/assignments/keys`, { key_hashes: [key.hash] });
  expect(status).toBe(200);
  return key;
}

async function respond({ key }: Pick<NewKey, 'key'>, body: object | string): Promise<{ status: number; body: Json }> {
  const request = { input: 'Hello', ...(typeof body === 'string' ? { model: body } : body) };
  const response = await gateway.post('/responses', request, { key, headers: { 'x-router-metadata': 'enabled' } });
  return { status: response.status, body: await response.json() };
}
const servedBy = ({ body }: { body: Json }): string | undefined =>
  body.router_metadata?.endpoints.available.find((one: Json) => one.selected)?.provider;

describe('POST /guardrails', () => {
  it('creates a guardrail without rules, by default in the default workspace', async () => {
    const answer = await ask('POST', '/guardrails', { name: 'Größe 📦' });
    expect(answer.status).toBe(201);
    const { data } = answer.body;
    expect(data).toEqual({ ...unset, id: uuid, name: 'Größe 📦', workspace_id: uuid, created_at: time });
    expect((await ask('GET', `/workspaces/${data.workspace_id}`)).body.data.slug).toBe('main');
    expect((await ask('GET', `/guardrails/${data.id}`)).body).toEqual({ data });
  });

  it('stores every rule', async () => {
    const rules = {
      description: 'two\nlines',
      limit_usd: 0.5,
      reset_interval: 'weekly',
      include_byok_in_budgets: true,
      allowed_models: ['acme/*', 'Openai/GPT'],
      ignored_models: ['*-mini', 'acme/one:free'],
      allowed_providers: ['alpha', 'Beta Cloud'],
      ignored_providers: ['gamma/flex'],
      enforce_zdr_anthropic: true,
      enforce_zdr_openai: false,
      enable_paid_model_training: false,
      enable_free_model_training: true,
      enable_free_model_publication: false,
    };
    const made = await create(rules);
    expect(made).toEqual({ ...unset, ...rules, id: uuid, name: 'Interns', workspace_id: main, created_at: time });
  });

  it('uses enforce_zdr for absent groups, and returns it if all agree', async () => {
    const groups = ['anthropic', 'openai', 'google', 'xai', 'other'].map((group) => `enforce_zdr_${group}`);
    expect(await create({ enforce_zdr: true })).toMatchObject({
      enforce_zdr: true,
      ...Object.fromEntries(groups.map((group) => [group, true])),
    });
    const mixed = await create({ enforce_zdr: true, enforce_zdr_openai: false, enforce_zdr_xai: null });
    expect(groups.map((group) => mixed[group])).toEqual([true, false, true, null, true]);
    expect(mixed.enforce_zdr).toBeNull();
  });

  it.each([
    [{}, { name: 'is missing' }],
    [{ name: '' }, { name: 'must not be empty' }],
    [{ name: 'x'.repeat(201) }, { name: 'has 201 characters; at most 200' }],
    [{ name: 'a\nb' }, { name: 'must not hold control characters' }],
    [{ name: 'n', description: 'x'.repeat(1001) }, { description: 'at most 1000' }],
    [{ name: 'n', workspace_id: missing }, { workspace_id: 'names no workspace' }],
    [{ name: 'n', workspace_id: 'main' }, { workspace_id: 'is a slug; send "' }],
    [{ name: 'n', allowed_models: [] }, { allowed_models: 'must not be empty' }],
    [{ name: 'n', ignored_providers: [] }, { ignored_providers: 'must not be empty' }],
    [{ name: 'n', allowed_models: 'acme/one' }, { allowed_models: 'got "acme/one"' }],
    [{ name: 'n', allowed_models: ['acme/one', ''] }, { 'allowed_models[1]': 'must not be empty' }],
    [{ name: 'n', allowed_models: ['router/auto'] }, { 'allowed_models[0]': 'got "router/auto", which chooses among' }],
    [{ name: 'n', ignored_models: ['~acme/one-latest'] }, { 'ignored_models[0]': 'must be a model or a pattern' }],
    [{ name: 'n', ignored_models: ['acme/one:nitro'] }, { 'ignored_models[0]': 'without :nitro, :floor and :exacto' }],
    [{ name: 'n', allowed_models: Array(1025).fill('a') }, { allowed_models: '1025' }],
    [{ name: 'n', enforce_zdr: 'yes' }, { enforce_zdr: 'got "yes"' }],
    [{ name: 'n', reset_interval: 'hourly' }, { reset_interval: 'got "hourly"' }],
    [{ name: 'n', limit_usd: 5 }, { reset_interval: 'is missing beside `limit_usd`' }],
    [{ name: 'n', reset_interval: 'daily' }, { limit_usd: 'is missing beside `reset_interval`' }],
    [{ name: 'n', limit_usd: 0, reset_interval: 'daily' }, { limit_usd: 'got 0' }],
    [{ name: 'n', allowed_data_regions: ['mars'] }, { 'allowed_data_regions[0]': 'got "mars"' }],
    [{ name: 'n', content_filters: [{ pattern: 'x' }] }, { 'content_filters[0].action': 'is missing' }],
    [{ name: 'n', allowed_model: ['a'] }, { allowed_model: 'is not known here; did you mean `allowed_models`' }],
  ])('rejects %j', async (body, issues) => {
    expectIssues(await ask('POST', '/guardrails', body), issues);
  });

  it('rejects rules that this build cannot enforce', async () => {
    const body = { allowed_data_regions: ['europe'] };
    for (const [method, path] of [
      ['POST', '/guardrails'],
      ['PATCH', `/guardrails/${(await create()).id}`],
    ] as const) {
      const answer = await ask(method, path, { name: 'n', ...body });
      expectIssues(answer, {
        allowed_data_regions: '`allowed_data_regions` with the value a list of 1 is not offered by this build.',
      });
    }
    const nothing = { allowed_data_regions: null, content_filters: [], content_filter_builtins: null };
    const kept = await create(nothing);
    expect(kept).toMatchObject({ allowed_data_regions: null, content_filters: null });
    const patch = (fields: object) => ask('PATCH', `/guardrails/${kept.id}`, fields);
    const none = await patch({ content_filters: [], content_filter_builtins: [] });
    expect(none).toMatchObject({
      status: 200,
      body: { data: { content_filters: null, content_filter_builtins: null } },
    });
    expectIssues(await patch({ allowed_data_regions: [] }), { allowed_data_regions: 'is not offered by this build' });
  });

  it('requires a management key', async () => {
    for (const [method, path] of [
      ['GET', '/guardrails'],
      ['POST', '/guardrails'],
      ['GET', '/guardrails/assignments/keys'],
      ['PATCH', `/guardrails/${missing}`],
    ] as const) {
      const answer = await ask(method, path, undefined, gateway.key);
      expect(answer.status).toBe(403);
      expect(answer.body.error.message).toBe('Only management keys can perform this operation.');
    }
  });
});

describe('GET /guardrails', () => {
  it('lists those of all workspaces or of one, oldest first, page by page', async () => {
    const { id } = await createWorkspace();
    const [first, second] = [await create({ workspace_id: id }), await create({ workspace_id: id })];
    expect((await ask('GET', `/guardrails?workspace_id=${id}`)).body).toEqual({
      data: [first, second],
      total_count: 2,
    });
    const page = (await ask('GET', `/guardrails?workspace_id=${id}&offset=1&limit=1`)).body;
    expect(page).toEqual({ data: [second], total_count: 2 });
    expect((await ask('GET', '/guardrails?limit=100')).body.data).toEqual(expect.arrayContaining([first, second]));
    expect((await ask('GET', `/guardrails?workspace_id=${missing}`)).body).toEqual({ data: [], total_count: 0 });
    expectIssues(await ask('GET', '/guardrails?limit=101'), { limit: 'from 1 to 100' });
  });

  it.each(['GET', 'PATCH', 'DELETE'])('%s of an unknown one is a 404', async (method) => {
    const answer = await ask(method, `/guardrails/${missing}`, method === 'PATCH' ? { name: 'n' } : undefined);
    expect(answer.status).toBe(404);
    expect(answer.body.error.message).toContain(missing);
  });
});

describe('PATCH and DELETE /guardrails/{id}', () => {
  it('changes the given fields, removes null ones, and keeps the rest', async () => {
    const made = await create({ allowed_models: ['acme/*'], ignored_providers: ['gamma'], enforce_zdr: true });
    const answer = await ask('PATCH', `/guardrails/${made.id}`, {
      name: 'Renamed',
      allowed_models: null,
      ignored_models: ['acme/two'],
      enforce_zdr_xai: null,
    });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({
      ...made,
      name: 'Renamed',
      allowed_models: null,
      ignored_models: ['acme/two'],
      updated_at: time,
      enforce_zdr: null,
      enforce_zdr_xai: null,
    });
    const [entry] = await auditOf(ask, 1);
    expect(entry).toMatchObject({ action: 'guardrail.update', object_kind: 'guardrail', object_id: made.id });
    expect(entry.changes).toEqual({
      name: { before: 'Interns', after: 'Renamed' },
      allowed_models: { before: ['acme/*'], after: null },
      ignored_models: { before: null, after: ['acme/two'] },
      enforce_zdr: { before: true, after: null },
      enforce_zdr_xai: { before: true, after: null },
    });
  });

  it('removes a limit completely', async () => {
    const { id } = await create({ limit_usd: 5, reset_interval: 'daily' });
    expect((await ask('PATCH', `/guardrails/${id}`, { limit_usd: 6 })).body.data).toMatchObject({ limit_usd: 6 });
    expectIssues(await ask('PATCH', `/guardrails/${id}`, { limit_usd: null }), { limit_usd: 'send both, or null' });
    const none = { limit_usd: null, reset_interval: null };
    expect((await ask('PATCH', `/guardrails/${id}`, none)).body.data).toMatchObject(none);
  });

  it('that change nothing add no audit entry', async () => {
    const made = await create({ allowed_models: ['acme/*'] });
    const answer = await ask('PATCH', `/guardrails/${made.id}`, { name: 'Interns', allowed_models: ['acme/*'] });
    expect(answer.body).toEqual({ data: made });
    expect((await auditOf(ask, 1))[0].action).toBe('guardrail.create');
    expectIssues(await ask('PATCH', `/guardrails/${made.id}`, { workspace_id: other }), { workspace_id: 'not known' });
  });

  it('a deleted one no longer applies', async () => {
    const { id } = await create({ allowed_models: ['nobody/*'] });
    const key = await createKey();
    await ask('POST', `/guardrails/${id}/assignments/keys`, { key_hashes: [key.hash] });
    expect((await respond(key, 'acme/one')).status).toBe(403);
    expect((await ask('DELETE', `/guardrails/${id}`)).body).toEqual({ deleted: true });
    expect((await respond(key, 'acme/one')).status).toBe(200);
    expect((await ask('GET', `/guardrails/${id}`)).status).toBe(404);
    expect((await auditOf(ask, 1))[0]).toMatchObject({ action: 'guardrail.delete', object_id: id });
  });

  it('a deleted workspace deletes its guardrails', async () => {
    const workspace = await createWorkspace();
    const { id } = await create({ workspace_id: workspace.id });
    expect((await ask('DELETE', `/workspaces/${workspace.id}`)).status).toBe(200);
    expect((await ask('GET', `/guardrails/${id}`)).status).toBe(404);
  });
});

describe('assignments to keys', () => {
  it('are counted, listed for a guardrail and for all, and recorded', async () => {
    const { id } = await create();
    const [one, two] = [await createKey({ name: 'one' }), await createKey({ name: 'two' })];
    const path = `/guardrails/${id}/assignments/keys`;
    const sent = { key_hashes: [one.hash, two.hash, one.hash] };
    expect((await ask('POST', path, sent)).body).toEqual({ assigned_count: 2 });
    expect((await ask('POST', path, sent)).body).toEqual({ assigned_count: 0 });
    const list = (await ask('GET', path)).body;
    expect(list.total_count).toBe(2);
    expect(list.data.map((row: Json) => row.key_name).toSorted()).toEqual(['one', 'two']);
    expect(list.data).toContainEqual({
      id: uuid,
      guardrail_id: id,
      key_hash: one.hash,
      key_name: 'one',
      key_label: expect.stringContaining('sk-rt-v1-'),
      assigned_by: null,
      created_at: time,
    });
    expect((await ask('GET', `${path}?offset=1&limit=1`)).body).toEqual({ data: [list.data[1]], total_count: 2 });
    expect((await ask('GET', '/guardrails/assignments/keys?limit=100')).body.data).toEqual(
      expect.arrayContaining(list.data),
    );
    const [entry] = await auditOf(ask, 1);
    expect(entry).toMatchObject({ action: 'guardrail.assign', object_kind: 'key', object_id: two.hash });
    expect(entry).toMatchObject({ workspace_id: main, changes: { guardrail_id: { before: null, after: id } } });

    const removed = await ask('POST', `${path}/remove`, { key_hashes: [one.hash, '0'.repeat(64)] });
    expect(removed.body).toEqual({ unassigned_count: 1 });
    expect((await ask('GET', path)).body.total_count).toBe(1);
    expect((await auditOf(ask, 1))[0]).toMatchObject({
      action: 'guardrail.unassign',
      changes: { guardrail_id: { before: id, after: null } },
    });
  });

  it('a key has one guardrail: a second replaces the first', async () => {
    const key = await guard({ allowed_models: ['acme/*'] });
    const second = await create({ allowed_models: ['openai/*'] });
    const path = `/guardrails/${second.id}/assignments/keys`;
    expect((await ask('POST', path, { key_hashes: [key.hash] })).body).toEqual({ assigned_count: 1 });
    expect((await respond(key, 'openai/gpt')).status).toBe(200);
    expect((await respond(key, 'acme/one')).status).toBe(403);
  });

  it('to anything but inference keys of the same workspace are rejected completely', async () => {
    const { id } = await create();
    const [own, foreign] = [await createKey(), await createKey({ workspace_id: other })];
    const answer = await ask('POST', `/guardrails/${id}/assignments/keys`, {
      key_hashes: [own.hash, foreign.hash, '0'.repeat(64)],
    });
    expectIssues(answer, {
      'key_hashes[1]': 'is a key of another workspace than the guardrail',
      'key_hashes[2]': 'is not the hash of an inference key',
    });
    expect((await ask('GET', `/guardrails/${id}/assignments/keys`)).body.total_count).toBe(0);
  });

  it.each([
    [{}, { key_hashes: 'is missing' }],
    [{ key_hashes: [] }, { key_hashes: 'must not be empty' }],
    [{ key_hashes: [''] }, { 'key_hashes[0]': 'must not be empty' }],
    [{ key_hashes: Array(101).fill('a') }, { key_hashes: '101' }],
    [{ key_hashes: ['a'], keys: 1 }, { keys: 'is not known here' }],
  ])('rejects %j', async (body, issues) => {
    const { id } = await create();
    expectIssues(await ask('POST', `/guardrails/${id}/assignments/keys`, body), issues);
    expectIssues(await ask('POST', `/guardrails/${id}/assignments/keys/remove`, body), issues);
  });

  it('of an unknown guardrail are a 404', async () => {
    const path = `/guardrails/${missing}/assignments`;
    for (const [method, rest, body] of [
      ['GET', '/keys'],
      ['GET', '/members'],
      ['POST', '/keys', { key_hashes: ['a'] }],
      ['POST', '/keys/remove', { key_hashes: ['a'] }],
      ['POST', '/members', { member_user_ids: ['a'] }],
      ['POST', '/members/remove', { member_user_ids: ['a'] }],
    ] as const) {
      expect((await ask(method, path + rest, body)).status).toBe(404);
    }
  });

  it('end with a deleted key, and move to the key that replaces one', async () => {
    const key = await guard({ allowed_models: ['openai/*'] });
    const rotated = await ask('POST', `/keys/${key.hash}/rotate`);
    expect(rotated.status).toBe(201);
    const next = { key: rotated.body.key, hash: rotated.body.data.hash };
    expect((await respond(next, 'acme/one')).status).toBe(403);
    const assigned = async () => (await ask('GET', '/guardrails/assignments/keys?limit=100')).body.data;
    expect((await assigned()).map((row: Json) => row.key_hash)).toContain(next.hash);
    await ask('DELETE', `/keys/${next.hash}`);
    expect((await assigned()).map((row: Json) => row.key_hash)).not.toContain(next.hash);
  });
});

describe('assignments to members', () => {
  it('apply to all keys of the member in all workspaces, and are counted, listed and recorded', async () => {
    const member = `mia-${randomUUID()}`;
    const home = await createWorkspace();
    for (const id of [main, home.id]) await ask('POST', `/workspaces/${id}/members/add`, { user_ids: [member] });
    const keys = [
      await createKey({ creator_user_id: member }),
      await createKey({ creator_user_id: member, workspace_id: home.id }),
    ];
    const { id } = await create({ allowed_models: ['openai/*'] });
    const path = `/guardrails/${id}/assignments/members`;
    expect((await ask('POST', path, { member_user_ids: [member] })).body).toEqual({ assigned_count: 1 });
    for (const key of keys) {
      expect((await respond(key, 'acme/one')).status).toBe(403);
      expect((await respond(key, 'openai/gpt')).status).toBe(200);
    }
    const list = (await ask('GET', path)).body;
    expect(list).toEqual({
      data: [
        {
          id: uuid,
          guardrail_id: id,
          user_id: member,
          organization_id: 'default',
          assigned_by: null,
          created_at: time,
        },
      ],
      total_count: 1,
    });
    expect((await ask('GET', '/guardrails/assignments/members?limit=100')).body.data).toContainEqual(list.data[0]);
    expect((await auditOf(ask, 1))[0]).toMatchObject({
      action: 'guardrail.assign',
      object_kind: 'member',
      object_id: member,
    });
    const removed = await ask('POST', `${path}/remove`, { member_user_ids: [member] });
    expect(removed.body).toEqual({ unassigned_count: 1 });
    expect((await respond(keys[0]!, 'acme/one')).status).toBe(200);
  });

  it('to unknown members, or to members outside the workspace, are rejected', async () => {
    const { id } = await createWorkspace();
    const guardrail = await create({ workspace_id: id });
    const answer = await ask('POST', `/guardrails/${guardrail.id}/assignments/members`, {
      member_user_ids: ['ada', 'nobody'],
    });
    expectIssues(answer, {
      'member_user_ids[0]': '"ada" is not a member of the workspace of the guardrail.',
      'member_user_ids[1]': '"nobody" is not a member.',
    });
    const old = await ask('POST', `/guardrails/${guardrail.id}/assignments/members`, { user_ids: ['ada'] });
    expectIssues(old, { member_user_ids: 'is missing', user_ids: 'is not known here' });
  });
});

describe('the default guardrail of a workspace', () => {
  it('has no rules until it is changed, then applies to all keys of the workspace and to no others', async () => {
    const workspace = await createWorkspace();
    const id = workspace.default_guardrail_id;
    const [inside, outside] = [await createKey({ workspace_id: workspace.id }), await createKey()];
    const empty = (await ask('GET', `/guardrails/${id}`)).body.data;
    expect(empty).toEqual({
      ...unset,
      id,
      name: `Workspace ${workspace.id} Default`,
      workspace_id: workspace.id,
      created_at: workspace.created_at,
    });
    expect((await ask('GET', `/guardrails?workspace_id=${workspace.id}`)).body.total_count).toBe(0);

    const patched = await ask('PATCH', `/guardrails/${id}`, { allowed_models: ['openai/*'] });
    expect(patched.status).toBe(200);
    expect((await ask('GET', `/guardrails?workspace_id=${workspace.id}`)).body.data).toEqual([patched.body.data]);
    const refused = await respond(inside, 'acme/one');
    expect(refused.status).toBe(403);
    const who = `the default guardrail of the workspace ${workspace.name}`;
    expect(refused.body.error.message).toContain(`that ${who} does not allow`);
    await ask('PATCH', `/guardrails/${id}`, { limit_usd: 1e-9, reset_interval: 'daily' });
    await book(gateway, { keyHash: inside.hash, memberId: null, createdAtMs: Date.now(), costNanoUsd: 5n });
    await ask('PATCH', `/workspaces/${workspace.id}`, { name: `${workspace.name} two` });
    const spent = await respond(inside, 'openai/gpt');
    expect(spent.status).toBe(403);
    expect(spent.body.error.message).toContain(`Under ${who} two, the key "k" may spend 0.000000001 USD per day`);
    await ask('PATCH', `/guardrails/${id}`, { limit_usd: null, reset_interval: null });
    expect((await respond(inside, 'openai/gpt')).status).toBe(200);
    expect((await respond(outside, 'acme/one')).status).toBe(200);
  });

  it('is reset when it is deleted, and cannot be assigned to a key', async () => {
    const workspace = await createWorkspace();
    const path = `/guardrails/${workspace.default_guardrail_id}`;
    const key = await createKey({ workspace_id: workspace.id });
    expect((await ask('DELETE', path)).body).toEqual({ deleted: true });
    await ask('PATCH', path, { name: 'All of us', ignored_models: ['acme/*'] });
    expectIssues(await ask('POST', `${path}/assignments/keys`, { key_hashes: [key.hash] }), { '': 'for all its keys' });
    expect((await respond(key, 'acme/one')).status).toBe(403);
    expect((await ask('DELETE', path)).body).toEqual({ deleted: true });
    expect((await respond(key, 'acme/one')).status).toBe(200);
    expect((await ask('GET', path)).body.data).toMatchObject({ name: `Workspace ${workspace.id} Default` });
  });
});

describe('GET /guardrails/{id}/budgets', () => {
  const limit = { limit_usd: 0.5, reset_interval: 'daily' };
  const midnight = expect.stringMatching(/^\d{4}-\d\d-\d\dT00:00:00\.000Z$/);

  it('returns the spending of each assigned key and member, keys first, page by page', async () => {
    const { id } = await create({ ...limit, include_byok_in_budgets: true });
    const [b, a] = [await createKey({ name: 'b' }), await createKey({ name: 'a' })];
    await ask('POST', `/guardrails/${id}/assignments/keys`, { key_hashes: [b.hash, a.hash] });
    await ask('POST', `/guardrails/${id}/assignments/members`, { member_user_ids: ['ada'] });
    const spend = (fields: object) => book(gateway, { createdAtMs: Date.now(), ...fields });
    await spend({ keyHash: a.hash, memberId: null, costNanoUsd: 100_000_000n });
    await spend({ keyHash: a.hash, memberId: null, costNanoUsd: 25_000_000n, isByok: true });
    await spend({ keyHash: b.hash, memberId: 'ada', costNanoUsd: 700_000_000n });
    const row = (fields: object) => ({
      key_hash: null,
      key_name: null,
      key_label: null,
      user_id: null,
      ...limit,
      resets_at: midnight,
      ...fields,
    });
    const label = expect.stringMatching(/^sk-rt-v1-/);
    const rows = [
      row({ key_hash: a.hash, key_name: 'a', key_label: label, usage_usd: 0.125, limit_remaining_usd: 0.375 }),
      row({ key_hash: b.hash, key_name: 'b', key_label: label, usage_usd: 0.7, limit_remaining_usd: 0 }),
      row({ user_id: 'ada', usage_usd: 0.7, limit_remaining_usd: 0 }),
    ];
    const { body } = await ask('GET', `/guardrails/${id}/budgets`);
    expect(body).toEqual({ data: rows, total_count: 3, include_byok_in_budgets: true });
    const page = await ask('GET', `/guardrails/${id}/budgets?offset=1&limit=1`);
    expect(page.body).toEqual({ data: [rows[1]], total_count: 3, include_byok_in_budgets: true });
    await ask('POST', `/guardrails/${id}/assignments/members/remove`, { member_user_ids: ['ada'] });
  });

  it('of a default guardrail returns all keys of its workspace', async () => {
    const workspace = await createWorkspace();
    const path = `/guardrails/${workspace.default_guardrail_id}`;
    const key = await createKey({ workspace_id: workspace.id });
    expect((await ask('GET', `${path}/budgets`)).body).toMatchObject({ data: [], total_count: 0 }); // no limit applies
    await ask('PATCH', path, limit);
    expect((await ask('GET', `${path}/budgets`)).body.data).toMatchObject([
      { key_hash: key.hash, usage_usd: 0, limit_remaining_usd: 0.5 },
    ]);
  });

  it('is a 404 without a guardrail, and requires a management key', async () => {
    expect((await ask('GET', `/guardrails/${missing}/budgets`)).status).toBe(404);
    expect((await ask('GET', `/guardrails/${missing}/budgets`, undefined, gateway.key)).status).toBe(403);
  });
});

describe('POST /responses', () => {
  let before = 0;
  beforeEach(() => {
    before = upstream.requests.length;
  });

  it('ignores an unassigned guardrail', async () => {
    await create({ allowed_models: ['nobody/*'] });
    expect((await respond(await createKey(), 'acme/one')).status).toBe(200);
  });

  it.each([
    ['acme/one', { allowed_models: ['openai/*'] }, 'does not allow'],
    ['ACME/One:nitro', { allowed_models: ['openai/*', 'acme/one-mini'] }, 'does not allow'],
    ['acme/one', { ignored_models: ['ACME/ONE'] }, 'forbids'],
    ['wild/thing', { ignored_models: ['*thing'] }, 'forbids'],
    ['~acme/one-latest', { ignored_models: ['acme/*'] }, 'forbids'],
  ])('for %s under %j is a 403, buffered or streamed, without a call to a provider', async (model, rules, says) => {
    const key = await guard(rules);
    for (const stream of [false, true]) {
      const { status, body } = await respond(key, { model, stream });
      expect(status).toBe(403);
      expect(body.error).toMatchObject({ code: 403, metadata: { error_type: 'permission_denied' } });
      expect(body.error.message).toContain(`that the guardrail Interns ${says}`);
      expect(body.error.message).toMatch(new RegExp(`^This key must not use ${model}`));
    }
    expect(upstream.requests.length).toBe(before);
  });

  it.each([
    ['acme/one', { allowed_models: ['Acme/One'] }],
    ['acme/one:floor', { allowed_models: ['acme/*'] }],
    ['openai/gpt', { ignored_models: ['acme/*'] }],
    ['wild/thing', { allowed_models: ['wild/*'] }],
  ])('for %s under %j succeeds', async (model, rules) => {
    expect((await respond(await guard(rules), model)).status).toBe(200);
  });

  it.each([
    [{ allowed_providers: ['alpha'] }, 'alpha', 'is not allowed by the guardrail Interns'],
    [{ allowed_providers: ['beta cloud'] }, 'Beta Cloud', 'is not allowed by the guardrail Interns'],
    [{ ignored_providers: ['ALPHA'] }, 'Beta Cloud', 'is forbidden by the guardrail Interns'],
    [{ enforce_zdr: true }, 'alpha', 'may retain its inputs, which the guardrail Interns forbids'],
    [{ enable_paid_model_training: false }, 'alpha', 'may train on its inputs, which the'],
  ])('under %j goes to %s, and the metadata has the reason for the other one', async (rules, provider, reason) => {
    const answer = await respond(await guard(rules), 'acme/one');
    expect(answer.status).toBe(200);
    expect(servedBy(answer)).toBe(provider);
    expect(answer.body.router_metadata.params.excluded).toEqual([
      { provider: expect.any(String), model: 'acme/one', reason: expect.stringContaining(reason) },
    ]);
  });

  it.each([
    ['acme/one', { allowed_providers: ['gamma'] }, 'constraint_filtered', ['allowed_providers']],
    ['openai/gpt', { ignored_providers: ['beta'] }, 'constraint_filtered', ['allowed_providers']],
    ['openai/gpt', { enforce_zdr_openai: true }, 'privacy_restricted', ['data_policy:zdr']],
    ['wild/x', { enforce_zdr_other: true }, 'privacy_restricted', ['data_policy:zdr']],
    ['constructor/any', { enforce_zdr_other: true }, 'privacy_restricted', ['data_policy:zdr']],
    ['other/free', { enable_free_model_training: false }, 'privacy_restricted', ['data_policy:training']],
    ['other/free', { enable_free_model_publication: false }, 'privacy_restricted', undefined],
  ])('for %s under %j is a 404 %s', async (model, rules, code, excludedBy) => {
    const { status, body } = await respond(await guard(rules), model);
    expect(status).toBe(404);
    expect(body.error.message).toContain('No allowed providers are available for the selected model.');
    expect(body.error.availability).toMatchObject({ code, retryable: false });
    expect(body.error.availability.excluded_by).toEqual(excludedBy);
    expect(upstream.requests.length).toBe(before);
  });

  it.each([
    ['openai/gpt', { enforce_zdr_anthropic: true, enforce_zdr_other: true }],
    ['openai/gpt', { enforce_zdr_openai: false, enable_free_model_training: false }],
    ['other/free', { enable_paid_model_training: false, enable_free_model_training: true }],
  ])('for %s under %j succeeds: these rules are for others', async (model, rules) => {
    expect((await respond(await guard(rules), model)).status).toBe(200);
  });

  it('cannot loosen the rules', async () => {
    const key = await guard({ allowed_providers: ['alpha'], enforce_zdr: true });
    const provider = { only: ['beta', 'alpha'], order: ['beta'], zdr: false, data_collection: 'allow' };
    expect(servedBy(await respond(key, { model: 'acme/one', provider }))).toBe('alpha');
    expect((await respond(key, { model: 'acme/one', provider: { only: ['beta'] } })).status).toBe(404);
  });

  it('uses the next allowed model; if none is allowed, it is a 403', async () => {
    const key = await guard({ allowed_models: ['openai/*'] });
    const answer = await respond(key, { models: ['acme/one', 'openai/gpt', 'wild/x'] });
    expect(answer.status).toBe(200);
    expect(answer.body.model).toBe('openai/gpt');
    expect((await respond(key, { models: ['acme/one', 'wild/x'] })).status).toBe(403);
  });

  it('lets routers and aliases choose among allowed models only', async () => {
    const key = await guard({ allowed_models: ['acme/one'], ignored_providers: ['beta'] });
    for (const model of ['router/auto', 'router/auto-beta', '~acme/one-latest']) {
      const answer = await respond(key, model);
      expect(answer.status, model).toBe(200);
      expect([model, answer.body.model, servedBy(answer)]).toEqual([model, 'acme/one', 'alpha']);
    }
    expect((await respond(key, 'router/free')).status).toBe(404);
    const bodies = await respond(key, 'router/bodybuilder');
    expect(bodies.body.model).toBe('acme/one');
    expect(upstream.requests.at(-1)!.text).toContain('Models:\\nacme/one');
    expect(upstream.requests.at(-1)!.text).not.toContain('openai/gpt');
  });

  it.each([
    'wild/secret ',
    'wild/ secret',
    'wild/sec\u200bret',
    'wild/secret\u0000',
    'wild/secret\ufeff',
    'google/models/secret',
  ])('cannot reach a forbidden model behind a wildcard by another spelling: %j', async (model) => {
    const key = await guard({ ignored_models: ['wild/secret', 'google/secret'] });
    expect((await respond(key, model)).status).toBe(400);
    expect(upstream.requests.length).toBe(before);
  });

  it('must pass the guardrails of its workspace, its member and its key', async () => {
    const member = `ben-${randomUUID()}`;
    const workspace = await createWorkspace();
    await ask('POST', `/workspaces/${workspace.id}/members/add`, { user_ids: [member] });
    const key = await createKey({ workspace_id: workspace.id, creator_user_id: member });
    const [ofMember, ofKey] = [
      await create({ name: 'M', workspace_id: workspace.id, allowed_models: ['acme/*', 'openai/*'] }),
      await create({ name: 'K', workspace_id: workspace.id, ignored_providers: ['beta'] }),
    ];
    await ask('PATCH', `/guardrails/${workspace.default_guardrail_id}`, { name: 'W', ignored_models: ['*-mini'] });
    await ask('POST', `/guardrails/${ofMember.id}/assignments/members`, { member_user_ids: [member] });
    await ask('POST', `/guardrails/${ofKey.id}/assignments/keys`, { key_hashes: [key.hash] });

    expect(servedBy(await respond(key, 'acme/one'))).toBe('alpha');
    for (const [model, status, guardrail] of [
      ['acme/one-mini', 403, 'W'],
      ['wild/x', 403, 'M'],
      ['openai/gpt', 404, 'K'],
    ] as const) {
      const answer = await respond(key, model);
      expect([model, answer.status]).toEqual([model, status]);
      expect(answer.body.error.message).toContain(`guardrail ${guardrail}`);
    }
  });

  it('of an unknown model stays a 400', async () => {
    expect((await respond(await guard({ allowed_models: ['openai/*'] }), 'nobody/none')).status).toBe(400);
  });
});

describe('unknown names', () => {
  it('are reported and stored, because a model or a provider may be added later', async () => {
    const lists = {
      allowed_models: ['acme/*', 'acme/won', 'wild/*', 'wild/x', 'wi*', 'opnai/*', 'other/free', 'acme/one-mini'],
      ignored_models: ['OpenAI/GPT', 'openai/gpt-7'],
      allowed_providers: ['alpha', 'beta cloud', 'alhpa'],
    };
    const made = await ask('POST', '/guardrails', { name: 'odd', workspace_id: main, ...lists });
    expect(made.status).toBe(201);
    expect(made.body.data).toMatchObject(lists);
    expect(made.body.warnings).toEqual([
      'allowed_models: no model of this gateway matches "acme/won" yet; the nearest name is acme/one.',
      'allowed_models: no model of this gateway matches "opnai/*" yet; the nearest name is openai/*.',
      'ignored_models: no model of this gateway matches "openai/gpt-7" yet; the nearest name is openai/gpt.',
      'allowed_providers: no provider of this gateway matches "alhpa" yet; the nearest name is alpha.',
    ]);
    const path = `/guardrails/${made.body.data.id}`;
    const changed = await ask('PATCH', path, { ignored_providers: ['nobody', 'gamma', 'nobody'] });
    expect(changed.body.warnings).toEqual(['ignored_providers: no provider of this gateway matches "nobody" yet.']);
    expect((await ask('PATCH', path, { description: 'fine' })).body).not.toHaveProperty('warnings');
  });
});

describe.each(['/models', '/models/user'])('GET %s', (path) => {
  const ids = async (path: string, key: string): Promise<string[]> => {
    const { data, total_count } = (await ask('GET', path, undefined, key)).body;
    expect(data).toHaveLength(total_count);
    return data.map((model: Json) => model.id).filter((id: string) => !id.startsWith('router/'));
  };

  it('omits what the guardrails forbid; GET /providers does not', async () => {
    const { key } = await guard({ allowed_models: ['acme/*', 'openai/*'], ignored_providers: ['beta'] });
    const allowed = ['acme/one', 'acme/one-mini', '~acme/one-latest'];
    expect((await ids(path, key)).toSorted()).toEqual(allowed);
    const providers = (await ask('GET', '/providers', undefined, key)).body.data;
    expect(providers.map((one: Json) => one.slug)).toEqual(['alpha', 'beta', 'gamma', 'delta']);
  });
});

it('another process on the same store follows a change', async () => {
  const key = await guard({ allowed_models: ['acme/*'] });
  const { storage } = gateway.gateway;
  const { rows } = await storage.management.listAssignments({ kind: 'key', offset: 0, limit: 1000 });
  const { guardrailId } = rows.find(({ holder }) => holder === key.hash)!;
  const change = { atMs: Date.now(), actorKeyHash: null };
  await storage.management.change(change, async (transaction) => {
    const guardrail = (await transaction.findGuardrail(guardrailId))!;
    await transaction.saveGuardrail({ ...guardrail, rules: { ...guardrail.rules, allowedModels: ['openai/*'] } });
    const told = { objectKind: 'guardrail', objectId: guardrailId, workspaceId: main, changes: {} };
    await transaction.record({ action: 'guardrail.update', ...told });
  });
  await expect.poll(async () => (await respond(key, 'acme/one')).status).toBe(403);
  expect((await respond(key, 'openai/gpt')).status).toBe(200);
});
