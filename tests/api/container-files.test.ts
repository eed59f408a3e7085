import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nameContainerObject } from '../../src/management/containers/entry-content.ts';
import { openDiskObjects } from '../../src/platform/objects/disk/disk-objects.ts';
import type { ContainerEntry } from '../../src/platform/storage/ports/containers.ts';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/test-gateway.ts';
import { createPdf } from '../../src/testing/sample-files.ts';
import { expectIssues, type Json, main, manage } from './manage.ts';

const otherKey = 'test-other-workspace-key-1';
const noLimits = { bytes: Number.MAX_SAFE_INTEGER, entries: Number.MAX_SAFE_INTEGER };

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({
    files: { max_bytes: 200_000 },
    bootstrap: { keys: [{ key: otherKey, name: 'elsewhere', workspace: 'other', acts_as: 'organization' }] },
  });
});
afterAll(() => gateway.close());
const request = manage(() => gateway);
const ask = (method: string, path: string, body?: unknown, key: string | null = testKeys.key) =>
  request(method, path, body, key);

const toText = (text: string): string => Buffer.from(text).toString('latin1');
const idOf = (path: string | Buffer): string => `cfile_${Buffer.from(path).toString('base64url')}`;

/** Saves files as a command in the container does. */
async function save(id: string, files: Record<string, string | Buffer>, more: Partial<ContainerEntry>[] = []) {
  const { containers } = gateway.gateway.storage;
  const { key } = (await containers.useContainer(main, id, randomUUID(), Date.now()))!;
  const token = randomUUID();
  const atMs = Date.now();
  const times = { startedAtMs: atMs, untilMs: atMs + 60_000 };
  await containers.acquireLease({
    token,
    containerKey: key,
    compute: token,
    holder: token,
    policy: '',
    maxHeld: 1,
    ...times,
  });
  const object = randomUUID();
  const entry = { kind: 'file', mode: 0o644, modifiedAtMs: atMs, target: null, bytes: 0, content: null } as const;
  let offset = 0;
  const contents = Object.values(files).map((content) => Buffer.from(content));
  const entries: ContainerEntry[] = Object.keys(files).map((path, index) => {
    const { length } = contents[index]!;
    offset += length;
    return {
      ...entry,
      path: toText(path),
      bytes: length,
      content: length ? { object, offset: offset - length } : null,
    };
  });
  if (offset > 0) {
    const objects = openDiskObjects(join(gateway.dataDir, 'files'));
    await objects.put(
      nameContainerObject(key, object),
      (async function* () {
        yield* contents;
      })(),
    );
  }
  const all = [...entries, ...more.map((fields) => ({ ...entry, path: 'x', ...fields }))];
  await containers.saveEntries({ containerKey: key, token, entries: all, deleted: [], atMs, limits: noLimits });
  const remove = (paths: string[]) =>
    containers.saveEntries({
      containerKey: key,
      token,
      entries: [],
      deleted: paths.map(toText),
      atMs,
      limits: noLimits,
    });
  return { key, object, remove };
}

const list = async (id: string, query = '', key = testKeys.key) =>
  ask('GET', `/containers/${id}/files${query}`, undefined, key);
const pathsOf = ({ body }: { body: Json }): string[] =>
  (body as { data: { path: string }[] }).data.map(({ path }) => path);
const download = (path: string, headers: Record<string, string> = {}) => gateway.get(path, { headers });

describe('GET /containers/{container_id}/files', () => {
  it('lists the files of a container by the bytes of their paths', async () => {
    await save('sess_a', { b: 'bb', 'a/b.csv': 'a,b', 'a-b': '', é: '1', '\uffee': '2', '📦': '3' });
    const { status, body } = await list('sess_a');
    expect(status).toBe(200);
    const paths = ['a-b', 'a/b.csv', 'b', 'é', '\uffee', '📦'];
    expect(body).toEqual({
      object: 'list',
      data: paths.map((path) => ({
        id: idOf(path),
        object: 'container.file',
        container_id: 'sess_a',
        path,
        source: 'assistant',
        bytes: expect.any(Number),
        created_at: expect.any(Number),
      })),
      first_id: idOf('a-b'),
      last_id: idOf('📦'),
      has_more: false,
    });
    const [first] = (body as { data: { created_at: number; bytes: number }[] }).data.slice(1);
    expect(first!.bytes).toBe(3);
    expect(Math.abs(first!.created_at - Date.now() / 1000)).toBeLessThan(60);
  });

  it('goes on after the last id, or after any id', async () => {
    await save('pages', { a: '1', b: '2', c: '3' });
    const first = await list('pages', '?limit=2');
    expect(first.body).toMatchObject({ first_id: idOf('a'), last_id: idOf('b'), has_more: true });
    const rest = await list('pages', `?after=${idOf('b')}`);
    expect(rest.body).toMatchObject({ first_id: idOf('c'), last_id: idOf('c'), has_more: false });
    expect(pathsOf(await list('pages', `?after=${idOf('aa')}`))).toEqual(['b', 'c']); // no such file
    expect((await list('pages', `?after=${idOf('c')}`)).body).toEqual({
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
  });

  it('shows neither folders, links, deleted files nor names that are not UTF-8', async () => {
    const { remove } = await save('hidden', { a: '1', gone: '2', z: '3' }, [
      { path: 'folder', kind: 'folder' },
      { path: 'link', kind: 'link', target: 'a' },
      { path: 'bad \xff' },
    ]);
    await remove(['gone']);
    expect(pathsOf(await list('hidden'))).toEqual(['a', 'z']);
    for (const path of ['gone', 'folder', 'link', Buffer.from('bad \xff', 'latin1')]) {
      expect((await ask('GET', `/containers/hidden/files/${idOf(path)}`)).status).toBe(404);
    }
  });

  it('ends a page after 10,000 hidden entries, where the next one goes on', async () => {
    const names = Array.from({ length: 10_050 }, (_, index) => `h${String(index).padStart(5, '0')}`);
    await save('bound', { a: '1', z: '2' });
    for (let at = 0; at < names.length; at += 2000) {
      await save(
        'bound',
        {},
        names.slice(at, at + 2000).map((path) => ({ path, kind: 'folder' })),
      );
    }
    const first = await list('bound', '?limit=5');
    expect(pathsOf(first)).toEqual(['a']);
    expect(first.body).toMatchObject({ last_id: idOf('h09998'), has_more: true, first_id: idOf('a') });
    const next = await list('bound', `?limit=5&after=${idOf('h09998')}`);
    expect(pathsOf(next)).toEqual(['z']);
    expect(next.body).toMatchObject({ last_id: idOf('z'), has_more: false });
    const none = await list('bound', `?limit=5&after=${idOf('a')}`);
    expect(none.body).toEqual({ object: 'list', data: [], first_id: null, last_id: idOf('h09999'), has_more: true });
  });

  it('is empty for a container that does not exist, or belongs to another workspace', async () => {
    await save('private', { a: '1' });
    const empty = { object: 'list', data: [], first_id: null, last_id: null, has_more: false };
    expect(await list('none')).toMatchObject({ status: 200, body: empty });
    expect(await list('private', '', otherKey)).toMatchObject({ status: 200, body: empty });
    expect((await ask('GET', `/containers/private/files/${idOf('a')}`, undefined, otherKey)).status).toBe(404);
  });

  it.each([
    ['?limit=0', 'limit'],
    ['?limit=1001', 'limit'],
    ['?limit=ten', 'limit'],
    ['?after=a', 'after'],
    ['?after=cfile_', 'after'],
    ['?after=cfile_YQ==', 'after'],
    ['?after=cfile_YR', 'after'],
    ['?after=cfile_Y Q', 'after'],
  ])('rejects %s', async (query, path) => {
    const response = await list('c', query);
    expectIssues(response, { [path]: '' });
  });

  it('ignores unknown parameters, which clients add', async () => {
    expect((await list('c', '?page=2')).status).toBe(200);
  });

  it.each(['a.b', 'x'.repeat(41), 'a%20b', 'a%2fb'])('rejects the container id %s', async (id) => {
    expectIssues(await list(id), { container_id: '1 to 40' });
  });

  it('needs an inference key', async () => {
    for (const path of ['', `/${idOf('a')}`, `/${idOf('a')}/content`]) {
      expect((await gateway.get(`/containers/c/files${path}`, { key: testKeys.managementKey })).status).toBe(401);
      expect((await gateway.get(`/containers/c/files${path}`, { key: null })).status).toBe(401);
    }
    const promote = `/containers/c/files/${idOf('a')}/promote`;
    expect((await gateway.send('POST', promote, undefined, { key: testKeys.managementKey })).status).toBe(401);
  });

  it('lists every file exactly once while others change', async () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }).filter((path) => path.isWellFormed());
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(name, { minLength: 1, maxLength: 20 }),
        fc.array(fc.uniqueArray(name, { maxLength: 4 }), { maxLength: 6 }),
        fc.integer({ min: 1, max: 6 }),
        async (names, writes, limit) => {
          const id = `run_${runs++}`;
          const stable = names.map((path) => `s-${path}`);
          await save(id, Object.fromEntries(stable.map((path) => [path, ''])));
          const found: string[] = [];
          let query = `?limit=${limit}`;
          for (let turn = 0; query !== ''; turn++) {
            const page = await list(id, query);
            found.push(...pathsOf(page));
            const { has_more: hasMore, last_id: lastId } = page.body as { has_more: boolean; last_id: string };
            query = hasMore ? `?limit=${limit}&after=${lastId}` : '';
            const moving = (writes[turn] ?? []).map((path) => `m-${path}`);
            const { remove } = await save(id, Object.fromEntries(moving.map((path) => [path, ''])));
            if (turn % 2 === 1) await remove(moving);
          }
          expect(new Set(found).size).toBe(found.length);
          expect(found.filter((path) => path.startsWith('s-')).toSorted()).toEqual(stable.toSorted());
        },
      ),
      { numRuns: 15 },
    );
  });
});

describe('one file of a container', () => {
  it('is described', async () => {
    await save('one', { 'out/a.txt': 'text' });
    const { status, body } = await ask('GET', `/containers/one/files/${idOf('out/a.txt')}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      id: idOf('out/a.txt'),
      object: 'container.file',
      container_id: 'one',
      path: 'out/a.txt',
      bytes: 4,
      created_at: expect.any(Number),
      source: 'assistant',
    });
  });

  it('is found with the longest path', async () => {
    const path = `${'long name/'.repeat(199)}a`;
    await save('long', { [path]: '1' });
    expect(await ask('GET', `/containers/long/files/${idOf(path)}`)).toMatchObject({ status: 200, body: { path } });
    expect(pathsOf(await list('long', `?after=${idOf(`${path.slice(0, -1)}Z`)}`))).toEqual([path]);
  });

  it.each([
    ['cfile_YQ==', 400],
    ['a', 400],
    ['cfile_', 400],
    [idOf('none'), 404],
    [idOf('../../etc/passwd'), 404],
    [idOf('/etc/passwd'), 404],
    [idOf('a\0'), 404],
    [idOf('./a'), 404],
    [idOf('a/'), 404],
    [idOf(Buffer.from([0xff])), 404],
  ])('%s is a %i', async (id, status) => {
    await save('rules', { a: '1' });
    for (const suffix of ['', '/content']) {
      expect((await ask('GET', `/containers/rules/files/${id}${suffix}`)).status).toBe(status);
    }
    expect((await ask('POST', `/containers/rules/files/${id}/promote`)).status).toBe(status);
  });
});

describe('the content of a file of a container', () => {
  const content = 'zero one two three';
  const url = `/containers/data/files/${idOf('dir/ä "b".txt')}/content`;
  beforeAll(() => save('data', { before: 'xxxx', 'dir/ä "b".txt': content, after: 'yyyy' }));

  it('is sent with its length, as an attachment', async () => {
    const response = await download(url);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(content);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-length': '18',
      'content-disposition': `attachment; filename*=UTF-8''%C3%A4%20%22b%22.txt`,
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
      etag: expect.stringMatching(/^"\d+"$/),
    });
  });

  it.each([
    ['bytes=5-7', 'one', 'bytes 5-7/18'],
    ['bytes=13-', 'three', 'bytes 13-17/18'],
    ['bytes=-5', 'three', 'bytes 13-17/18'],
    ['bytes=13-999', 'three', 'bytes 13-17/18'],
  ])('is sent in the range %s', async (range, text, shown) => {
    const response = await download(url, { range });
    expect(response.status).toBe(206);
    expect(await response.text()).toBe(text);
    expect(response.headers.get('content-range')).toBe(shown);
    expect(response.headers.get('content-length')).toBe(String(text.length));
  });

  it('is a 416 beyond its end', async () => {
    const response = await download(url, { range: 'bytes=18-' });
    expect(response.status).toBe(416);
    expect(response.headers.get('content-range')).toBe('bytes */18');
    expect(await response.json()).toMatchObject({ error: { code: 416 } });
  });

  it('is whole for several ranges, and if the file was changed since then', async () => {
    const tag = (await download(url)).headers.get('etag')!;
    const get = async (headers: Record<string, string>) => (await download(url, headers)).status;
    expect(await get({ range: 'bytes=0-1,4-5' })).toBe(200);
    expect(await get({ range: 'bytes=0-1', 'if-range': '"0"' })).toBe(200);
    expect(await get({ range: 'bytes=0-1', 'if-range': tag })).toBe(206);
  });

  it('has a type that no browser runs', async () => {
    const large = 'ä'.repeat(50_000);
    await save('types', {
      'page.html': '<script>alert(1)</script>',
      'image.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
      'data.json': '{}',
      'program.bin': Buffer.from([0, 1, 2, 255]),
      'report.pdf': createPdf([['text']]),
      empty: '',
      'large.txt': large,
      'mixed.txt': Buffer.concat([Buffer.from(large), Buffer.from([0])]),
    });
    const types: Record<string, string | null> = {};
    for (const path of pathsOf(await list('types'))) {
      const response = await download(`/containers/types/files/${idOf(path)}/content`);
      types[path] = response.headers.get('content-type');
      await response.body?.cancel();
    }
    expect(types).toEqual({
      'page.html': 'text/plain; charset=utf-8',
      'image.svg': 'text/plain; charset=utf-8',
      'data.json': 'application/json',
      'program.bin': 'application/octet-stream',
      'report.pdf': 'application/pdf',
      empty: 'text/plain; charset=utf-8',
      'large.txt': 'text/plain; charset=utf-8',
      'mixed.txt': 'application/octet-stream',
    });
  });

  it('is a 503 if this host does not have it', async () => {
    const { key, object } = await save('lost', { a: 'text' });
    await openDiskObjects(join(gateway.dataDir, 'files')).remove(nameContainerObject(key, object));
    const { status, body } = await ask('GET', `/containers/lost/files/${idOf('a')}/content`);
    expect(status).toBe(503);
    expect(JSON.stringify(body)).toContain('files.url');
  });
});

describe('POST /containers/{container_id}/files/{file_id}/promote', () => {
  const promote = (id: string, path: string, key = testKeys.key) =>
    ask('POST', `/containers/${id}/files/${idOf(path)}/promote`, undefined, key);

  it('copies the file to the files of the workspace', async () => {
    const { remove } = await save('made', { 'out/report.csv': 'a,b\n', 'raw.bin': Buffer.from([0, 255]), empty: '' });
    const { status, body } = await promote('made', 'out/report.csv');
    expect(status).toBe(200);
    expect(body).toEqual({
      id: expect.stringMatching(/^file_w/),
      type: 'file',
      filename: 'out/report.csv',
      mime_type: 'text/csv',
      size_bytes: 4,
      created_at: expect.any(String),
      downloadable: true,
    });
    const url = `/containers/made/files/${idOf('empty')}/promote`;
    expect((await ask('POST', url, {})).status).toBe(200);
    expect(await ask('POST', url, { filename: 'other' })).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('filename') } },
    });
    await remove(['out/report.csv']);
    const copy = await download(`/files/${(body as { id: string }).id}/content`);
    expect(await copy.text()).toBe('a,b\n');
    expect((await promote('made', 'out/report.csv')).status).toBe(404);
    expect((await promote('made', 'raw.bin')).body).toMatchObject({ mime_type: 'application/octet-stream' });
    expect((await promote('made', 'empty')).body).toMatchObject({ size_bytes: 0 });
  });

  it('refuses a file that is too large, and a name that no file of a workspace can have', async () => {
    await save('limits', { large: 'x'.repeat(200_001), 'a:b': '1' });
    expect((await promote('limits', 'large')).status).toBe(413);
    const named = await promote('limits', 'a:b');
    expect(named.status).toBe(400);
    expect(JSON.stringify(named.body)).toContain('a:b');
  });
});

describe('requests for the files of containers', () => {
  it('count for the rate limit of the key, and one over it is a 429', async () => {
    await save('limited', { 'a.txt': 'a' });
    const path = '/containers/limited/files';
    const created = await ask(
      'POST',
      '/keys',
      { name: 'limited', workspace_id: main, creator_user_id: 'ada' },
      gateway.managementKey,
    );
    const { key, data } = created.body as unknown as { key: string; data: { hash: string } };
    const limits = { requests_per_minute: 4 };
    await ask('PATCH', `/keys/${data.hash}`, limits, gateway.managementKey);
    const file = `${path}/${idOf('a.txt')}`;
    const statuses = [];
    for (const each of [path, `${file}x`, file, `${file}/content`, path, path, file, `${file}/content`])
      statuses.push((await gateway.get(each, { key })).status);
    expect(statuses).toEqual([200, 404, 200, 200, 200, 429, 429, 429]);
    const response = await gateway.get(path, { key });
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(response.headers.get('x-ratelimit-limit')).toBe('4');
    expect(await response.json()).toMatchObject({ error: { code: 429 } });
  });
});
