import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sweepFiles } from '../../src/management/files/sweep-files.ts';
import { openDiskObjects } from '../../src/platform/objects/disk/disk-objects.ts';
import { createDocx, createPdf, createPptx, createXlsx } from '../../src/testing/sample-files.ts';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/test-gateway.ts';
import { auditOf, expectIssues, type Json, main, manage, other } from './manage.ts';
import { bundleSource } from '../setup/bundle-source.ts';

const bundledSource = await bundleSource();

const otherKey = 'test-other-workspace-key-1';
const limits = { max_bytes: 200_000, workspace_bytes: 1_000_000, workspace_files: 40, parallel_uploads: 4 };

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({
    files: limits,
    bootstrap: { keys: [{ key: otherKey, name: 'elsewhere', workspace: 'other', acts_as: 'organization' }] },
  });
});
afterAll(() => gateway.close());
const ask = manage(() => gateway);

type Content = string | Uint8Array;
interface UploadHow {
  key?: string;
  query?: string;
  fields?: Record<string, string>;
  headers?: Record<string, string>;
  on?: TestGateway;
}

async function upload(filename: string, content: Content, how: UploadHow = {}) {
  const { key = testKeys.key, query = '', fields = {}, headers = {}, on = gateway } = how;
  const form = new FormData();
  form.append('file', new File([content as string], filename), filename);
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  const response = await fetch(`${on.baseUrl}/files${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...headers },
    body: form,
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
}

const get = (path: string, key = testKeys.key) => ask('GET', path, undefined, key);

describe('the files of a workspace', () => {
  it('are uploaded, found, listed and deleted', async () => {
    const { status, body } = await upload('reports/q1.csv', 'a,b\n1,2\n');
    expect(status).toBe(200);
    expect(body).toEqual({
      id: expect.stringMatching(/^file_w[0-9A-Za-z]{24}$/),
      type: 'file',
      filename: 'reports/q1.csv',
      mime_type: 'text/csv',
      size_bytes: 8,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      downloadable: false,
    });
    expect((await get(`/files/${body.id}`)).body).toEqual(body);
    expect((await get('/files')).body.data).toContainEqual(body);

    expect((await ask('DELETE', `/files/${body.id}`, undefined, testKeys.key)).body).toEqual({
      id: body.id,
      type: 'file_deleted',
    });
    for (const method of ['GET', 'DELETE']) {
      const gone = await ask(method, `/files/${body.id}`, undefined, testKeys.key);
      expect(gone.status).toBe(404);
      expect(gone.body.error.message).toBe(`There is no file "${body.id}" in this workspace.`);
    }
    expect(listObjects(gateway.dataDir).filter((name) => name.startsWith(body.id))).toEqual([]);
  });

  it('are recorded in the audit log', async () => {
    const { body } = await upload('audited.txt', 'text');
    await ask('DELETE', `/files/${body.id}`, undefined, testKeys.key);
    const entries = await auditOf(ask, 2);
    expect(entries.map(({ action, object_id: id }) => [action, id])).toEqual([
      ['file.delete', body.id],
      ['file.create', body.id],
    ]);
    expect(entries[1]).toMatchObject({
      workspace_id: main,
      actor_key_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      changes: { filename: { before: null, after: 'audited.txt' }, size_bytes: { before: null, after: 4 } },
    });
  });

  it('are in pages, the oldest first', async () => {
    const added: string[] = [];
    for (const name of ['1', '2', '3', '4', '5']) {
      added.push((await upload(`${name}.txt`, name, { key: otherKey })).body.id);
    }
    const read = async (query: string) => (await get(`/files?${query}`, otherKey)).body;
    const ids = (page: Json): string[] => page.data.map(({ id }: Json) => id);

    expect(ids(await read('limit=1000&order=asc'))).toEqual(added);
    expect(ids(await read('order=desc&purpose=user_data&beta=true&name=x'))).toEqual(added.toReversed());
    expect(ids(await read(`order=desc&limit=1&after=${added[2]}`))).toEqual([added[1]]);
    expect(ids(await read('purpose=vision'))).toEqual([]);
    const first = await read('limit=2');
    expect(first).toMatchObject({ first_id: added[0], last_id: added[1], has_more: true, cursor: added[1] });
    expect(ids(await read(`limit=2&cursor=${first.cursor}`))).toEqual(added.slice(2, 4));
    const last = await read(`after=${added[3]}`);
    expect(last).toMatchObject({ first_id: added[4], last_id: added[4], has_more: false, cursor: null });
    expect(await read(`after_id=${added[4]}`)).toEqual({
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
      cursor: null,
    });
    await ask('DELETE', `/files/${added[1]}`, undefined, otherKey);
    expect(ids(await read(`after=${added[1]}`))).toEqual(added.slice(2)); // it need not exist
    for (const id of added) await ask('DELETE', `/files/${id}`, undefined, otherKey);
  });

  it.each([
    ['limit=0', 'limit', 'an integer from 1 to 1000'],
    ['limit=1001', 'limit', 'an integer from 1 to 1000'],
    ['order=new', 'order', 'one of asc, desc'],
    ['before_id=file_w1', 'before_id', 'Use after_id, or order=desc.'],
    ['cursor=file_w1&after=file_w2', 'after', 'together with cursor'],
    ['after=%2F', 'after', 'the id of a file'],
    ['workspace_id=main', 'workspace_id', 'a UUID'],
    ['provider=acme', 'provider', 'one of openai, anthropic'],
    ['purpose=A%20b', 'purpose', 'the purpose of files'],
  ])('rejects the query %s', async (query, path, says) => {
    expectIssues(await get(`/files?${query}`), { [path]: says });
  });

  it('belong to one workspace', async () => {
    const { body } = await upload('mine.txt', 'mine');
    for (const path of [`/files/${body.id}`, `/files/${body.id}/content`]) {
      expect((await get(path, otherKey)).status).toBe(404);
    }
    expect((await ask('DELETE', `/files/${body.id}`, undefined, otherKey)).status).toBe(404);
    expect((await get('/files', otherKey)).body.data).toEqual([]);
    expect((await get(`/files/${body.id}?workspace_id=${main.toUpperCase()}`)).status).toBe(200);

    const foreign = await get(`/files?workspace_id=${main}`, otherKey);
    expect(foreign.status).toBe(403);
    expect(foreign.body.error.message).toContain('another workspace');
    expect((await upload('x.txt', 'x', { key: otherKey, query: `?workspace_id=${main}` })).status).toBe(403);
  });

  it('are all open to a management key, which names the workspace', async () => {
    const { body } = await upload('managed.txt', 'x', { key: testKeys.managementKey, query: `?workspace_id=${other}` });
    expect((await get(`/files/${body.id}`, otherKey)).status).toBe(200);
    expect((await get(`/files/${body.id}?workspace_id=${other}`, testKeys.managementKey)).status).toBe(200);
    const unknown = '00000000-0000-4000-8000-0000000000ff';
    expect((await get(`/files?workspace_id=${unknown}`, testKeys.managementKey)).status).toBe(404);
    await ask('DELETE', `/files/${body.id}?workspace_id=${other}`, undefined, testKeys.managementKey);
    expect((await get(`/files/${body.id}`, otherKey)).status).toBe(404);
  });

  it('need a key', async () => {
    expect((await ask('GET', '/files', undefined, null)).status).toBe(401);
    expect((await upload('x.txt', 'x', { key: 'unknown' })).status).toBe(401);
  });

  it('cannot be downloaded if they were uploaded', async () => {
    const { body } = await upload('secret.txt', 'text');
    const { status, body: refusal } = await get(`/files/${body.id}/content`);
    expect(status).toBe(400);
    expect(refusal.error.message).toContain('uploaded files cannot be downloaded');
  });

  it('are downloaded if the gateway made them', async () => {
    const { objects, id } = await addGenerated(gateway, 'out/Zürich (1).csv', 'a,b\n');
    const response = await gateway.get(`/files/${id}/content`);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('a,b\n');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-length': '4',
      'content-disposition': "attachment; filename*=UTF-8''Z%C3%BCrich%20%281%29.csv",
      'x-content-type-options': 'nosniff',
    });
    await objects.remove(`files/${main}/${id}`);
    const lost = await get(`/files/${id}/content`);
    expect(lost.status).toBe(503);
    expect(lost.body.error.message).toContain('set files.url to an S3 bucket, or to a folder that all of them share');
  });
});

describe('the type of a file', () => {
  const bytes = (text: string) => Buffer.from(text, 'latin1');
  it.each<[string, Content | Promise<Content>, string]>([
    ['a.pdf', createPdf([['text']]), 'application/pdf'],
    ['led.bin', bytes('\xff\x00lead%PDF-1.7'), 'application/pdf'],
    ['a.png', bytes('\x89PNG\r\n\x1a\nrest\0'), 'image/png'],
    ['a.jpg', bytes('\xff\xd8\xff\xe0rest'), 'image/jpeg'],
    ['a.gif', bytes('GIF89arest\xff'), 'image/gif'],
    ['a.webp', bytes('RIFF\0\0\0\0WEBPrest'), 'image/webp'],
    ['a.wav', bytes('RIFF\0\0\0\0WAVErest'), 'audio/wav'],
    ['a.flac', bytes('fLaC\0\xff'), 'audio/flac'],
    ['a.ogg', bytes('OggS\0\xff'), 'audio/ogg'],
    ['tagged.mp3', bytes('ID3\x04\0\xff'), 'audio/mpeg'],
    ['frames.mp3', bytes('\xff\xfb\x90\x64\0\0'), 'audio/mpeg'],
    ['a.docx', createDocx('<w:p/>'), 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    ['a.xlsx', createXlsx({ Sheet: '<row/>' }), 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
    ['a.pptx', createPptx([]), 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
    ['a.json', '{}', 'application/json'],
    ['a.ndjson', '{}\n{}', 'application/x-ndjson'],
    ['a.JSONL', '{}', 'application/x-ndjson'],
    ['a.csv', 'a', 'text/csv'],
    ['a.md', '# a', 'text/markdown'],
    ['a.txt', 'Grüezi 📦', 'text/plain'],
    ['unnamed', ' {"a": [1]}', 'application/json'],
    ['unfinished', '{"a": ', 'text/plain'],
    ['image.png', 'not an image', 'text/plain'],
  ])('of %s follows from its content', async (filename, content, expected) => {
    const { status, body } = await upload(filename, await content);
    expect(body).toMatchObject({ mime_type: expected });
    expect(status).toBe(200);
    await ask('DELETE', `/files/${body.id}`, undefined, testKeys.key);
  });

  it.each<[string, Content]>([
    ['a zip archive', bytes('PK\x03\x04'.padEnd(100, '\0'))],
    ['a program', bytes('\x7fELF\x02\x01\x01\0')],
    ['Latin-1 text', bytes('Gr\xfcezi')],
    ['text with NUL', 'a\0b'],
    ['text that ends in half a character', bytes('abc\xf0\x9f')],
    ['UTF-16', bytes('\xff\xfea\0b\0')],
    ['a large binary file', Buffer.alloc(150_000, 1).fill(0xff, 90_000)],
  ])('is rejected for %s', async (_, content) => {
    const before = (await get('/files')).body.data.length;
    const answer = await upload('file.bin', content);
    expectIssues(answer, { file: 'is not accepted; PDF, PNG' });
    expect((await get('/files')).body.data).toHaveLength(before);
    expect(readdirSync(join(gateway.dataDir, 'files/incoming'))).toEqual([]);
  });

  it('detects a large text whose characters are cut between pieces', async () => {
    const { body } = await upload('large.txt', '📦ü'.repeat(30_000));
    expect(body).toMatchObject({ mime_type: 'text/plain', size_bytes: 180_000 });
    await ask('DELETE', `/files/${body.id}`, undefined, testKeys.key);
  });
});

describe('limits of files', () => {
  it('rejects an empty file', async () => {
    expectIssues(await upload('empty.txt', ''), { file: 'is empty' });
  });

  it('rejects a file that is too large, with and without a declared length', async () => {
    const over = await upload('large.txt', 'x'.repeat(limits.max_bytes + 1));
    expect(over.status).toBe(413);
    expect(over.body.error.message).toBe('The file is larger than 200000 bytes (files.max_bytes).');
    expect((await upload('large.txt', 'x'.repeat(500_000))).status).toBe(413);
    const streamed = await sendForm(endless('x'));
    expect(streamed.status).toBe(413);
    expect(readdirSync(join(gateway.dataDir, 'files/incoming'))).toEqual([]);
  });

  it('rejects files beyond the size of a workspace, also in parallel', async () => {
    const lab = await testGateway({ files: { workspace_bytes: 1500 } });
    const results = await Promise.all([1, 2, 3].map(() => upload('half.txt', 'x'.repeat(700), { on: lab })));
    expect(results.map(({ status }) => status).toSorted()).toEqual([200, 200, 403]);
    const refusal = await upload('more.txt', 'x'.repeat(101), { on: lab });
    expect(refusal.status).toBe(403);
    expect(refusal.body.error.message).toContain('would exceed 1500 bytes (files.workspace_bytes)');
    expect((await upload('fits.txt', 'x'.repeat(100), { on: lab })).status).toBe(200);
    expect(listObjects(lab.dataDir)).toHaveLength(3);
    await lab.close();
  });

  it('rejects files beyond their number', async () => {
    const lab = await testGateway({ files: { workspace_files: 1 } });
    expect((await upload('a.txt', 'x', { on: lab })).status).toBe(200);
    const refusal = await upload('b.txt', 'x', { on: lab });
    expect(refusal.status).toBe(403);
    expect(refusal.body.error.message).toContain('has 1 files (files.workspace_files)');
    await lab.close();
  });

  it('rejects more uploads at once than a process receives', async () => {
    const refuse = async (key: string, says: string) => {
      const { status, headers, body } = await upload('another.txt', 'x', { key });
      expect({ status, after: headers.get('retry-after') }).toEqual({ status: 429, after: '1' });
      expect(body.error.message).toContain(says);
    };
    const begun = async (forms: ReturnType<typeof openForm>[], files: number) => {
      await Promise.all(forms.map(({ write }) => write()));
      await expect.poll(() => readdirSync(join(gateway.dataDir, 'files/incoming'))).toHaveLength(files);
    };
    const slow = [openForm(), openForm(), openForm()];
    await begun(slow, 3);
    await refuse(testKeys.key, 'receives 3 uploads of your workspace');
    expect((await upload('another.txt', 'x', { key: otherKey })).status).toBe(200);
    slow.push(openForm(gateway.baseUrl, otherKey));
    await begun(slow.slice(3), 4);
    await refuse(otherKey, 'receives 4 uploads (');
    expect((await Promise.all(slow.map(({ end }) => end()))).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await upload('third.txt', 'x')).status).toBe(200);
  });

  it.each([
    ['/a.txt', 'begins or ends with /'],
    ['a/', 'begins or ends with /'],
    ['a//b', 'the segment ""'],
    ['a/../b', 'the segment ".."'],
    ['./a', 'the segment "."'],
    ['a<b', 'contains "<"'],
    ['a?b', 'contains "?"'],
    ['a\\b', 'contains "\\\\"'],
    ['a\tb', 'contains U+0009'],
    ['invoice\u202efdp.txt', '"invoice\\u202efdp.txt" contains U+202E; '],
    ['a\u2028b.txt', 'contains U+2028'],
    ['a\u200bb.txt', 'contains U+200B'],
    ['\ufeffa.txt', 'contains U+FEFF'],
    ['x'.repeat(256), 'has 256 characters'],
  ])('rejects the name %j', async (filename, says) => {
    expectIssues(await upload(filename, 'x'), { file: says });
  });

  it('accepts a name of 255 characters beyond ASCII', async () => {
    for (const filename of [`${'ü'.repeat(251)}.txt`, '👨‍👩‍👧 می‌خواهم.txt']) {
      const { status, body } = await upload(filename, 'x');
      expect([status, body.filename]).toEqual([200, filename]);
    }
  });
});

describe('the form of an upload', () => {
  const part = (disposition: string, content: string) =>
    `--b\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;
  const file = part('name="file"; filename="a.txt"', 'text');

  it.each([
    ['no file', part('name="purpose"', 'user_data'), 'has no part named file'],
    ['a file in another part', part('name="data"; filename="a.txt"', 'x'), 'in the part "data"; name it file'],
    ['a file without a name', part('name="file"', 'x'), 'has no filename'],
    ['two files', file + file, 'several files'],
    ['an unknown field', file + part('name="color"', 'red'), 'no such field'],
    ['a field for the end of files', file + part('name="expires_after[anchor]"', 'x'), 'files do not expire'],
    ['a repeated field', file + part('name="purpose"', 'a') + part('name="purpose"', 'b'), 'is repeated'],
    ['an invalid purpose', part('name="purpose"', 'A B') + file, 'lower-case letters'],
    [
      'too many fields',
      [...'abcdefghijklmnopqrst'].map((name) => part(`name="${name}"`, '')).join('') + file,
      'too many',
    ],
    ['a large field', part('name="purpose"', 'x'.repeat(5000)) + file, 'more than 4096 bytes'],
  ])('is rejected with %s', async (_, parts, says) => {
    const before = (await get('/files')).body.data.length;
    const answer = await sendForm([`${parts}--b--\r\n`]);
    expect(answer.status, answer.text).toBe(400);
    expect(JSON.parse(answer.text).error.message).toContain(says);
    expect((await get('/files')).body.data).toHaveLength(before);
  });

  it('is rejected if it ends early, and nothing is stored', async () => {
    const before = (await get('/files')).body.data.length;
    for (const cut of [file.slice(0, -3), file, 'nothing like a form']) {
      const answer = await sendForm([cut]);
      expect(answer.status, answer.text).toBe(400);
    }
    expect((await get('/files')).body.data).toHaveLength(before);
    expect(readdirSync(join(gateway.dataDir, 'files/incoming'))).toEqual([]);
  });

  it.each([
    'application/json',
    'multipart/mixed; boundary=b',
    'multipart/form-data',
  ])('is rejected with the content type %s', async (type) => {
    const answer = await sendForm([file], { 'content-type': type });
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text).error.message).toContain('Content-Type');
  });

  it('is rejected if it is compressed', async () => {
    const answer = await sendForm([file], { 'content-encoding': 'gzip' });
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text).error.message).toContain('without compression');
  });

  it('may expect a 100 Continue', async () => {
    const body = `${file}--b--\r\n`;
    const answer = await sendForm([body], { expect: '100-continue', 'content-length': String(body.length) });
    expect(answer.status, answer.text).toBe(200);
  });

  it('leaves nothing if the client disconnects', async () => {
    const before = (await get('/files')).body.data.length;
    const { write, abort } = openForm();
    await write();
    await expect.poll(() => readdirSync(join(gateway.dataDir, 'files/incoming'))).toHaveLength(1);
    abort();
    await expect.poll(() => readdirSync(join(gateway.dataDir, 'files/incoming'))).toEqual([]);
    expect((await get('/files')).body.data).toHaveLength(before);
  });
});

describe('shapes', () => {
  it('are those of Anthropic for requests with its version', async () => {
    const headers = { 'anthropic-version': '2023-06-01', 'x-stainless-lang': 'js' };
    const { body } = await upload('claude.txt', 'text', { headers });
    expect(body).toMatchObject({ type: 'file', mime_type: 'text/plain', size_bytes: 4 });
    const list = await (await gateway.get('/files?limit=1&beta=true', { headers })).json();
    expect(Object.keys(list as object)).toEqual(['data', 'first_id', 'last_id', 'has_more']);
  });

  it('are those of OpenAI for its client', async () => {
    const client = new OpenAI({ apiKey: testKeys.key, baseURL: gateway.baseUrl });
    const file = await toFile(Buffer.from('a,b\n'), 'openai.csv');
    const created = await client.files.create({ file, purpose: 'assistants' });
    expect(created).toMatchObject({
      object: 'file',
      bytes: 4,
      filename: 'openai.csv',
      purpose: 'assistants',
      status: 'processed',
    });
    expect(created.created_at).toBeGreaterThan(1_700_000_000);
    expect(await client.files.retrieve(created.id)).toMatchObject({ id: created.id });
    const listed: string[] = [];
    for await (const each of client.files.list({ limit: 2 })) listed.push(each.id);
    expect(listed).toContain(created.id);
    expect(new Set(listed).size).toBe(listed.length);
    await expect(client.files.content(created.id)).rejects.toThrow('cannot be downloaded');
    expect(await client.files.delete(created.id)).toEqual({ id: created.id, object: 'file', deleted: true });
    await expect(client.files.retrieve(created.id)).rejects.toThrow('There is no file');
  });
});

describe('failures', () => {
  it('leaves nothing after kill -9 in the middle of an upload', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-killed-'));
    try {
      const child = spawn(process.execPath, [join(import.meta.dirname, 'serve-until-killed.ts'), folder, '{}'], {
        stdio: ['pipe', 'pipe', 'inherit'],
        env: { ...process.env, NODE_OPTIONS: bundledSource },
      });
      await once(child.stdout, 'data');
      child.stdin.write('go\n');
      const [url] = (await once(child.stdout, 'data')) as [Buffer];
      const { write, abort } = openForm(`${String(url).trim()}/api/v1`);
      await write();
      await expect.poll(() => list(join(folder, 'files/incoming'))).toHaveLength(1);
      child.kill('SIGKILL');
      await once(child, 'exit');
      abort();
      expect(list(join(folder, 'files/incoming'))).toHaveLength(1);

      const next = await testGateway({}, folder);
      expect(await (await next.get('/files')).json()).toMatchObject({ data: [] });
      expect(list(join(folder, 'files/incoming'))).toEqual([]);
      await next.close({ keepData: true });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('removes contents whose file does not exist, and no others', async () => {
    const lab = await testGateway();
    const { body } = await upload('kept.txt', 'x', { on: lab });
    const folder = join(lab.dataDir, 'files');
    const objects = openDiskObjects(folder);
    for (const key of [`files/${main}/file_wOrphan`, `files/${main}/file_wRecent`, 'containers/x/y']) {
      await objects.put(key, one('x'));
    }
    const old = Date.now() / 1000 - 7200;
    for (const name of ['file_wOrphan%', `${body.id}%`])
      utimesSync(join(folder, 'objects/files', main, name), old, old);
    const removed = await sweepFiles({ files: lab.gateway.storage.files, objects, now: Date.now });
    expect(removed).toBe(1);
    const keys = (await objects.list({ prefix: '', limit: 9 })).map(({ key }) => key);
    expect(keys).toEqual(['containers/x/y', `files/${main}/${body.id}`, `files/${main}/file_wRecent`].toSorted());
    await lab.close();
  });

  it('says that the contents are not available', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-folder-'));
    writeFileSync(join(folder, 'taken'), '');
    const lab = await testGateway({ files: { url: `file:${join(folder, 'taken')}` } });
    const { status, body } = await upload('a.txt', 'x', { on: lab });
    expect(status).toBe(503);
    expect(body.error.message).toContain('The contents of files (files.url) are not available');
    expect((await lab.get('/files')).status).toBe(200);
    await lab.close();
    rmSync(folder, { recursive: true });
  });
});

const list = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);

/** The names of all stored contents. */
const listObjects = (dataDir: string): string[] => list(join(dataDir, 'files/objects/files', main));

async function* one(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

/** Adds a file as a tool does. */
async function addGenerated(lab: TestGateway, filename: string, text: string) {
  const { createFile } = await import('../../src/management/files/create-file.ts');
  const objects = openDiskObjects(join(lab.dataDir, 'files'));
  const parts = {
    files: lab.gateway.storage.files,
    objects,
    limits: () => ({ maxBytes: 1e6, workspaceBytes: 1e6, workspaceFiles: 99 }),
    now: Date.now,
  };
  const wanted = { workspaceId: main, filename, downloadable: true, content: one(text) };
  return { objects, id: (await createFile(parts, { keyHash: null }, wanted)).id };
}

const formHead = '--b\r\ncontent-disposition: form-data; name="file"; filename="slow.txt"\r\n\r\n';

function* endless(text: string): Generator<string> {
  yield formHead;
  for (let count = 0; count < 100; count++) yield text.repeat(10_000);
}

/** Sends a form with the boundary `b` in chunks. */
async function sendForm(pieces: Iterable<string>, headers: Record<string, string> = {}) {
  const { request, response } = openRequest(gateway.baseUrl, headers);
  if (headers['expect'] !== undefined) {
    request.flushHeaders();
    await once(request, 'continue');
  }
  request.on('error', () => {}); // the response comes first
  for (const piece of pieces) request.write(piece);
  request.end();
  return response;
}

function openRequest(base: string, headers: Record<string, string> = {}) {
  const request = httpRequest(`${base}/files`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${testKeys.key}`,
      'content-type': 'multipart/form-data; boundary=b',
      ...headers,
    },
  });
  const response = new Promise<{ status: number; text: string }>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', async (incoming) => {
      let text = '';
      for await (const piece of incoming) text += piece;
      resolve({ status: incoming.statusCode!, text });
    });
  });
  response.catch(() => {}); // a test that aborts does not wait for it
  return { request, response };
}

/** Opens an upload that waits in the middle of its file. */
function openForm(base = gateway.baseUrl, key = testKeys.key) {
  const { request, response } = openRequest(base, { authorization: `Bearer ${key}` });
  return {
    write: () => new Promise<void>((resolve) => request.write(`${formHead}half`, () => resolve())),
    async end() {
      request.end(' and half\r\n--b--\r\n');
      return response;
    },
    abort: () => void request.destroy(),
  };
}
