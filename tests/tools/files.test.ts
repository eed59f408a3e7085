import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testKeys } from '../../src/testing/test-gateway.ts';
import type { Json } from '../api/manage.ts';
import { call, modes, openToolLab, shownItems, type ToolLab } from './lab.ts';

const otherKey = 'test-other-workspace-key-1';
const type = 'router:files';

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab({
    files: { max_bytes: 1_000_000, workspace_bytes: 3_000_000 },
    bootstrap: { keys: [{ key: otherKey, name: 'elsewhere', workspace: 'other', acts_as: 'organization' }] },
  });
});
afterAll(() => lab.close());

async function upload(filename: string, content: string | Buffer, key = testKeys.key): Promise<string> {
  const form = new FormData();
  form.append('file', new File([content as string], filename));
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${lab.gateway.baseUrl}/files`, { method: 'POST', headers, body: form });
  expect(response.status).toBe(200);
  return ((await response.json()) as { id: string }).id;
}

const download = async (id: string): Promise<string> => (await lab.gateway.get(`/files/${id}/content`)).text();

describe.each(modes)(`${type}, %s`, (mode) => {
  async function run(input: object, key: string = testKeys.key) {
    lab.takeRequests();
    lab.script('openai-chat', { calls: [call('router_files', input)] }, { text: 'Done.' });
    const served = await lab.respond('openai-chat', mode, { tools: [{ type }] }, { key });
    expect(served.body.status).toBe('completed');
    const [item] = shownItems(served) as Json[];
    const messages = JSON.parse(lab.takeRequests()[1]!.text).messages as Json[];
    const seen = JSON.parse(messages.findLast(({ role }) => role === 'tool').content) as Json;
    expect(item).toMatchObject({
      type,
      status: seen.error === undefined ? 'completed' : 'failed',
      call_id: expect.any(String),
      arguments: expect.any(String),
    });
    return { item, seen, served };
  }

  it('writes, reads, edits and lists text files', async () => {
    const name = `plan-${mode}.md`;
    const written = await run({ operation: 'write', filename: name, content: '# Plan\nBuy milk.\n' });
    const { file_id: first } = written.seen.result;
    expect(written.seen.result).toMatchObject({ filename: name, mime_type: 'text/markdown', size_bytes: 17 });
    expect(written.item).toMatchObject({ operation: 'write', file_id: first, filename: name });
    expect(JSON.parse(written.item.result)).toEqual(written.seen.result);
    expect(await download(first)).toBe('# Plan\nBuy milk.\n');

    const read = await run({ operation: 'read', filename: name });
    expect(read.seen.result).toMatchObject({ file_id: first, content: '# Plan\nBuy milk.\n' });
    expect(read.seen.result).not.toHaveProperty('truncated');
    expect(read.item).toMatchObject({ operation: 'read', file_id: first, filename: name });

    const edit = { operation: 'edit', file_id: first, old_string: 'milk', new_string: 'bread' };
    const { file_id: second } = (await run(edit)).seen.result;
    expect(second).not.toBe(first);
    expect(await download(first)).toContain('milk');
    expect(await download(second)).toBe('# Plan\nBuy bread.\n');
    expect((await run({ operation: 'read', filename: name })).seen.result.file_id).toBe(second); // the newest
    const renamed = await run({ ...edit, new_filename: `old/${name}` });
    expect(renamed.seen.result).toMatchObject({ filename: `old/${name}`, edited_from: first });

    const listed = (await run({ operation: 'list', filename_filter: `PLAN-${mode}` })).seen.result;
    expect(listed.files.map(({ filename }: Json) => filename)).toEqual([name, name, `old/${name}`]);
    expect(listed.has_more).toBe(false);
  });

  it('sees only the files of the workspace of the key', async () => {
    const name = `secret-${mode}.txt`;
    const id = await upload(name, 'mine');
    expect((await run({ operation: 'read', file_id: id })).seen.result.content).toBe('mine');
    for (const input of [
      { operation: 'read', file_id: id },
      { operation: 'read', filename: name },
      { operation: 'edit', file_id: id, old_string: 'mine', new_string: 'yours' },
    ]) {
      const { seen, item } = await run(input, otherKey);
      expect(seen).toEqual({ error: expect.stringContaining('There is no file') });
      expect(item.error).toBe(seen.error);
    }
    expect((await run({ operation: 'list' }, otherKey)).seen.result).toEqual({ files: [], has_more: false });
  });

  it('cuts a long file between characters, and says so', async () => {
    const id = await upload('long.txt', `x${'ü'.repeat(150_000)}`);
    const { result } = (await run({ operation: 'read', file_id: id })).seen;
    expect(result.content).toBe(`x${'ü'.repeat(99_999)}`);
    expect(result.truncated).toContain('300001 bytes');
    await lab.gateway.send('DELETE', `/files/${id}`);
  });

  it.each<[string, object, string]>([
    ['no name', { operation: 'read' }, 'file_id or filename'],
    ['an unknown id', { operation: 'read', file_id: 'file_wNone' }, 'There is no file "file_wNone"'],
    ['a write without content', { operation: 'write', filename: 'a.txt' }, 'needs content'],
    ['a write without a name', { operation: 'write', content: 'a' }, 'needs filename'],
    ['an invalid name', { operation: 'write', filename: '../a', content: 'a' }, 'the segment ".."'],
    ['an empty file', { operation: 'write', filename: 'a.txt', content: '' }, 'is empty'],
    ['a NUL', { operation: 'write', filename: 'a.txt', content: 'a\0' }, 'is not accepted'],
    ['a long file', { operation: 'write', filename: 'a.txt', content: 'a'.repeat(500_000) }, 'Write a shorter file'],
  ])('lets the model read why a call with %s fails', async (_, input, says) => {
    lab.takeRequests();
    lab.script('openai-chat', { calls: [call('router_files', input)] }, { text: 'Done.' });
    const served = await lab.respond('openai-chat', mode, { tools: [{ type }] });
    expect(served.body.status).toBe('completed');
    expect(String(shownItems(served)[0]!['error'])).toContain(says);
    expect(lab.takeRequests()[1]!.text).toContain(JSON.stringify(JSON.stringify(says)).slice(3, -3));
  });

  it('edits only text that is in the file once', async () => {
    const file_id = await upload('twice.txt', '\ufeffone two one aaa');
    const edit = async (old_string: string) =>
      (await run({ operation: 'edit', file_id, old_string, new_string: 'X' })).seen;
    expect(await edit('one')).toEqual({ error: expect.stringContaining('more than once') });
    expect(await edit('aa')).toEqual({ error: expect.stringContaining('more than once') }); // they overlap
    expect(await edit('three')).toEqual({ error: expect.stringContaining('is not in the file') });
    expect(await edit('')).toEqual({ error: expect.stringContaining('is empty') });
    const { result } = await edit('two');
    expect(
      await lab.gateway
        .get(`/files/${result.file_id}/content`)
        .then((r) => r.arrayBuffer())
        .then(Buffer.from),
    ).toEqual(Buffer.from('\ufeffone X one aaa'));
  });

  it('reads only text', async () => {
    const id = await upload('image.png', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'));
    const { seen } = await run({ operation: 'read', file_id: id });
    expect(seen.error).toBe('image.png is image/png. Only text files can be read and edited.');
  });

  it('keeps the limits of the workspace', async () => {
    const ids = await Promise.all([1, 2, 3].map(() => upload('large.txt', 'x'.repeat(900_000), otherKey)));
    const { seen } = await run({ operation: 'write', filename: 'a.txt', content: 'x'.repeat(400_000) }, otherKey);
    expect(seen.error).toContain('would exceed 3000000 bytes');
    for (const id of ids) await lab.gateway.send('DELETE', `/files/${id}`, undefined, { key: otherKey });
  });

  it('replays its items', async () => {
    const { item } = await run({ operation: 'write', filename: 'replayed.txt', content: 'kept' });
    const failed = (await run({ operation: 'read', file_id: 'file_wNone' })).item;
    lab.takeRequests();
    lab.script('openai-chat', { text: 'Yes.' });
    const user = { role: 'user', content: 'Is it stored?' };
    const served = await lab.respond('openai-chat', mode, { tools: [{ type }], input: [user, item, failed] });
    expect(served.body.status).toBe('completed');
    const messages = JSON.parse(lab.takeRequests()[0]!.text).messages as Json[];
    const calls = messages.flatMap(({ tool_calls: made = [] }) => made);
    expect(calls.map((made: Json) => [made.function.name, JSON.parse(made.function.arguments)])).toEqual([
      ['router_files', { operation: 'write', filename: 'replayed.txt', content: 'kept' }],
      ['router_files', { operation: 'read', file_id: 'file_wNone' }],
    ]);
    const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => JSON.parse(content));
    expect(results).toEqual([{ result: JSON.parse(item.result) }, { error: failed.error }]);
  });
});

it('is recorded in the audit log with the key of the request', async () => {
  lab.script(
    'openai-chat',
    { calls: [call('router_files', { operation: 'write', filename: 'a.txt', content: 'a' })] },
    {
      text: 'Done.',
    },
  );
  const served = await lab.respond('openai-chat', 'buffered', { tools: [{ type }] });
  const response = await lab.gateway.get('/audit?limit=1', { key: testKeys.managementKey });
  const { data } = (await response.json()) as { data: Json[] };
  expect(data[0]).toMatchObject({
    action: 'file.create',
    object_id: shownItems(served)[0]!['file_id'],
    actor_key_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
});

it('rejects parameters', async () => {
  const served = await lab.respond('openai-chat', 'buffered', { tools: [{ type, parameters: { path: 'x' } }] });
  expect(served.status).toBe(400);
});
