import { randomUUID } from 'node:crypto';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type InternStatus, internStatuses } from '../../src/domain/intern.ts';
import { ScriptedHost } from '../../src/testing/scripted-runtime.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { type Json, main, manage, other } from './manage.ts';
import { patient } from '../../src/testing/patience.ts';

const carl = 'test-inference-key-carl';
const configure = (interns: object = {}) => ({
  server: { regional_hosts: ['eu.example.com'] },
  interns: { health_ms: 100, max_per_member: 1000, schedules: { enabled: true }, ...interns },
  bootstrap: {
    members: [{ id: 'carl', workspaces: ['other'] }],
    keys: [{ key: carl, name: 'carl', workspace: 'other', member: 'carl' }],
  },
});
const host = new ScriptedHost();
let gateway: TestGateway;
let names = 0;
const ask = manage(() => gateway);

beforeAll(async () => {
  gateway = await testGateway(configure(), undefined, { internRuntime: host.createRuntime() });
});
afterAll(() => gateway.close());
beforeEach(() => {
  host.before = () => {};
  host.problem = () => undefined;
});

const send = (method: string, path: string, body?: unknown, key: string = gateway.key) => ask(method, path, body, key);
const create = async (fields: object = {}, key?: string) => {
  const body = { name: `i${(++names).toString(36)}x`, workspace_id: main, ...fields };
  return send('POST', '/interns', body, key);
};
async function createIntern(fields: object = {}, key?: string): Promise<Json> {
  const created = await create(fields, key);
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  return created.body;
}
const find = async (id: string): Promise<Json> => (await send('GET', `/interns/${id}`)).body;
const until = (id: string, status: InternStatus) =>
  vi.waitFor(async () => expect(await find(id)).toMatchObject({ status }));
const untilGone = (id: string) =>
  vi.waitFor(async () => expect((await send('GET', `/interns/${id}`)).status).toBe(404));
/** Writes a status into the row, without any work of the gateway. */
const putInto = (id: string, status: InternStatus) =>
  gateway.gateway.storage.interns.updateIntern({ id, from: internStatuses, fields: { status } });
const nameError = (code: string, retryable: boolean) => ({ code, metadata: { reason: code, retryable } });
const numberError = (code: number, reason: string, retryable: boolean) => ({ code, metadata: { reason, retryable } });

/** Sends a request as it is given, and reads the response even if the body never ends. */
async function sendRaw(url: string, method: string, headers: Record<string, string>, firstBytes?: string) {
  const received = Promise.withResolvers<IncomingMessage>();
  const outgoing = httpRequest(url, { method, headers }, received.resolve);
  outgoing.on('error', received.reject);
  if (firstBytes === undefined) outgoing.end();
  else outgoing.write(firstBytes);
  const response = await received.promise;
  const body = JSON.parse(await text(response)) as Json;
  outgoing.on('error', () => {}).destroy();
  return { status: response.statusCode, headers: response.headers, body };
}

/** The rules of docs/reference/interns.md#states: what each operation is in each status. */
const rules: Record<InternStatus, Record<'provision' | 'suspend' | 'delete' | 'update' | 'chat', number>> = {
  awaiting_chat_install: { provision: 202, suspend: 409, delete: 202, update: 200, chat: 409 },
  queued: { provision: 409, suspend: 409, delete: 202, update: 200, chat: 409 },
  provisioning: { provision: 409, suspend: 409, delete: 202, update: 200, chat: 409 },
  running: { provision: 409, suspend: 200, delete: 202, update: 200, chat: 503 }, // without an agent it is being started
  failed: { provision: 202, suspend: 409, delete: 202, update: 200, chat: 409 },
  stopped: { provision: 202, suspend: 200, delete: 202, update: 200, chat: 409 },
  destroying: { provision: 409, suspend: 409, delete: 202, update: 409, chat: 409 },
  destroy_failed: { provision: 409, suspend: 409, delete: 202, update: 409, chat: 409 },
};

describe('an intern that is', () => {
  it.each(internStatuses)('%s accepts and rejects operations as the table of states says', async (status) => {
    const expected = rules[status];
    const enter = async (): Promise<string> => {
      const { id } = await createIntern();
      await putInto(id, status);
      return `/interns/${id}`;
    };
    const busy = nameError('intern_busy', false);
    for (const [operation, path, success] of [
      ['provision', '/provision', { provisioning: true }],
      ['suspend', '/suspend', { suspended: true }],
    ] as const) {
      const { status: code, body } = await send('POST', `${await enter()}${path}`);
      expect([operation, code]).toEqual([operation, expected[operation]]);
      if (code === 409) expect(body.error).toMatchObject(busy);
      else expect(body).toEqual(success);
    }
    const deleted = await send('DELETE', await enter());
    expect([deleted.status, deleted.body]).toEqual([expected.delete, { deleting: true }]);

    const path = await enter();
    const updated = await send('PATCH', path, { description: 'new' });
    expect(updated.status).toBe(expected.update);
    // Its row has no runtime.
    const shown = status === 'running' ? 'provisioning' : status;
    const changed = { status: shown, description: 'new' };
    expect(updated.body).toMatchObject(expected.update === 200 ? changed : { error: busy });
    const reason = expected.chat === 409 ? 'intern_not_ready' : 'busy';
    for (const [target, body] of [
      ['chat/completions', { stream: true, messages: [{ role: 'user', content: 'a' }] }],
      ['invoke', { input: 'a' }],
    ] as const) {
      const chatted = await send('POST', `${path}/${target}`, body);
      expect([target, chatted.status]).toEqual([target, expected.chat]);
      expect(chatted.body.error).toMatchObject(numberError(expected.chat, reason, true));
      expect(Number(chatted.headers.get('retry-after'))).toBeGreaterThan(0);
    }
  });
});

describe('a running intern', () => {
  it('keeps its model and instructions over a restart, and gets new ones with the next provisioning', async () => {
    const { id } = await createIntern({ instructions: 'first' });
    const path = `/interns/${id}`;
    await send('PATCH', path, { model: 'a/first' });
    await send('POST', `${path}/provision`);
    await until(id, 'running');
    const later = { model: 'a/second', instructions: 'second' };
    expect((await send('PATCH', path, later)).body).toMatchObject(later);
    const starts = () => host.started.filter((intern) => intern.id === id);
    host.problem = (failing) => (failing === id && starts().length === 1 ? 'The agent has ended.' : undefined);
    await vi.waitFor(() => expect(starts()).toHaveLength(2));
    await send('POST', `${path}/suspend`);
    await send('POST', `${path}/provision`);
    await until(id, 'running');
    const first = { model: 'a/first', instructions: 'first' };
    expect(starts()).toMatchObject([first, first, later]);
    expect(await find(id)).toMatchObject(later);
  });

  it('whose runtime does not stop is a 502 for suspend, and goes on', async () => {
    const { id } = await createIntern({ provision: true });
    await until(id, 'running');
    host.before = (call) => {
      if (call === 'stop') throw new Error('The files were not saved.');
    };
    const failed = await send('POST', `/interns/${id}/suspend`);
    expect([failed.status, failed.body.error]).toMatchObject([502, nameError('upstream_unavailable', true)]);
    expect(await find(id)).toMatchObject({ status: 'running' });
    expect(host.agents.has(id)).toBe(true);
    host.before = () => {};
    expect((await send('POST', `/interns/${id}/suspend`)).status).toBe(200);
  });
});

it('a damaged row is a 500 internal_error that names no cause', async () => {
  const { id } = await createIntern();
  {
    using db = new DatabaseSync(`${gateway.dataDir}/headgate.db`, { timeout: patient(10_000) });
    db.prepare('update interns set created_at_ms = ? where id = ?').run(9_000_000_000_000_000, id); // after the last date
  }
  const { status, body } = await send('GET', `/interns/${id}`);
  expect([status, body.error]).toMatchObject([500, nameError('internal_error', true)]);
  expect(JSON.stringify(body)).not.toMatch(/\b(?:time|date)\b|RangeError/i);
});

describe('a request that takes too long', () => {
  let slow: TestGateway;
  const agents = new ScriptedHost();
  beforeAll(async () => {
    const ports = { internRuntime: agents.createRuntime(), internVaults: agents.internVaults };
    slow = await testGateway(configure(), undefined, { ...ports, internTimes: { requestMs: 200, chatBodyMs: 200 } });
  });
  afterAll(() => slow.close());

  it('to arrive is a 408 in the format of its route', async () => {
    const id = randomUUID();
    const named = { code: 408, metadata: { reason: 'timeout', retryable: true } };
    const all = [
      ['POST', '/interns', named],
      ['PATCH', `/interns/${id}`, named],
      ['DELETE', `/interns/${id}`, named],
      ['POST', `/interns/${id}/provision`, named],
      ['POST', `/interns/${id}/suspend`, named],
      ['POST', `/interns/${id}/chat/completions`, named],
      ['POST', `/interns/${id}/invoke`, named],
      ['POST', `/interns/${id}/schedules`, named],
      ['POST', `/interns/${id}/webhooks/token`, named],
      ['PUT', '/vault/secrets/a', { code: 408 }],
      ['POST', `/vault/interns/${id}/secrets/copy`, { code: 408 }],
    ] as const;
    const headers = { authorization: `Bearer ${slow.key}`, 'content-type': 'application/json', 'content-length': '9' };
    const responses = await Promise.all(
      all.map(([method, path]) => sendRaw(slow.baseUrl + path, method, headers, '{')),
    );
    for (const [index, [method, path, error]] of all.entries()) {
      const { status, body, headers: received } = responses[index]!;
      expect([status, body], `${method} ${path}`).toMatchObject([408, { error }]);
      expect(body.error.message).toContain('0.2 s');
      if (/chat|invoke/.test(path)) expect(received['retry-after']).toBe('5');
    }
  });

  it('to complete is a 408, and its work continues', async () => {
    const released = Promise.withResolvers<void>();
    agents.before = (call) => (call === 'createVault' ? released.promise : undefined);
    const body = { name: 'late', workspace_id: main };
    const post = async () => {
      const response = await slow.post('/interns', body);
      return { status: response.status, body: (await response.json()) as Json };
    };
    expect(await post()).toMatchObject({
      status: 408,
      body: { error: { code: 408, metadata: { reason: 'timeout', retryable: true } } },
    });
    expect(agents.vaults.size).toBe(0);
    released.resolve();
    await vi.waitFor(() => expect(agents.vaults.size).toBe(1));
    await vi.waitFor(async () => expect((await post()).status).toBe(200));
  });
});

describe('vaults', () => {
  const put = (id: string, name: string) =>
    send('PUT', `/vault/interns/${id}/secrets/${name}`, { value: `value of ${name}`, hosts: ['h.example'] });
  const list = (id: string, kind = 'secrets') => send('GET', `/vault/interns/${id}/${kind}`);
  const effective = async (id: string) =>
    (await list(id, 'effective-secrets')).body.data.map(({ name, scope }: Json) => [name, scope]);

  it('in a chain lend their own secrets only, and keep them when the borrower is deleted', async () => {
    const first = await createIntern();
    const second = await createIntern({ vault_id: first.vault_id });
    const third = await createIntern({ vault_id: second.vault_id });
    expect(third.attached_vault_id).toBe(second.vault_id);
    expect((await put(first.id, 'of_first')).status).toBe(200);
    expect((await put(second.id, 'of_second')).status).toBe(200);
    expect(await effective(second.id)).toEqual([
      ['of_first', 'attached'],
      ['of_second', 'intern'],
    ]);
    expect(await effective(third.id)).toEqual([['of_second', 'attached']]);

    expect((await send('DELETE', `/interns/${third.id}`)).status).toBe(202);
    await untilGone(third.id);
    expect((await list(second.id)).body.data).toMatchObject([{ name: 'of_second' }]);
    expect((await send('DELETE', `/interns/${first.id}`)).status).toBe(202);
    await untilGone(first.id);
    expect((await list(second.id, 'effective-secrets')).status).toBe(404); // its lender is gone
    expect((await list(second.id)).body.data).toMatchObject([{ name: 'of_second' }]);
  });

  it('are lent by interns of the workspace that are not being removed', async () => {
    const lender = await createIntern();
    const vault_id: string = lender.vault_id;
    const foreign = await createIntern({ workspace_id: other }, carl);
    const gone = await createIntern();
    await send('DELETE', `/interns/${gone.id}`);
    await untilGone(gone.id);
    const hidden = [404, nameError('not_found', false)];
    const borrow = async (id: string) => {
      const { status, body } = await create({ vault_id: id });
      return [status, body.error];
    };
    for (const id of [randomUUID(), foreign.vault_id, gone.vault_id, lender.id]) {
      expect(await borrow(id)).toMatchObject(hidden);
    }
    for (const status of ['destroying', 'destroy_failed'] as const) {
      await putInto(lender.id, status);
      expect(await borrow(vault_id), status).toMatchObject([409, nameError('intern_busy', false)]);
    }
    await putInto(lender.id, 'stopped');
    expect((await create({ vault_id })).status).toBe(201);
    expect((await create({ vault_id })).status).toBe(201); // several can borrow it
  });
});

describe('every route of interns and vaults', () => {
  let routes: { method: string; path: string; needsKey: boolean }[];
  beforeAll(async () => {
    const document = (await (await gateway.get('/openapi.json')).json()) as Json;
    routes = Object.entries(document.paths as Record<string, Record<string, Json>>).flatMap(([path, methods]) =>
      /^\/api\/v1\/(interns|vault)\b/.test(path)
        ? Object.entries(methods).map(([method, { security }]) => ({
            method: method.toUpperCase(),
            path: path.replace(/\{\w+\}/g, 'x'),
            needsKey: security.length > 0,
          }))
        : [],
    );
  });

  it('that needs a key is a 401 with a management key and without one', async () => {
    const keyed = routes.filter(({ needsKey }) => needsKey);
    expect(keyed.length).toBeGreaterThanOrEqual(25);
    for (const { method, path } of keyed) {
      for (const key of [gateway.managementKey, null]) {
        const { status, body } = await ask(method, path, undefined, key);
        expect([status, body.error.code, body.error.metadata?.reason], `${method} ${path}`).toEqual([
          401,
          401,
          undefined,
        ]);
      }
    }
  });

  it('is a 403 at a regional host', async () => {
    const headers = { host: 'eu.example.com', authorization: `Bearer ${gateway.key}` };
    for (const { method, path } of routes) {
      const { status, body } = await sendRaw(`${gateway.url}${path}`, method, headers);
      expect([status, body.error.code], `${method} ${path}`).toEqual([403, 403]);
    }
  });

  it('is a 404 in the format of the route if interns are off', async () => {
    await gateway.reload(configure({ enabled: false }));
    for (const { method, path } of routes) {
      const { status, body } = await ask(method, path, undefined, gateway.key);
      const hasNumber = /vault|chat|invoke|daemon|logs/.test(path);
      expect([status, body.error.code], `${method} ${path}`).toEqual([404, hasNumber ? 404 : 'not_found']);
    }
    await gateway.reload(configure());
  });
});
