import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testKeys } from '../../src/testing/test-gateway.ts';
import type { Json } from '../api/manage.ts';
import { call, modes, openToolLab, shownItems, type ToolLab } from './lab.ts';

const otherKey = 'test-other-workspace-key-1';
const type = 'router:memory';

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab({
    bootstrap: { keys: [{ key: otherKey, name: 'elsewhere', workspace: 'other', acts_as: 'organization' }] },
  });
});
afterAll(() => lab.close());

const listFiles = async (): Promise<Json[]> => ((await (await lab.gateway.get('/files')).json()) as Json).data;

describe.each(modes)(`${type}, %s`, (mode) => {
  async function run(input: object, key: string = testKeys.key) {
    lab.takeRequests();
    lab.script('openai-chat', { calls: [call('router_memory', input)] }, { text: 'Done.' });
    const served = await lab.respond('openai-chat', mode, { tools: [{ type }] }, { key });
    expect(served.body.status).toBe('completed');
    const [item] = shownItems(served) as Json[];
    const messages = JSON.parse(lab.takeRequests()[1]!.text).messages as Json[];
    const seen = JSON.parse(messages.findLast(({ role }) => role === 'tool').content) as Json;
    expect(item).toMatchObject({ type, status: seen.error === undefined ? 'completed' : 'failed', ...input });
    return { item, seen };
  }

  it('keeps a value until it is replaced or deleted', async () => {
    const key = `user.name-${mode}`;
    expect((await run({ action: 'write', key, value: 'Ada "A" 📦' })).seen).toEqual({ key });
    expect((await run({ action: 'read', key })).seen).toEqual({ key, value: 'Ada "A" 📦' });
    expect((await run({ action: 'write', key, value: '' })).seen).toEqual({ key });
    const read = await run({ action: 'read', key });
    expect(read.seen).toEqual({ key, value: '' });
    expect(read.item.value).toBe('');
    expect((await listFiles()).map(({ filename }) => filename)).toEqual([`memory/${key}.json`]); // the old one is deleted

    expect((await run({ action: 'read' })).seen).toEqual({ keys: [key] });
    expect((await run({ action: 'delete', key })).seen).toEqual({ key });
    expect((await run({ action: 'read', key })).seen).toEqual({ error: expect.stringContaining('There is no value') });
    expect((await run({ action: 'delete', key })).seen).toEqual({
      error: expect.stringContaining('There is no value'),
    });
    expect((await run({ action: 'read' })).seen).toEqual({ keys: [] });
  });

  it('belongs to one workspace', async () => {
    await run({ action: 'write', key: 'shared', value: 'main' });
    expect((await run({ action: 'read', key: 'shared' }, otherKey)).seen.error).toContain('There is no value');
    expect((await run({ action: 'read' }, otherKey)).seen).toEqual({ keys: [] });
    await run({ action: 'delete', key: 'shared' });
  });

  it.each<[string, object, string]>([
    ['a write without a key', { action: 'write', value: 'x' }, 'needs a key'],
    ['a write without a value', { action: 'write', key: 'x' }, 'needs a value'],
    ['a key with a slash', { action: 'write', key: 'a/b', value: 'x' }, 'A key has 1 to 128'],
    ['a key that begins with a dot', { action: 'read', key: '..' }, 'A key has 1 to 128'],
    ['a long key', { action: 'read', key: 'x'.repeat(129) }, 'A key has 1 to 128'],
    ['a long value', { action: 'write', key: 'x', value: 'x'.repeat(32_001) }, 'at most 32000'],
  ])('lets the model read why %s fails', async (_, input, says) => {
    const { seen, item } = await run(input);
    expect(seen.error).toContain(says);
    expect(item.error).toBe(seen.error);
    expect(await listFiles()).toEqual([]);
  });

  it('replays its items', async () => {
    const items = [
      (await run({ action: 'write', key: 'color', value: 'red' })).item,
      (await run({ action: 'read', key: 'color' })).item,
      (await run({ action: 'read' })).item,
      (await run({ action: 'delete', key: 'color' })).item,
      (await run({ action: 'read', key: 'color' })).item,
    ];
    lab.takeRequests();
    lab.script('openai-chat', { text: 'Yes.' });
    await lab.respond('openai-chat', mode, { tools: [{ type }], input: [{ role: 'user', content: 'And?' }, ...items] });
    const messages = JSON.parse(lab.takeRequests()[0]!.text).messages as Json[];
    const calls = messages.flatMap(({ tool_calls: made = [] }) => made);
    expect(calls.map((made: Json) => JSON.parse(made.function.arguments))).toEqual([
      { action: 'write', key: 'color', value: 'red' },
      { action: 'read', key: 'color' },
      { action: 'read' },
      { action: 'delete', key: 'color' },
      { action: 'read', key: 'color' },
    ]);
    expect(messages.filter(({ role }) => role === 'tool').map(({ content }) => JSON.parse(content))).toEqual([
      { key: 'color' },
      { key: 'color', value: 'red' },
      { keys: ['color'] },
      { key: 'color' },
      { error: expect.stringContaining('There is no value') },
    ]);
  });
});
