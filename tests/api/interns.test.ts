import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { InternTeardownError } from '../../src/interns/ports.ts';
import { ScriptedHost } from '../../src/testing/scripted-runtime.ts';
import { type RequestOptions, type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { patient } from '../../src/testing/patience.ts';

const workspace = '00000000-0000-4000-8000-0000000000a1';
const keys = { bob: 'test-inference-key-bob', elsewhere: 'test-inference-key-else', eve: 'test-inference-key-eve' };
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

interface Shape {
  id: string;
  name: string;
  status: string;
  hostname: string | null;
  vault_id: string | null;
  progress: object | null;
  lastFailureMessage: string | null;
  updatedAt: string;
  [field: string]: unknown;
}
interface Result {
  status: number;
  body: Shape & { error: { code: unknown; message: string; metadata?: object }; data: Shape[]; next_cursor?: string };
}

let host: ScriptedHost;
let gateway: TestGateway;
let names = 0;
const createName = (): string => `intern-${(++names).toString(36)}`;

const configure = (interns: object) => ({
  interns: { provision_ms: patient(20_000), health_ms: 60_000, domain: 'agents.test', ...interns },
  bootstrap: {
    members: [
      { id: 'bob', workspaces: ['main'] },
      { id: 'eve', workspaces: ['main'] },
      { id: 'carl', workspaces: ['other'] },
    ],
    keys: [
      { key: keys.bob, name: 'bob', workspace: 'main', member: 'bob' },
      { key: keys.eve, name: 'eve', workspace: 'main', member: 'eve' },
      { key: keys.elsewhere, name: 'carl', workspace: 'other', member: 'carl' },
    ],
  },
});

beforeAll(async () => {
  host = new ScriptedHost();
  gateway = await testGateway(configure({}), undefined, {
    internRuntime: host.createRuntime(),
    internVaults: host.internVaults,
  });
});
afterAll(() => gateway.close());
beforeEach(() => {
  host.before = () => {};
  host.problem = () => undefined;
});

async function send(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<Result> {
  const response = await gateway.send(method, `/interns${path}`, body, options);
  return { status: response.status, body: (await response.json()) as Result['body'] };
}
const create = (fields: object = {}, options?: RequestOptions) =>
  send('POST', '', { name: createName(), workspace_id: workspace, ...fields }, options);
const find = async (id: string): Promise<Shape> => (await send('GET', `/${id}`)).body;
const settle = (id: string, status: string) =>
  vi.waitFor(async () => expect(await find(id)).toMatchObject({ status, progress: null }));
async function createRunning(fields: object = {}): Promise<Shape> {
  const { body } = await create({ provision: true, ...fields });
  await settle(body.id, 'running');
  return body;
}
/** Makes a call of the runtime wait. */
function hold(held: string) {
  const [entered, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  host.before = (call) => {
    if (call !== held) return;
    entered.resolve();
    return released.promise;
  };
  return { entered: entered.promise, release: () => released.resolve() };
}
const failure = (status: number, code: unknown) => {
  const metadata = typeof code === 'string' ? { reason: code, retryable: status >= 500 } : undefined;
  const fields = { message: expect.any(String), type: expect.any(String), param: null };
  return { status, body: { error: { code, ...fields, ...(metadata && { metadata }) } } };
};

describe('a created intern', () => {
  it('has all 14 fields, and an own vault', async () => {
    const { status, body } = await create({ description: 'Reads.', vault_id: undefined });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(uuid),
      name: body.name,
      description: 'Reads.',
      instructions: null,
      model: null,
      status: 'awaiting_chat_install',
      hostname: null,
      workspaceId: workspace,
      attached_vault_id: null,
      vault_id: expect.stringMatching(uuid),
      progress: null,
      lastFailureMessage: null,
      createdAt: expect.stringMatching(time),
      updatedAt: expect.stringMatching(time),
    });
    expect(host.vaults.get(body.vault_id!)).toBe(body.id);
    expect(await find(body.id)).toEqual(body);
  });

  it.each([
    ['no body', undefined],
    ['a list', []],
    ['an unknown field', { name: 'scout', workspace_id: workspace, model: 'a/b' }],
    ['no name', { workspace_id: workspace }],
    ['no workspace', { name: 'scout' }],
    ['a workspace that is no UUID', { name: 'scout', workspace_id: 'main' }],
    ['a short name', { name: 's', workspace_id: workspace }],
    ['a long name', { name: 'a23456789012345678', workspace_id: workspace }],
    ['a name with a capital', { name: 'Scout', workspace_id: workspace }],
    ['a name with two hyphens', { name: 'sc--out', workspace_id: workspace }],
    ['a name that ends with a hyphen', { name: 'scout-', workspace_id: workspace }],
    ['a long description', { name: 'scout', workspace_id: workspace, description: 'x'.repeat(2001) }],
    ['long instructions', { name: 'scout', workspace_id: workspace, instructions: 'x'.repeat(100_001) }],
    ['provision as text', { name: 'scout', workspace_id: workspace, provision: 'yes' }],
    ['a vault that is no UUID', { name: 'scout', workspace_id: workspace, vault_id: 'v' }],
  ])('is refused with %s', async (_, body) => {
    expect(await send('POST', '', body)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_body', metadata: { reason: 'invalid_body', retryable: false } } },
    });
  });

  it('is refused over 1,048,576 bytes, and with another content type', async () => {
    const body = JSON.stringify({ name: 'scout', workspace_id: workspace, description: 'x'.repeat(1_048_576) });
    expect(await send('POST', '', body)).toEqual(failure(413, 'payload_too_large'));
    const headers = { 'content-type': 'text/plain' };
    expect(await send('POST', '', '{}', { headers })).toEqual(failure(415, 'invalid_body'));
  });

  it('needs an inference key of a member in the workspace', async () => {
    const body = { name: createName(), workspace_id: workspace };
    expect(await send('POST', '', body, { key: null })).toEqual(failure(401, 401));
    expect(await send('POST', '', body, { key: gateway.managementKey })).toEqual(failure(401, 401));
    expect(await send('POST', '', body, { key: keys.elsewhere })).toEqual(failure(404, 'not_found'));
    expect(await send('POST', '', body, { key: gateway.organizationKey })).toEqual(failure(403, 'no_acting_user'));
  });

  it('borrows only the vault of an intern in its workspace', async () => {
    const { body: lender } = await create();
    expect((await create({ vault_id: lender.vault_id })).body.attached_vault_id).toBe(lender.vault_id);
    expect(await create({ vault_id: randomUUID() })).toEqual(failure(404, 'not_found'));
  });

  it('borrows no vault of another member, whose interns it does not see', async () => {
    const { body: lender } = await create();
    const borrow = (vault_id: string, key: string) => create({ vault_id }, { key });
    const unknown = await borrow(randomUUID(), keys.bob);
    expect(unknown).toEqual(failure(404, 'not_found'));
    expect(await borrow(lender.vault_id!, keys.bob)).toEqual(unknown);
    expect(await borrow(lender.vault_id!, gateway.key)).toMatchObject({ status: 201 });
  });

  it('has a name that its creator uses once in the workspace', async () => {
    const { body } = await create();
    expect(await create({ name: body.name, description: 'other' })).toEqual(failure(409, 'name_taken'));
    expect((await create({ name: body.name }, { key: keys.bob })).status).toBe(201);
  });
});

describe('a retry', () => {
  it('without a key is the same request if the body is the same', async () => {
    const name = createName();
    const first = await create({ name });
    expect(await create({ name, description: null, provision: false })).toEqual({ status: 200, body: first.body });
  });

  it('with a key continues the same creation, and is refused with another body', async () => {
    const options = { headers: { 'idempotency-key': randomUUID() } };
    const name = createName();
    const first = await create({ name }, options);
    await send('PATCH', `/${first.body.id}`, { description: 'now' });
    const again = await create({ name }, options);
    expect(again).toMatchObject({ status: 200, body: { id: first.body.id, description: 'now' } });
    expect(await create({ name, description: 'x' }, options)).toEqual(failure(409, 'idempotency_key_reused'));
    expect((await create({ name }, { ...options, key: keys.bob })).body.id).not.toBe(first.body.id);
  });

  it.each(['', 'x'.repeat(256)])('needs a key of 1 to 255 characters', async (key) => {
    expect(await create({}, { headers: { 'idempotency-key': key } })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_body' } },
    });
    expect((await create({}, { headers: { 'idempotency-key': randomUUID().repeat(7).slice(0, 255) } })).status).toBe(
      201,
    );
  });

  it('continues after a failure of the vault', async () => {
    const body = { name: createName(), provision: true };
    host.before = (call) => {
      if (call === 'createVault') throw new Error('down');
    };
    expect(await create(body)).toEqual(failure(502, 'upstream_unavailable'));
    const { body: page } = await send('GET', '?limit=1');
    expect(page.data[0]).toMatchObject({ name: body.name, status: 'awaiting_chat_install', vault_id: null });
    host.before = () => {};
    const retried = await create(body);
    expect(retried).toMatchObject({ status: 201, body: { id: page.data[0]!.id, vault_id: expect.any(String) } });
    await settle(retried.body.id, 'running');
    expect((await create(body)).status).toBe(200);
    await send('DELETE', `/${retried.body.id}`);
    await vi.waitFor(async () => expect((await send('GET', `/${retried.body.id}`)).status).toBe(404));
    expect((await create(body)).status).toBe(201);
  });
});

describe('provisioning', () => {
  it('goes through four steps, and keeps the host name', async () => {
    const seen: object[] = [];
    let id = '';
    host.before = async (call) => {
      if (['prepareHome', 'start', 'checkHealth'].includes(call) && id) seen.push((await find(id)).progress!);
    };
    id = (await create()).body.id;
    expect(await send('POST', `/${id}/provision`)).toMatchObject({ status: 202, body: { provisioning: true } });
    await settle(id, 'running');
    expect(seen).toEqual([
      { stepLabel: 'Prepare workspace disk', stepNumber: 2, totalSteps: 4 },
      { stepLabel: 'Start runtime', stepNumber: 3, totalSteps: 4 },
      { stepLabel: 'Health check', stepNumber: 4, totalSteps: 4 },
    ]);
    const running = await find(id);
    expect(running.hostname).toBe(`${running.name}-${id.slice(0, 8)}.agents.test`);
    expect(await send('POST', `/${id}/provision`, {})).toEqual(failure(409, 'intern_busy'));

    expect(await send('POST', `/${id}/suspend`, {})).toEqual({ status: 200, body: { suspended: true } });
    expect(await find(id)).toMatchObject({ status: 'stopped', hostname: running.hostname });
    expect(host.agents.has(id)).toBe(false);
    expect(host.homes.has(id)).toBe(true);
    expect((await send('POST', `/${id}/suspend`)).status).toBe(200);
    await send('PATCH', `/${id}`, { name: createName() });
    await send('POST', `/${id}/provision`);
    await settle(id, 'running');
    expect((await find(id)).hostname).toBe(running.hostname);
  });

  it('that fails says why, and can be tried again', async () => {
    host.before = (call) => {
      if (call === 'start') throw new Error('The image is missing.');
    };
    const { body } = await create({ provision: true });
    await settle(body.id, 'failed');
    expect(await find(body.id)).toMatchObject({ lastFailureMessage: 'The image is missing.', hostname: null });
    expect(await send('POST', `/${body.id}/suspend`)).toEqual(failure(409, 'intern_busy'));
    host.before = () => {};
    await send('POST', `/${body.id}/provision`);
    await settle(body.id, 'running');
    expect(await find(body.id)).toMatchObject({ lastFailureMessage: null });
  });

  it('is cancelled by a delete', async () => {
    const { entered, release } = hold('start');
    const { body } = await create({ provision: true });
    await entered;
    expect(await send('POST', `/${body.id}/provision`)).toEqual(failure(409, 'intern_busy'));
    expect(await send('POST', `/${body.id}/suspend`)).toEqual(failure(409, 'intern_busy'));
    expect(await send('DELETE', `/${body.id}`)).toEqual({ status: 202, body: { deleting: true } });
    await vi.waitFor(async () => expect((await send('GET', `/${body.id}`)).status).toBe(404));
    release();
    expect([...host.vaults.values()]).not.toContain(body.id);
  });

  it.each(['provision', 'suspend'])('and %s take no body', async (operation) => {
    const { id } = (await create()).body;
    const path = `/${id}/${operation}`;
    expect((await send('POST', path, { force: true })).body.error.code).toBe('invalid_body');
    expect((await send('POST', path, [])).body.error.code).toBe('invalid_body');
    const headers = { 'content-type': 'text/plain' };
    expect((await send('POST', path, '{}', { headers })).body.error.code).toBe('invalid_body');
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await send('POST', path, '', { headers: form })).status).toBe(operation === 'provision' ? 202 : 409);
  });
});

describe('the key of an intern', () => {
  it('calls models, sees its intern only, and ends with the runtime', async () => {
    const { id } = await createRunning();
    const { apiKey: key } = host.credentials.get(id)!;
    const response = await gateway.post('/responses', { model: 'simulator/echo', input: 'Hello' }, { key });
    expect(response.status).toBe(200);
    expect((await send('GET', `/${id}`, undefined, { key })).status).toBe(200);
    const { body: other } = await create();
    for (const [method, path] of [
      ['GET', ''],
      ['POST', ''],
      ['GET', `/${other.id}`],
    ] as const) {
      const body = method === 'POST' && path === '' ? { name: createName(), workspace_id: workspace } : undefined;
      expect(await send(method, path, body, { key }), `${method} ${path}`).toEqual(failure(404, 'not_found'));
    }
    for (const [method, path] of [
      ['DELETE', `/${id}`],
      ['POST', `/${id}/suspend`],
      ['PATCH', `/${other.id}`],
    ] as const) {
      expect((await send(method, path, undefined, { key })).body.error, `${method} ${path}`).toMatchObject({
        code: 403,
      });
    }
    const message = { stream: true, messages: [{ role: 'user', content: 'a' }] };
    for (const [method, path, body] of [
      ['POST', 'chat/completions', message],
      ['POST', 'invoke', { input: 'a' }],
      ['GET', 'daemon', undefined],
      ['GET', 'logs', undefined],
    ] as const) {
      expect((await send(method, `/${id}/${path}`, body, { key })).status, path).toBe(403);
    }
    await send('POST', `/${id}/suspend`);
    expect((await send('GET', `/${id}`, undefined, { key })).status).toBe(401);
  });
});

describe('interns', () => {
  it('are seen by their creator and by the organization', async () => {
    const { id } = (await create()).body;
    for (const [key, status] of [
      [keys.bob, 404],
      [keys.elsewhere, 404],
      [gateway.organizationKey, 200],
    ] as const) {
      expect((await send('GET', `/${id}`, undefined, { key })).status).toBe(status);
      expect((await send('PATCH', `/${id}`, { description: 'd' }, { key })).status).toBe(status);
    }
    expect(await send('GET', '/none')).toEqual(failure(404, 'not_found'));
    const { data } = (await send('GET', '?limit=500', undefined, { key: gateway.organizationKey })).body;
    expect(data.map((each) => each.id)).toContain(id);
    expect((await send('GET', '', undefined, { key: keys.elsewhere })).body).toEqual({ data: [], has_more: false });
  });

  it('are listed in pages, the newest first, by status', async () => {
    const ids: string[] = [];
    for (let left = 3; left > 0; left--) ids.unshift((await create({}, { key: keys.eve })).body.id);
    const list = (query: string) => send('GET', query, undefined, { key: keys.eve });
    const first = (await list('?limit=2')).body;
    expect(first).toMatchObject({ has_more: true, data: [{ id: ids[0] }, { id: ids[1] }] });
    const second = (await list(`?limit=2&starting_after=${first.next_cursor}`)).body;
    expect(second).toEqual({ data: [expect.objectContaining({ id: ids[2] })], has_more: false });
    expect((await list(`?status=running,running,failed&workspace_id=${workspace}`)).body.data).toEqual([]);
    expect((await list('?status=awaiting_chat_install,failed')).body.data).toHaveLength(3);
    expect((await list(`?workspace_id=${randomUUID()}`)).status).toBe(404);
    for (const query of ['?limit=0', '?limit=501', '?status=none', '?starting_after=x', '?workspace_id=x']) {
      expect((await list(query)).body.error.code, query).toBe('invalid_body');
    }
  });

  it('are changed field by field, and keep their workspace and vault', async () => {
    const { id, name } = (await create({ description: 'd', instructions: 'i' })).body;
    const changed = await send('PATCH', `/${id}`, { model: 'openai/gpt-5-mini:nitro', description: null });
    expect(changed).toMatchObject({
      status: 200,
      body: { name, description: null, instructions: 'i', model: 'openai/gpt-5-mini:nitro' },
    });
    expect((await send('PATCH', `/${id}`, {})).body).toEqual(changed.body);
    const longest = `a/${'x'.repeat(198)}`;
    expect((await send('PATCH', `/${id}`, { model: longest })).body.model).toBe(longest);
    expect((await send('PATCH', `/${id}`, { model: null })).body.model).toBeNull();
    for (const body of [
      { name: null },
      { model: 'slug' },
      { model: `a/${'x'.repeat(199)}` },
      { vault_id: randomUUID() },
      { workspace_id: workspace },
      { status: 'running' },
      undefined,
    ]) {
      expect((await send('PATCH', `/${id}`, body)).body.error.code).toBe('invalid_body');
    }
    const { name: taken } = (await create()).body;
    expect(await send('PATCH', `/${id}`, { name: taken })).toEqual(failure(409, 'name_taken'));
  });

  it('are limited for each member', async () => {
    const key = keys.elsewhere;
    const workspace_id = '00000000-0000-4000-8000-0000000000a2';
    await gateway.reload(configure({ max_per_member: 1 }));
    expect((await create({ workspace_id }, { key })).status).toBe(201);
    expect(await create({ workspace_id }, { key })).toEqual(failure(409, 'intern_limit_reached'));
    await gateway.reload(configure({ enabled: false }));
    expect(await send('GET', '')).toEqual(failure(404, 'not_found'));
    await gateway.reload(configure({}));
  });

  it('whose runtime is being started again are listed as provisioning, not as running', async () => {
    const { id } = await createRunning();
    const ids = async (status: string) => {
      const { body } = await send('GET', `?status=${status}`);
      return (body as unknown as { data: { id: string; status: string }[] }).data.map(
        (each) => `${each.id} ${each.status}`,
      );
    };
    expect(await ids('running')).toContain(`${id} running`);
    expect(await ids('provisioning')).toEqual([]);
    // As the process that starts the runtime again does first.
    const fields = { runtimeAddress: null };
    await gateway.gateway.storage.interns.updateIntern({ id, from: ['running'], fields });
    expect(await ids('running')).not.toContain(`${id} running`);
    expect(await ids('provisioning')).toEqual([`${id} provisioning`]);
    expect((await ids('stopped')).join()).not.toContain(id);
    expect(await find(id)).toMatchObject({ status: 'provisioning', progress: { stepLabel: 'Start runtime' } });
    expect((await send('POST', `/${id}/suspend`)).status).toBe(200);
  });

  it('and every change of them are in the audit log', async () => {
    const { id } = await createRunning();
    await send('POST', `/${id}/suspend`);
    await send('DELETE', `/${id}`);
    await vi.waitFor(async () => expect((await send('GET', `/${id}`)).status).toBe(404));
    const response = await gateway.get('/audit?limit=100', { key: gateway.managementKey });
    const { data } = (await response.json()) as { data: { action: string; object: { id: string } }[] };
    const actions = data.filter((entry) => JSON.stringify(entry).includes(id)).map(({ action }) => action);
    expect(actions).toEqual(['intern.remove', 'intern.delete', 'intern.suspend', 'intern.create']);
  });
});

describe('a removal', () => {
  it('that fails keeps the intern, and goes on with an acknowledged loss', async () => {
    const { id } = await createRunning();
    host.before = (call) => {
      if (call === 'destroy') throw new InternTeardownError('workspace_archive_failed', 'The archive is full.');
    };
    await send('DELETE', `/${id}`);
    await settle(id, 'destroy_failed');
    expect(await find(id)).toMatchObject({ lastFailureMessage: 'workspace_archive_failed: The archive is full.' });
    for (const [method, path] of [
      ['POST', '/provision'],
      ['POST', '/suspend'],
      ['DELETE', ''],
    ] as const) {
      expect(await send(method, `/${id}${path}`)).toEqual(failure(409, 'intern_busy'));
    }
    expect(await send('PATCH', `/${id}`, { description: 'd' })).toEqual(failure(409, 'intern_busy'));
    const { entered, release } = hold('destroy');
    expect((await send('DELETE', `/${id}`, { acknowledge_workspace_loss: 1 })).body.error.code).toBe('invalid_body');
    expect((await send('DELETE', `/${id}`, { acknowledge_workspace_loss: true })).status).toBe(202);
    await entered;
    expect((await send('DELETE', `/${id}`)).status).toBe(202);
    expect(await send('PATCH', `/${id}`, { description: 'd' })).toEqual(failure(409, 'intern_busy'));
    release();
    await vi.waitFor(async () => expect((await send('GET', `/${id}`)).status).toBe(404));
    expect(host.homes.has(id)).toBe(false);
  });
});
