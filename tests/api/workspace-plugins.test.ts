import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { readStream } from '../../src/testing/test-gateway.ts';
import { streamFrames } from './lab.ts';
import { type Json, manage } from './manage.ts';

let gateway: TestGateway;
let upstream: ScriptedUpstream;
const ask = manage(() => gateway);
const FIXED_ID = '00000000-0000-4000-8000-0000000000f1';

const broken = '{"city": "Zürich",}';
const usd = (perMillion: number) => ({ prompt: perMillion / 1e6, completion: perMillion / 1e6 });

function configure(bootstrap: object = {}) {
  const models = ['acme/cheap', 'acme/middle', 'acme/dear'].map((model, at) => ({ model, pricing: usd(10 ** at) }));
  return {
    providers: [{ id: 'acme', wire: 'openai-chat', base_url: upstream.url, models }],
    bootstrap,
  };
}

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(({ body }) => {
    if ((body as Json).stream) return sse(streamFrames('openai-chat') as Json[], { done: true });
    const message = { role: 'assistant', content: broken };
    return json({ model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] });
  });
  gateway = await testGateway(
    configure({ workspaces: [{ id: FIXED_ID, name: 'fixed', default_plugins: [{ id: 'response-healing' }] }] }),
  );
});
afterAll(() => Promise.all([gateway?.close(), upstream.close()]));

async function open(settings: object): Promise<{ id: string; key: string }> {
  const slug = `w-${randomUUID().slice(0, 8)}`;
  const created = await ask('POST', '/workspaces', { name: slug, slug, ...settings });
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  const { id } = created.body.data;
  return { id, key: (await ask('POST', '/keys', { name: slug, workspace_id: id })).body.key };
}

const headers = { 'x-router-metadata': 'enabled' };
const jsonRequest = { model: 'acme/cheap', input: 'Which city?', text: { format: { type: 'json_object' } } };

async function respond(key: string, body: object): Promise<{ status: number; body: Json }> {
  const response = await gateway.post('/responses', { input: 'Hello', ...body }, { key, headers });
  return { status: response.status, body: await response.json() };
}
const textOf = ({ body }: { body: Json }): string => body.output[0].content[0].text;
const defaultsOf = ({ body }: { body: Json }): Json => body.router_metadata.params?.workspace_defaults;

describe('the plugins that a workspace saves', () => {
  it('apply to requests that do not name them, and the metadata names them', async () => {
    const { key } = await open({ default_plugins: [{ id: 'response-healing' }] });
    const answer = await respond(key, jsonRequest);
    expect(JSON.parse(textOf(answer))).toEqual({ city: 'Zürich' });
    expect(defaultsOf(answer)).toEqual({ default_plugins: ['response-healing'] });
    expect(answer.body.router_metadata.pipeline).toMatchObject([{ name: 'response-healing' }]);

    const named = await respond(key, { ...jsonRequest, plugins: [{ id: 'response-healing' }] });
    expect(JSON.parse(textOf(named))).toEqual({ city: 'Zürich' });
    expect(defaultsOf(named)).toBeUndefined();
  });

  it('are off for a request that turns them off, except with `prevent_overrides`', async () => {
    const off = { ...jsonRequest, plugins: [{ id: 'response-healing', enabled: false }] };
    const { key, id } = await open({ default_plugins: [{ id: 'response-healing' }] });
    expect(textOf(await respond(key, off))).toBe(broken);
    const final = { default_plugins: [{ id: 'response-healing', prevent_overrides: true }] };
    expect((await ask('PATCH', `/workspaces/${id}`, final)).body.data).toMatchObject(final);
    const answer = await respond(key, off);
    expect(answer.status).toBe(200);
    expect(JSON.parse(textOf(answer))).toEqual({ city: 'Zürich' });

    await ask('PATCH', `/workspaces/${id}`, { default_plugins: null });
    expect(textOf(await respond(key, jsonRequest))).toBe(broken);
  });

  it('keep a plugin off for requests that name it, with `prevent_overrides`', async () => {
    const { key } = await open({
      default_plugins: [{ id: 'response-healing', enabled: false, prevent_overrides: true }],
    });
    expect(textOf(await respond(key, { ...jsonRequest, plugins: [{ id: 'response-healing' }] }))).toBe(broken);
  });

  it('are merged with those of the request field by field, buffered and streamed', async () => {
    const { key } = await open({
      default_plugins: [{ id: 'auto-router', allowed_models: ['acme/*'], excluded_models: ['acme/cheap'] }],
    });
    const body = { model: 'router/auto', plugins: [{ id: 'auto-router', cost_tier: 'low' }] };
    expect((await respond(key, body)).body.model).toBe('acme/middle');
    const allowed = { ...body, plugins: [{ id: 'auto-router', cost_tier: 'low', excluded_models: ['acme/middle'] }] };
    expect((await respond(key, allowed)).body.model).toBe('acme/cheap');

    const stream = await readStream(
      await gateway.post('/responses', { ...body, input: 'Hello', stream: true }, { key, headers }),
    );
    expect(stream.events.at(-1)).toMatchObject({
      type: 'response.completed',
      response: {
        model: 'acme/middle',
        router_metadata: { params: { workspace_defaults: { default_plugins: ['auto-router'] } } },
      },
    });
  });

  it('do not apply to other workspaces', async () => {
    await open({ default_plugins: [{ id: 'response-healing' }] });
    const { key } = await open({});
    expect(textOf(await respond(key, jsonRequest))).toBe(broken);
  });

  it.each<[what: string, plugins: unknown, path: string, says: string]>([
    ['an unknown plugin', [{ id: 'healing' }], 'default_plugins[0].id', 'response-healing'],
    ['a plugin that is not offered', [{ id: 'switchyard-router' }], 'default_plugins[0].id', 'switchyard-router'],
    ['a value of the wrong kind', [{ id: 'auto-router', cost_tier: 'free' }], 'default_plugins[0].cost_tier', 'low'],
    ['an unknown field', [{ id: 'auto-router', cost: 1 }], 'default_plugins[0].cost', 'not known'],
    ['the same plugin twice', [{ id: 'auto-router' }, { id: 'auto-router' }], 'default_plugins', 'two entries'],
    ['no list', 'response-healing', 'default_plugins', 'list'],
  ])('are a 400 with %s', async (_, plugins, path, says) => {
    const answer = await ask('POST', '/workspaces', { name: randomUUID(), slug: 'bad', default_plugins: plugins });
    expect(answer.status).toBe(400);
    const [issue] = answer.body.error.metadata.issues;
    expect(issue.path).toBe(path);
    expect(issue.message).toContain(says);
  });
});

describe('`default_plugins` of bootstrap.workspaces', () => {
  const keyOf = async (id: string) =>
    (await ask('POST', '/keys', { name: randomUUID(), workspace_id: id })).body.key as string;

  it('apply to its requests, and a reload replaces them', async () => {
    const key = await keyOf(FIXED_ID);
    expect(JSON.parse(textOf(await respond(key, jsonRequest)))).toEqual({ city: 'Zürich' });
    await gateway.reload(configure({ workspaces: [{ id: FIXED_ID, name: 'fixed', default_plugins: [] }] }));
    expect(textOf(await respond(key, jsonRequest))).toBe(broken);
  });

  it('that are invalid fail the start and the reload, which changes nothing', async () => {
    const wrong = configure({ workspaces: [{ id: FIXED_ID, name: 'fixed', default_plugins: [{ id: 'no-such' }] }] });
    const message = /bootstrap\.workspaces\[2\].*default_plugins\[0\]\.id.*no-such/;
    await expect(gateway.reload(wrong)).rejects.toThrow(message);
    await expect(testGateway(wrong)).rejects.toThrow(message);
    expect((await ask('GET', `/workspaces/${FIXED_ID}`)).body.data.default_plugins).toEqual([]);
  });
});

describe('`disabled_server_tools` of a workspace', () => {
  it.each<[what: string, fields: object, path: string]>([
    ['the tool', { tools: [{ type: 'router:web_search' }] }, 'tools[0].type'],
    ['another name of it', { tools: [{ type: 'web_search' }] }, 'tools[0].type'],
    ['a newer kind of it', { tools: [{ type: 'web_search_2027_01_01' }] }, 'tools[0].type'],
    [
      'the tool in a subagent',
      { tools: [{ type: 'router:subagent', parameters: { tools: [{ type: 'router:web_search' }] } }] },
      'tools[0].parameters.tools[0].type',
    ],
    ['the plugin', { plugins: [{ id: 'web' }] }, 'plugins[0].id'],
    ['the suffix `:online`', { model: 'acme/cheap:online' }, 'model'],
    ['the suffix on a fallback', { models: ['acme/other:online'] }, 'models[0]'],
    [
      'the tool among the items',
      {
        input: [
          { role: 'user', content: 'hi' },
          { type: 'additional_tools', role: 'tool', tools: [{ type: 'router:web_search' }] },
        ],
      },
      'input[1].tools[0].type',
    ],
  ])('make a request with %s a 403 that names the field, buffered and streamed', async (_, fields, path) => {
    const { key } = await open({ disabled_server_tools: ['router:web_search'] });
    const sent = upstream.requests.length;
    for (const stream of [false, true]) {
      const { status, body } = await respond(key, { model: 'acme/cheap', stream, ...fields });
      expect(status).toBe(403);
      expect(body.error).toMatchObject({
        message: expect.stringContaining('disabled_server_tools'),
        metadata: { error_type: 'permission_denied', issues: [{ path }] },
      });
    }
    expect(upstream.requests).toHaveLength(sent);
  });

  it('cover MCP servers, and the hosted file search', async () => {
    const { key } = await open({ disabled_server_tools: ['mcp', 'router:file_search'] });
    for (const tool of [
      { type: 'mcp', server_label: 'docs', server_url: 'https://mcp.example.com/mcp' },
      { type: 'mcp', server_label: 'docs' },
      { type: 'file_search', vector_store_ids: ['workspace'] },
      { type: 'router:file_search' },
    ]) {
      const { status, body } = await respond(key, { model: 'acme/cheap', tools: [tool] });
      expect(status).toBe(403);
      expect(body.error.message).toContain('disabled_server_tools');
    }
  });

  it('leave other requests alone', async () => {
    const { key } = await open({ disabled_server_tools: ['router:web_search', 'router:bash'] });
    const tools = [{ type: 'function', name: 'look', parameters: {} }];
    const plugins = [{ id: 'web', enabled: false }];
    expect((await respond(key, { model: 'acme/cheap', tools, plugins })).status).toBe(200);
  });

  it('may name tools that an operator has added, and reject them like those of the interface', async () => {
    const { key } = await open({ disabled_server_tools: ['router:roll_dice'] });
    const sent = upstream.requests.length;
    const tools = [{ type: 'router:roll_dice' }];
    const late = [
      { role: 'user', content: 'hi' },
      { type: 'additional_tools', role: 'tool', tools },
    ];
    for (const fields of [{ tools }, { input: late }]) {
      const { status, body } = await respond(key, { model: 'acme/cheap', ...fields });
      expect(status).toBe(403);
      expect(body.error.metadata.issues[0].message).toContain('has disabled router:roll_dice');
    }
    expect(upstream.requests).toHaveLength(sent);
  });

  it('name known tools only', async () => {
    const body = { name: 'x', slug: 'x', disabled_server_tools: ['router:web-search'] };
    const answer = await ask('POST', '/workspaces', body);
    expect(answer.status).toBe(400);
    expect(answer.body.error.metadata.issues[0].path).toBe('disabled_server_tools[0]');
  });
});
