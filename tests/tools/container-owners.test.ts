import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/test-gateway.ts';

/*
 * Who uses a container, from the request to the download of its files. The commands run in the simulated shell.
 */

interface Item {
  type: string;
  container_id: string;
  output?: { stdout: string }[];
  stdout?: string;
  result?: string;
  error?: string;
  files?: { file_id: string }[];
}

const workspace = '00000000-0000-4000-8000-0000000000a1';
const keys = {
  ada: testKeys.key,
  adaToo: 'test-second-key-of-ada-1',
  carol: 'test-inference-key-carol',
  organization: testKeys.organizationKey,
};
const bootstrap = {
  members: [{ id: 'carol', workspaces: ['main'] }],
  keys: [
    { key: keys.adaToo, name: 'second', workspace: 'main', member: 'ada' },
    { key: keys.carol, name: 'carol', workspace: 'main', member: 'carol' },
  ],
};
const sandbox = { driver: 'simulation', max_running: 50 };

type Name = keyof typeof keys;

let gateway: TestGateway;
const start = (owner?: string, dataDir?: string) =>
  testGateway({ bootstrap, tools: { sandbox: { ...sandbox, ...(owner && { owner }) } } }, dataDir);
beforeAll(async () => {
  gateway = await start();
});
afterAll(() => gateway.close());

const bash = (parameters: object = {}) => ({ type: 'router:bash', parameters: { engine: 'router', ...parameters } });
const referring = (id: string) => ({ environment: { type: 'container_reference', container_id: id } });
const script = (call: string) => `[[call ${call}]] [[then]] [[say Done.]]`;
const running = (command: string) => script(`router:bash ${JSON.stringify({ command })}`);

/** Sends a request with one call of a tool. @returns the item with its result */
async function use(name: Name, body: object, headers: Record<string, string> = {}): Promise<Item> {
  const request = { model: 'simulator/echo', tools: [bash()], ...body };
  const response = await gateway.post('/responses', request, { key: keys[name], headers });
  const { output, error } = (await response.json()) as { output: Item[]; error?: object };
  expect(response.status, JSON.stringify(error)).toBe(200);
  return output.findLast(({ type }) => type !== 'message')!;
}
const write = (name: Name, body: object, text: string, headers = {}) =>
  use(name, { ...body, input: running(`printf ${text} > note.txt`) }, headers);
const read = (name: Name, body: object, headers = {}) =>
  use(name, { ...body, input: running('cat note.txt 2>/dev/null; true') }, headers);

const get = async (name: Name, id: string, path = '') =>
  gateway.get(`/containers/${id}/files${path}`, { key: keys[name] });
const list = async (name: Name, id: string): Promise<string[]> => {
  const response = await get(name, id);
  expect(response.status).toBe(200);
  return ((await response.json()) as { data: { path: string }[] }).data.map(({ path }) => path);
};
const note = `/cfile_${Buffer.from('note.txt').toString('base64url')}`;

describe('a container of a member', () => {
  it.each([
    ['a short session id', { session_id: 'chat' }],
    ['a long session id', { session_id: 'x'.repeat(256) }],
    ['a session id with other characters', { session_id: 'user:42' }],
    ['the name of the container', { tools: [bash(referring('shared-name'))] }],
    ['the id of the container of a session', { tools: [bash(referring('sess_by-id'))] }],
  ])('is not that of another member who sends %s', async (_, body) => {
    const mine = await write('ada', body, 'secret');
    expect(await list('ada', mine.container_id)).toEqual(['note.txt']);
    expect(await read('adaToo', body)).toMatchObject({ stdout: 'secret', container_id: mine.container_id });
    for (const name of ['carol', 'organization'] as const) {
      expect(await read(name, body)).toMatchObject({ stdout: '', container_id: mine.container_id });
      expect(await list(name, mine.container_id)).toEqual([]);
      await write(name, body, name);
    }
    expect(await read('ada', body)).toMatchObject({ stdout: 'secret' });
    for (const name of ['carol', 'organization'] as const) {
      expect(await (await get(name, mine.container_id, `${note}/content`)).text()).toBe(name);
    }
  });

  it('is not that of another member on any route, or with any tool', async () => {
    const { container_id: id } = await write('ada', { session_id: 'all-ways' }, 'secret');
    for (const name of ['carol', 'organization'] as const) {
      expect((await get(name, id, note)).status).toBe(404);
      expect((await get(name, id, `${note}/content`)).status).toBe(404);
      const promoted = await gateway.send('POST', `/containers/${id}/files${note}/promote`, undefined, {
        key: keys[name],
      });
      expect(promoted.status).toBe(404);
    }
    const environment = referring(id);
    const tools = [
      [{ type: 'router:shell', parameters: environment }, 'router:shell {"commands": ["cat note.txt"]}'],
      [{ type: 'shell', environment: environment.environment }, 'router:shell {"commands": ["cat note.txt"]}'],
      [
        { type: 'router:text_editor', parameters: environment },
        'router:text_editor {"command": "view", "path": "note.txt"}',
      ],
      [bash(environment), 'router:bash {"command": "cat note.txt"}'],
    ] as const;
    for (const [tool, call] of tools) {
      const seen = async (name: Name) => JSON.stringify(await use(name, { tools: [tool], input: script(call) }));
      expect(await seen('ada')).toContain('secret');
      expect(await seen('carol')).not.toContain('secret');
    }
    const replay = (name: Name) =>
      use(name, {
        input: [
          { role: 'user', content: 'x' },
          { type: 'router:bash', status: 'completed', command: 'true', stdout: '', container_id: id },
          { role: 'user', content: running('cat note.txt') },
        ],
      });
    expect(await replay('ada')).toMatchObject({ container_id: id, stdout: 'secret' });
    expect(await replay('carol')).toMatchObject({ container_id: id, stdout: '' });
  });

  it.each([
    'sess_chat@member:ada',
    'intern:7',
    'x'.repeat(41),
    `sess_${'x'.repeat(60)}`,
  ])('cannot be named %s', async (id) => {
    expect((await get('carol', encodeURIComponent(id))).status).toBe(400);
    for (const tool of [bash(referring(id)), { type: 'code_interpreter', container: id }]) {
      const request = { model: 'simulator/echo', tools: [tool], input: 'x' };
      expect((await gateway.post('/responses', request, { key: keys.carol })).status).toBe(400);
    }
  });

  it('has the id that a tool has returned, however long the session id and after a restart', async () => {
    for (const key of ['y'.repeat(40), 'y'.repeat(41), 'ü'.repeat(256)]) {
      const first = await write('ada', { session_id: key }, 'one');
      expect(await list('ada', first.container_id)).toEqual(['note.txt']);
      expect(await read('ada', { tools: [bash(referring(first.container_id))] })).toMatchObject({ stdout: 'one' });
      const input = script('router:bash {"restart": true, "command": "printf two > note.txt"}');
      const fresh = await use('ada', { session_id: key, input });
      expect(fresh.container_id.startsWith(`${first.container_id}-r`)).toBe(true);
      expect(await read('ada', { tools: [bash(referring(fresh.container_id))] })).toMatchObject({ stdout: 'two' });
      expect(await list('ada', fresh.container_id)).toEqual(['note.txt']);
    }
  });
});

describe('sessions of one key', () => {
  it.each([
    ['alice-support-conversation-main', 'carol-support-conversation-main'],
    ['alice-support-conversation-main-2026-11-28', 'carol-support-conversation-main-2026-11-28'],
    ['7f9c24e8-3b12-11ef-8c5b-0242ac120002', '8a0d35f9-3b12-11ef-8c5b-0242ac120002'],
    ['user:1', 'user:2'],
    ['Letters', 'letters'],
  ])('do not share files: %s and %s', async (one, other) => {
    await write('ada', { session_id: one }, 'one');
    expect(await read('ada', { session_id: other })).toMatchObject({ stdout: '' });
    expect(await read('ada', { session_id: one })).toMatchObject({ stdout: 'one' });
  });

  it('are the same in the body and in the header', async () => {
    await write('ada', { session_id: 'team/7 main' }, 'one');
    expect(await read('ada', {}, { 'x-session-id': 'team/7 main' })).toMatchObject({ stdout: 'one' });
  });

  it('are not those of a `prompt_cache_key`', async () => {
    const body = { prompt_cache_key: 'support-bot' };
    const first = await write('ada', body, 'secret');
    expect(first.container_id).toMatch(/^gen_/);
    expect(await read('ada', body)).toMatchObject({ stdout: '' });
  });
});

describe('a container of the workspace', () => {
  it('is used by all of its keys if the operator wants it', async () => {
    const isolated = gateway;
    gateway = await start('workspace');
    try {
      const { container_id: id } = await write('ada', { session_id: 'team' }, 'ours');
      for (const name of ['carol', 'organization'] as const) {
        expect(await read(name, { session_id: 'team' })).toMatchObject({ stdout: 'ours' });
        expect(await list(name, id)).toEqual(['note.txt']);
      }
    } finally {
      await gateway.close();
      gateway = isolated;
    }
  });

  it('from before containers had owners stays reachable, and a member who uses it continues with a copy', async () => {
    const isolated = gateway;
    // A key of 31 characters named its container with its last 20.
    const id = 'sess_rt-conversation-main';
    const old = await start('workspace');
    gateway = old;
    await write('ada', { tools: [bash(referring(id))] }, 'old');
    await old.close({ keepData: true });
    gateway = await start(undefined, old.dataDir);
    try {
      for (const name of ['ada', 'carol'] as const) {
        expect(await (await get(name, id, `${note}/content`)).text()).toBe('old');
        expect(await read(name, { tools: [bash(referring(id))] })).toMatchObject({ stdout: 'old' });
      }
      await write('ada', { session_id: 'rt-conversation-main' }, 'new');
      expect(await (await get('ada', id, `${note}/content`)).text()).toBe('new');
      expect(await (await get('carol', id, `${note}/content`)).text()).toBe('old');
      expect(await read('carol', { session_id: 'rt-conversation-main' })).toMatchObject({ stdout: 'old' });
      const { containers } = gateway.gateway.storage;
      expect(await containers.findContainer(workspace, id)).toMatchObject({ version: 1 });
    } finally {
      await gateway.close();
      gateway = isolated;
    }
  });
});
