import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Intern } from '../../src/domain/intern.ts';
import { copySecrets, deleteSecret, putSecret } from '../../src/management/vault/change-secrets.ts';
import { listEffectiveSecrets, listVaultSecrets } from '../../src/management/vault/list-secrets.ts';
import { checkPutSecret } from '../../src/management/vault/schema.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { createInternVaults } from '../../src/vault/intern-vaults.ts';
import { createMasterKeys } from '../../src/vault/master-keys.ts';
import { findHolder } from '../../src/vault/effective.ts';
import { createSecretRelease, writeSecretVariables } from '../../src/vault/release.ts';
import { seal } from '../../src/vault/seal.ts';
import { openVaultKey } from '../../src/vault/secrets.ts';
import { auditOf, expectIssues, type Json, main, manage, other } from './manage.ts';
import { patient } from '../../src/testing/patience.ts';

const masterKey = 'the master key of these tests, 32';
const keys = { ben: '', foreign: '' };
let gateway: TestGateway;
const ask = manage(() => gateway);
const vaultParts = () => ({
  vaults: gateway.gateway.storage.vaults,
  interns: gateway.gateway.storage.interns,
  now: Date.now,
  masterKeys: createMasterKeys(Buffer.from(masterKey)),
});

beforeAll(async () => {
  gateway = await testGateway({ secrets: { master_key: masterKey } });
  for (const [name, workspaceId] of [
    ['ben', main],
    ['foreign', other],
  ] as const) {
    await ask('POST', `/workspaces/${workspaceId}/members/add`, { user_ids: [name] });
    const created = await ask('POST', '/keys', { name, workspace_id: workspaceId, creator_user_id: name });
    keys[name] = created.body.key;
  }
});
afterAll(() => gateway.close());

/** Calls the API with the key of ada, who created the interns of these tests. */
const call = (method: string, path: string, body?: unknown, key: string | null = gateway.key) =>
  ask(method, `/vault${path}`, body, key);
const put = async (path: string, value: unknown, hosts: unknown = ['api.example.com'], key?: string) =>
  call('PUT', path, { value, hosts }, key);
const unique = (start = 'token') => `${start}_${randomUUID().slice(0, 8).replace(/^/, 'x')}`;

async function addIntern(fields: Partial<Intern> = {}): Promise<Intern> {
  const { interns } = gateway.gateway.storage;
  const at = Date.now();
  const result = await interns.addIntern({
    intern: {
      id: randomUUID(),
      workspaceId: main,
      creatorId: 'ada',
      name: unique('i').replace('_', '-'),
      description: null,
      instructions: null,
      model: null,
      status: 'running',
      hostname: null,
      vaultId: randomUUID(),
      hasVault: true,
      attachedVaultId: null,
      step: null,
      lastFailureMessage: null,
      failureReason: null,
      runtimeAddress: null,
      isStopRequested: false,
      acknowledgesLoss: false,
      createdAtMs: at,
      updatedAtMs: at,
      ...fields,
    },
    canAttach: true,
    requestHash: randomUUID(),
    bodyHash: 'b',
    maxPerMember: 1000,
    change: { atMs: at, actorKeyHash: null },
  });
  if (result.refusal !== undefined) throw new Error(result.refusal);
  const { id: internId, vaultId, workspaceId } = result.intern;
  await createInternVaults(vaultParts()).create({ vaultId, internId, workspaceId });
  return result.intern;
}

describe('a secret of the workspace', () => {
  it('is written, listed without its value, replaced and deleted', async () => {
    const name = unique();
    const created = await put(`/secrets/${name}`, 'value-1', ['API.Example.com.', 'api.example.com', 'b.example']);
    expect(created.status).toBe(200);
    expect(created.body).toEqual({
      data: {
        name,
        hosts: ['api.example.com', 'b.example'],
        locations: ['header'],
        fingerprint: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    });
    const { fingerprint, created_at } = created.body.data;
    const same = await put(`/secrets/${name}`, 'value-1');
    expect(same.body.data).toEqual({
      name,
      hosts: ['api.example.com'],
      locations: ['header'],
      fingerprint,
      created_at,
    });
    const replaced = await put(`/secrets/${name}`, 'value-2');
    expect(replaced.body.data.created_at).toBe(created_at);
    expect(replaced.body.data.fingerprint).not.toBe(fingerprint);
    const listed = (await call('GET', '/secrets')).body;
    expect(listed.data.find((secret: Json) => secret.name === name)).toEqual(replaced.body.data);
    expect(JSON.stringify(listed)).not.toContain('value-');

    const entries = await auditOf(ask, 3);
    expect(entries.map(({ action }) => action)).toEqual([
      'vault_secret.update',
      'vault_secret.update',
      'vault_secret.create',
    ]);
    expect(entries[0].changes.fingerprint.before).toBe(fingerprint);
    expect(JSON.stringify(entries)).not.toContain('value-');

    const deleted = await call('DELETE', `/secrets/${name}`);
    expect([deleted.status, deleted.body]).toEqual([204, '']);
    expect((await call('DELETE', `/secrets/${name}`)).status).toBe(404);
    expect((await auditOf(ask, 1))[0].action).toBe('vault_secret.delete');
  });

  it('is listed by name, in pages', async () => {
    const added = ['b_page', 'a_page', 'a_page_2'];
    for (const name of added) await put(`/secrets/${name}`, 'v', ['h.example'], keys.foreign);
    const list = async (query: string) => (await call('GET', `/secrets${query}`, undefined, keys.foreign)).body;
    const names = ({ data }: Json) => data.map((secret: Json) => secret.name);
    expect(names(await list(''))).toEqual(['a_page', 'a_page_2', 'b_page']);
    expect(await list('?limit=2')).toMatchObject({ has_more: true, data: [{ name: 'a_page' }, { name: 'a_page_2' }] });
    expect(await list('?limit=2&offset=1')).toMatchObject({ has_more: false });
    expect(names(await list('?offset=10000'))).toEqual([]);
    for (const query of ['?limit=0', '?limit=101', '?offset=10001', '?offset=-1']) {
      expect((await call('GET', `/secrets${query}`)).status, query).toBe(400);
    }
    expect(names(await list(''))).not.toContain('token');
  });

  it.each([
    'A',
    '1a',
    'a__b',
    'a_',
    '_a',
    'a-b',
    'a.b',
    'a'.repeat(256),
    '%00',
  ])('has no name like %j', async (name) => {
    expect((await put(`/secrets/${name}`, 'v')).status).toBe(400);
    expect((await call('DELETE', `/secrets/${name}`)).status).toBe(400);
  });

  it('has a value of up to 65,536 characters, which no error repeats', async () => {
    const name = unique();
    for (const value of ['x', '📦'.repeat(65_536), 'a'.repeat(65_536), '\0\n"', 'ä'.repeat(255)]) {
      expect((await put(`/secrets/${name}`, value)).status).toBe(200);
    }
    for (const value of ['', 'secret-'.repeat(10_000), '\ud800', 1234567, null, { secret: 'secret-1' }, ['secret-1']]) {
      const answer = await put(`/secrets/${name}`, value);
      expectIssues(answer, { value: '65536 characters' });
      expect(JSON.stringify(answer.body)).not.toMatch(/secret-|1234567/);
    }
    const cut = await call('PUT', `/secrets/${name}`, '{"value": "secret-2", "hosts": [');
    expect([cut.status, JSON.stringify(cut.body).includes('secret-2')]).toEqual([400, false]);
    const longest = 'a'.repeat(255);
    expect((await put(`/secrets/${longest}`, 'v')).status).toBe(200);
    expect((await call('DELETE', `/secrets/${longest}`)).status).toBe(204);
  });

  it('says which parts of a request may have it: headers, if it is written without', async () => {
    const name = unique();
    const write = (locations?: unknown) =>
      call('PUT', `/secrets/${name}`, { value: 'value-1', hosts: ['a.example'], locations });
    const written = async (locations?: unknown) => (await write(locations)).body.data.locations;
    expect(await written()).toEqual(['header']);
    expect(await written(['body', 'path', 'header', 'body'])).toEqual(['header', 'path', 'body']);
    expect((await auditOf(ask, 1))[0].changes.locations).toEqual({
      before: ['header'],
      after: ['header', 'path', 'body'],
    });
    const intern = await addIntern();
    const copied = await call('POST', `/interns/${intern.id}/secrets/copy`, { names: [name] });
    expect(copied.body.data[0].locations).toEqual(['header', 'path', 'body']);
    expect(await written(['query'])).toEqual(['query']);
    expect(await written(null)).toEqual(['header']);
    for (const [wrong, path] of [
      [[], 'locations'],
      [['cookie'], 'locations[0]'],
      ['header', 'locations'],
    ] as const) {
      const answer = await write(wrong);
      expect([answer.status, answer.body.error?.metadata.issues[0].path]).toEqual([400, path]);
    }
  });

  it('of an earlier build has none, may be in headers, and is copied with that', async () => {
    const name = unique();
    await put(`/secrets/${name}`, 'value-1', ['earlier.example']);
    const { vaults } = gateway.gateway.storage;
    const vault = (await vaults.findWorkspaceVault(main))!;
    const [row] = await vaults.findSecrets(vault.id, [name]);
    using key = await openVaultKey(vaultParts(), vault);
    const { hosts, version, generation, fingerprint, createdAtMs } = row!;
    const place = ['vault secret', vault.id, name, version, generation, hosts, fingerprint, createdAtMs];
    using db = new DatabaseSync(`${gateway.dataDir}/headgate.db`, { timeout: patient(10_000) });
    const sealed = seal(key.data, Buffer.from('value-1'), place);
    db.prepare('update vault_secrets set locations = null, sealed = ? where name = ?').run(sealed, name);
    const listed = (await call('GET', '/secrets')).body.data;
    expect(listed.find((secret: Json) => secret.name === name).locations).toEqual(['header']);
    const intern = await addIntern();
    expect(await release(intern.id, 'earlier.example')).toEqual(['value-1']);
    const copied = await call('POST', `/interns/${intern.id}/secrets/copy`, { names: [name] });
    expect(copied.body.data[0].locations).toEqual(['header']);
    expect(await release(intern.id, 'earlier.example')).toEqual(['value-1']);
  });

  it('is bound to 1 to 100 exact DNS names', async () => {
    const path = `/secrets/${unique()}`;
    const label = 'a'.repeat(63);
    const long = `${label}.${label}.${label}.${'a'.repeat(61)}`;
    for (const hosts of [['localhost'], [long, `${long}.`], Array.from({ length: 100 }, (_, at) => `h${at}.example`)]) {
      expect((await put(path, 'v', hosts)).status, JSON.stringify(hosts).slice(0, 50)).toBe(200);
    }
    const wrong = [
      '',
      '.',
      'a..b',
      '-a.b',
      'a-.b',
      '*.example.com',
      'https://a.example',
      'a.example:443',
      'a.example/x',
    ];
    for (const host of [
      ...wrong,
      'a_b.example',
      `${long}a`,
      `${label}a.b`,
      '10.1.2.3',
      '::1',
      'ä.example',
      'a.b..',
      7,
    ]) {
      const answer = await put(path, 'v', [host]);
      expect(answer.status, String(host)).toBe(400);
      expect(answer.body.error.metadata.issues[0].path).toBe('hosts[0]');
    }
    for (const hosts of [[], null, 'a.example', Array(101).fill('a.example')]) {
      expect((await put(path, 'v', hosts)).status, JSON.stringify(hosts)).toBe(400);
    }
    for (const body of [{ value: 'v' }, { hosts: ['a.b'] }, { value: 'v', hosts: ['a.b'], name: 'x' }, [], 'x']) {
      expect((await call('PUT', path, body)).status, JSON.stringify(body)).toBe(400);
    }
  });

  it('is a 413 beyond 425,000 bytes, with numeric codes in all errors', async () => {
    const body = (bytes: number) => {
      const rest = JSON.stringify({ value: 'v', hosts: ['a.example'] });
      return `${rest.slice(0, -1)}${' '.repeat(bytes - rest.length)}}`;
    };
    expect((await call('PUT', `/secrets/${unique()}`, body(425_000))).status).toBe(200);
    const large = await call('PUT', `/secrets/${unique()}`, body(425_001));
    expect([large.status, large.body.error.code]).toEqual([413, 413]);
    expect((await call('DELETE', '/secrets/unknown')).body.error).toMatchObject({ code: 404 });
  });
});

describe('the vaults', () => {
  it('need an inference key: no key and a management key are a 401', async () => {
    const { id } = await addIntern();
    const paths: [string, string][] = [
      ['GET', '/secrets'],
      ['PUT', '/secrets/a'],
      ['DELETE', '/secrets/a'],
      ['GET', `/interns/${id}/secrets`],
      ['PUT', `/interns/${id}/secrets/a`],
      ['DELETE', `/interns/${id}/secrets/a`],
      ['POST', `/interns/${id}/secrets/copy`],
      ['GET', `/interns/${id}/effective-secrets`],
    ];
    for (const [method, path] of paths) {
      for (const key of [null, gateway.managementKey]) {
        const answer = await call(method, path, undefined, key);
        expect([answer.status, answer.body.error.code], `${method} ${path}`).toEqual([401, 401]);
      }
    }
  });

  it('of interns are visible to their creator, to keys of the organization, and to the intern', async () => {
    const { id } = await addIntern();
    await put(`/interns/${id}/secrets/a`, 'v');
    const read = async (key: string) => (await call('GET', `/interns/${id}/secrets`, undefined, key)).status;
    expect(await read(gateway.key)).toBe(200);
    expect(await read(gateway.organizationKey)).toBe(200);
    for (const key of [keys.ben, keys.foreign]) {
      for (const [method, path, body] of [
        ['GET', 'secrets'],
        ['PUT', 'secrets/a', { value: 'v', hosts: ['a.b'] }],
        ['DELETE', 'secrets/a'],
        ['POST', 'secrets/copy', { names: ['a'] }],
        ['GET', 'effective-secrets'],
      ] as const) {
        expect((await call(method, `/interns/${id}/${path}`, body, key)).status, `${method} ${path}`).toBe(404);
      }
    }
    expect((await call('GET', `/interns/${randomUUID()}/secrets`)).status).toBe(404);
    expect((await call('GET', '/interns/%00/secrets')).status).toBe(404);
  });

  it('of another workspace are invisible', async () => {
    const name = unique();
    await put(`/secrets/${name}`, 'v');
    expect((await call('DELETE', `/secrets/${name}`, undefined, keys.foreign)).status).toBe(404);
    const listed = await call('GET', '/secrets', undefined, keys.ben);
    expect(listed.body.data.map((secret: Json) => secret.name)).toContain(name);
  });

  it('have fingerprints of their own', async () => {
    const { id } = await addIntern();
    const name = unique();
    const [a, b, c] = [
      await put(`/secrets/${name}`, 'equal'),
      await put(`/secrets/${name}_2`, 'equal'),
      await put(`/interns/${id}/secrets/${name}`, 'equal'),
    ];
    expect(a.body.data.fingerprint).toBe(b.body.data.fingerprint);
    expect(c.body.data.fingerprint).not.toBe(a.body.data.fingerprint);
  });
});

it('the key of an intern only lists the secrets of that intern', async () => {
  const [own, foreign] = [await addIntern(), await addIntern()];
  await put(`/interns/${own.id}/secrets/a`, 'v');
  const caller = { keyHash: 'k', workspaceId: main, memberId: 'ada', internId: own.id };
  const parts = vaultParts();
  const page = { offset: 0, limit: 9 };
  expect((await listVaultSecrets(parts, caller, { internId: own.id }, page)).rows).toMatchObject([{ name: 'a' }]);
  const names = (await listEffectiveSecrets(parts, caller, own.id, { offset: 0, limit: 100 })).rows;
  expect(names.map(({ name }) => name)).toContain('a');
  const body = { ...checkPutSecret({ value: 'v', hosts: ['evil.example'] }), name: 'a' };
  const denied = { kind: 'permission_denied' };
  await expect(putSecret(parts, caller, { internId: own.id }, body)).rejects.toMatchObject(denied);
  await expect(deleteSecret(parts, caller, { internId: own.id }, 'a')).rejects.toMatchObject(denied);
  await expect(copySecrets(parts, caller, own.id, ['a'])).rejects.toMatchObject(denied);
  const hidden = { kind: 'not_found' };
  await expect(listVaultSecrets(parts, caller, {}, page)).rejects.toMatchObject(hidden);
  await expect(putSecret(parts, caller, {}, body)).rejects.toMatchObject(hidden);
  await expect(listVaultSecrets(parts, caller, { internId: foreign.id }, page)).rejects.toMatchObject(hidden);
  await expect(listEffectiveSecrets(parts, caller, foreign.id, page)).rejects.toMatchObject(hidden);
});

describe('copies', () => {
  it('are all made or none, and do not depend on the originals', async () => {
    const { id } = await addIntern();
    const [a, b] = [unique('a'), unique('b')];
    await put(`/secrets/${a}`, 'value of a', ['a.example']);
    await put(`/secrets/${b}`, 'value of b', ['b.example']);
    await put(`/interns/${id}/secrets/${b}`, 'before', ['before.example']);
    const copy = (names: unknown) => call('POST', `/interns/${id}/secrets/copy`, { names });
    const list = async () =>
      (await call('GET', `/interns/${id}/secrets`)).body.data.map((secret: Json) => secret.hosts);

    const missing = await copy([a, 'unknown', b]);
    expect([missing.status, missing.body.error.message]).toEqual([404, expect.stringContaining('unknown')]);
    expect(await list()).toEqual([['before.example']]);
    const copied = await copy([b, a]);
    expect(copied.status).toBe(200);
    expect(copied.body.data).toMatchObject([
      { name: b, hosts: ['b.example'] },
      { name: a, hosts: ['a.example'] },
    ]);
    await call('DELETE', `/secrets/${a}`);
    await put(`/secrets/${b}`, 'changed', ['changed.example']);
    expect(await list()).toEqual([['a.example'], ['b.example']]);
    for (const names of [[], [a, a], ['A'], Array.from({ length: 101 }, (_, at) => `n${at}`), 'a', null]) {
      expect((await copy(names)).status).toBe(400);
    }
    expect((await call('POST', `/interns/${id}/secrets/copy`, { names: [b], more: 1 })).status).toBe(400);
    const [released] = await release(id, 'b.example');
    expect(released).toBe('value of b');
  });
});

/** Returns the values that requests of an intern to a host get. */
async function release(internId: string, host: string, fields: Partial<Intern> = {}): Promise<string[]> {
  const intern = { ...(await gateway.gateway.storage.interns.findIntern(internId))!, ...fields };
  const { holder } = await findHolder(gateway.gateway.storage.interns, intern);
  const opened = createSecretRelease(vaultParts(), holder);
  const placeholders = (await opened.listPlaceholders()).map(({ placeholder }) => placeholder);
  const released = await opened.release(host, placeholders);
  expect(await opened.isBound(host)).toBe(released.length > 0);
  const listed = (await opened.list(host)).map(({ placeholder, version }) => `${placeholder} ${version}`);
  expect(listed.toSorted()).toEqual(released.map(({ placeholder, version }) => `${placeholder} ${version}`).toSorted());
  return released.map(({ value }) => value.toString());
}

describe('the secrets that an intern receives', () => {
  it('are its own, then the borrowed ones, then those of the workspace', async () => {
    const lender = await addIntern();
    const borrower = await addIntern({ attachedVaultId: lender.vaultId });
    const [own, lent, shared] = [unique('a'), unique('b'), unique('c')];
    for (const name of [own, lent, shared])
      await put(`/secrets/${name}`, `workspace ${name}`, ['w.example', 'x.example']);
    for (const name of [own, lent]) await put(`/interns/${lender.id}/secrets/${name}`, `lent ${name}`, ['l.example']);
    await put(`/interns/${borrower.id}/secrets/${own}`, `own ${own}`, ['o.example']);

    const effective = async (query = '') =>
      (await call('GET', `/interns/${borrower.id}/effective-secrets${query}`)).body;
    const found = (await effective()).data.filter(({ name }: Json) => [own, lent, shared].includes(name));
    expect(found.map(({ name, scope, hosts }: Json) => [name, scope, hosts])).toEqual([
      [own, 'intern', ['o.example']],
      [lent, 'attached', ['l.example']],
      [shared, 'workspace', ['w.example', 'x.example']],
    ]);
    expect(Object.keys(found[0])).toEqual(['name', 'hosts', 'locations', 'fingerprint', 'created_at', 'scope']);
    expect(await effective('?limit=1')).toMatchObject({ has_more: true, data: [{}] });

    // The deciding entry is chosen first. If it is not bound to the host, nothing else takes its place.
    expect(await release(borrower.id, 'o.example')).toEqual([`own ${own}`]);
    expect(await release(borrower.id, 'l.example')).toEqual([`lent ${lent}`]);
    expect(await release(borrower.id, 'w.example')).toEqual([`workspace ${shared}`]);
    expect(await release(borrower.id, 'sub.o.example')).toEqual([]);
    expect(await release(borrower.id, 'example')).toEqual([]);
    expect(await release(lender.id, 'o.example')).toEqual([]);

    await call('DELETE', `/interns/${borrower.id}/secrets/${own}`);
    expect((await release(borrower.id, 'l.example')).toSorted()).toEqual([`lent ${own}`, `lent ${lent}`].toSorted());
    await createInternVaults(vaultParts()).destroy(lender.vaultId);
    expect((await call('GET', `/interns/${borrower.id}/effective-secrets`)).status).toBe(404);
    expect(await release(borrower.id, 'w.example')).toEqual([]);
    expect((await call('GET', `/interns/${lender.id}/secrets`)).status).toBe(404);
    expect((await put(`/interns/${lender.id}/secrets/a`, 'v')).status).toBe(404);
  });

  it('are not those of an intern of another member', async () => {
    const lender = await addIntern({ creatorId: 'bob' });
    const borrower = await addIntern({ attachedVaultId: lender.vaultId });
    const [lent, own] = [unique('a'), unique('b')];
    await put(`/interns/${lender.id}/secrets/${lent}`, 'lent', ['l.example']);
    await put(`/interns/${borrower.id}/secrets/${own}`, 'own', ['l.example']);
    const { data } = (await call('GET', `/interns/${borrower.id}/effective-secrets`)).body;
    const names = data.map(({ name }: Json) => name);
    expect(names).toContain(own);
    expect(names).not.toContain(lent);
    expect(await release(borrower.id, 'l.example')).toEqual(['own']);
    const { interns } = gateway.gateway.storage;
    expect(await findHolder(interns, borrower)).toMatchObject({ ignoredVaultId: lender.vaultId });
  });

  it('have placeholders that only this intern can use', async () => {
    const [one, two] = [await addIntern(), await addIntern()];
    const name = unique();
    await put(`/secrets/${name}`, 'v', ['p.example']);
    const open = ({ id, vaultId }: Intern) =>
      createSecretRelease(vaultParts(), { internId: id, workspaceId: main, vaultId, attachedVaultId: null });
    const placeholder = (await open(one).listPlaceholders()).find((each) => each.name === name)!;
    expect(writeSecretVariables([placeholder])).toEqual({
      [`HEADGATE_SECRET_${name.toUpperCase()}`]: expect.stringMatching(new RegExp(`^hgsecret_${name}__[0-9a-f]{32}$`)),
    });
    expect(await open(one).release('p.example', [placeholder.placeholder])).toHaveLength(1);
    expect(await open(two).release('p.example', [placeholder.placeholder])).toEqual([]);
    expect(await open(one).release('p.example', [])).toEqual([]);
  });

  it('can be created twice, in a workspace that exists', async () => {
    const { vaultId } = await addIntern();
    const vaults = createInternVaults(vaultParts());
    await vaults.create({ vaultId, internId: 'x', workspaceId: main }); // again
    await expect(vaults.create({ vaultId: randomUUID(), internId: 'x', workspaceId: 'none' })).rejects.toThrow();
  });
});

describe('a changed database', () => {
  it('gives a 500 without garbage, and nothing to any host', async () => {
    const { id, vaultId } = await addIntern();
    await put(`/interns/${id}/secrets/a`, 'v', ['a.example']);
    const { vaults } = gateway.gateway.storage;
    const [row] = await vaults.findSecrets(vaultId, ['a']);
    expect(row).toBeDefined();
    using db = new DatabaseSync(`${gateway.dataDir}/headgate.db`, { timeout: patient(10_000) });
    const update = (change: string) => db.prepare(`update ${change} where vault_id = ?`).run(vaultId);
    update(`vault_secrets set hosts = '["a.example","evil.example"]'`);
    await expect(release(id, 'evil.example')).rejects.toThrow('damaged');
    update("vault_keys set wrapped = 'A' || substr(wrapped, 3)");
    const answer = await put(`/interns/${id}/secrets/b`, 'v');
    expect([answer.status, JSON.stringify(answer.body).includes(vaultId)]).toEqual([500, false]);
  });
});

it('another master key is a 503 for vaults, and the rest works', async () => {
  const first = await testGateway({ secrets: { master_key: 'the first master key of a gateway' } });
  const put = (to: TestGateway) => to.send('PUT', '/vault/secrets/a', { value: 'v', hosts: ['a.example'] });
  expect((await put(first)).status).toBe(200);
  await first.close({ keepData: true });
  const interns = { enabled: false };
  const second = await testGateway({ secrets: { master_key: 'another master key of the gateway' } }, first.dataDir);
  const locked = await put(second);
  expect(locked.status).toBe(503);
  expect(await locked.text()).toContain('another master key');
  expect((await second.get('/vault/secrets')).status).toBe(200);
  await second.reload({ secrets: { master_key: 'another master key of the gateway' }, interns });
  const hidden = await second.get('/vault/secrets');
  expect([hidden.status, ((await hidden.json()) as Json).error.code]).toEqual([404, 404]);
  await second.close();
});
