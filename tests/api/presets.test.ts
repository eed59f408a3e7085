import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { readStream } from '../../src/testing/test-gateway.ts';
import { streamFrames, wholeBody } from './lab.ts';
import { type Json, manage } from './manage.ts';

let gateway: TestGateway;
let upstream: ScriptedUpstream;
const administer = manage(() => gateway);

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(({ body }) =>
    (body as Json).stream ? sse(streamFrames('openai-chat') as Json[], { done: true }) : json(wholeBody('openai-chat')),
  );
  gateway = await testGateway({
    providers: [
      {
        id: 'acme',
        wire: 'openai-chat',
        base_url: upstream.url,
        models: [{ model: 'acme/one' }, { model: 'acme/two' }],
      },
    ],
  });
});
afterAll(() => Promise.all([gateway?.close(), upstream.close()]));

/** Creates a workspace with a key. */
async function open(settings: object = {}): Promise<string> {
  const slug = `w-${randomUUID().slice(0, 8)}`;
  const { id } = (await administer('POST', '/workspaces', { name: slug, slug, ...settings })).body.data;
  return (await administer('POST', '/keys', { name: slug, workspace_id: id })).body.key;
}

async function ask(key: string, method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }> {
  const response = await gateway.send(method, path, body, { key });
  return { status: response.status, body: await response.json() };
}

const headers = { 'x-router-metadata': 'enabled' };
async function respond(key: string, body: object): Promise<{ status: number; body: Json }> {
  const response = await gateway.post('/responses', { input: 'Hello', ...body }, { key, headers });
  return { status: response.status, body: await response.json() };
}
/** The last body that the provider received. */
const sent = (): Json => upstream.requests.at(-1)!.body;
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);

const weather = { type: 'function', name: 'weather', parameters: { type: 'object' } };
const config = { model: 'acme/one', temperature: 0.25, tools: [weather] };

async function create(key: string, fields: object = {}): Promise<Json> {
  const created = await ask(key, 'POST', '/presets', { slug: 'mine', config, system_prompt: 'Be brief.', ...fields });
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  return created.body.data;
}

describe('a request with a preset', () => {
  it.each<[string, object, string]>([
    ['model', { model: '@preset/mine' }, '@preset/mine'],
    ['field', { preset: 'mine' }, 'acme/one'],
  ])('that names it in its %s gets all its fields, buffered and streamed', async (_, named, requested) => {
    const key = await open();
    await create(key);
    for (const stream of [false, true]) {
      const body = { ...named, input: 'Hello', stream };
      if (!stream) {
        const answer = await respond(key, body);
        expect(answer).toMatchObject({
          status: 200,
          body: { model: 'acme/one', temperature: 0.25, instructions: 'Be brief.' },
        });
        expect(answer.body.router_metadata).toMatchObject({
          requested,
          params: { preset: { slug: 'mine', version: 1 } },
        });
      } else {
        const streamed = await readStream(await gateway.post('/responses', body, { key, headers }));
        expect(streamed.events.at(-1)).toMatchObject({
          type: 'response.completed',
          response: { model: 'acme/one', router_metadata: { params: { preset: { slug: 'mine', version: 1 } } } },
        });
      }
      expect(sent()).toMatchObject({ temperature: 0.25, tools: [{ function: { name: 'weather' } }] });
      expect(JSON.stringify(sent().messages)).toContain('Be brief.');
    }
  });

  it('may replace its fields, and adds its tools', async () => {
    const key = await open();
    await create(key);
    const own = { ...weather, name: 'time' };
    const answer = await respond(key, {
      model: 'acme/two@preset/mine',
      temperature: 1,
      instructions: '',
      tools: [own],
    });
    expect(answer).toMatchObject({ status: 200, body: { model: 'acme/two', temperature: 1, instructions: '' } });
    expect(sent().tools.map((tool: Json) => tool.function.name)).toEqual(['weather', 'time']);
    expect(JSON.stringify(sent().messages)).not.toContain('Be brief.');
  });

  it('uses the default model of the workspace if the preset names none', async () => {
    const key = await open({ default_text_model: 'acme/two' });
    await create(key, { config: { temperature: 0 } });
    expect((await respond(key, { preset: 'mine' })).body.model).toBe('acme/two');
    const other = await open();
    await create(other, { config: { temperature: 0 } });
    const { status, body } = await respond(other, { preset: 'mine' });
    expect(status).toBe(400);
    expect(body.error.metadata.issues[0]).toMatchObject({
      path: 'model',
      message: expect.stringContaining('is missing'),
    });
  });

  it('keeps a long conversation, which is parsed again for a fallback', async () => {
    const key = await open();
    await create(key, { config: { models: ['acme/one', 'acme/two'] } });
    upstream.respond(json({ error: { message: 'Busy.' } }, { status: 503 }));
    const input = [{ role: 'user', content: 'x'.repeat(100_000) }];
    const answer = await respond(key, { preset: 'mine', input });
    expect(answer).toMatchObject({ status: 200, body: { model: 'acme/two' } });
    expect(JSON.stringify(sent().messages)).toContain('x'.repeat(100_000));
  });

  it('of another workspace is a 400, as is one with an unknown preset', async () => {
    const [key, other] = [await open(), await open()];
    await create(key);
    for (const stream of [false, true]) {
      const byModel = await respond(other, { model: '@preset/mine', stream });
      expect(byModel.status).toBe(400);
      expect(byModel.body.error).toMatchObject({
        message: expect.stringContaining('@preset/mine is not a valid model ID'),
        availability: { code: 'model_not_found' },
      });
      const byField = await respond(key, { preset: 'other', stream });
      expect(byField.status).toBe(400);
      expect(byField.body.error.metadata.issues[0].path).toBe('preset');
    }
  });

  it('follows each change of the preset at once', async () => {
    const key = await open();
    await create(key);
    const temperature = async () => (await respond(key, { preset: 'mine' })).body.temperature;
    expect(await temperature()).toBe(0.25);
    await ask(key, 'PATCH', '/presets/mine', { config: { ...config, temperature: 0.75 } });
    expect(await temperature()).toBe(0.75);
    await ask(key, 'PATCH', '/presets/mine', { designated_version: 1 });
    expect(await temperature()).toBe(0.25);
    await ask(key, 'PATCH', '/presets/mine', { status: 'disabled' });
    const disabled = await respond(key, { preset: 'mine' });
    expect(disabled.status).toBe(400);
    expect(disabled.body.error.message).toContain('which is disabled');
    await ask(key, 'PATCH', '/presets/mine', { status: 'active' });
    expect(await temperature()).toBe(0.25);
    await ask(key, 'DELETE', '/presets/mine');
    expect((await respond(key, { preset: 'mine' })).status).toBe(400);
  });
});

describe('GET, POST, PATCH and DELETE /presets', () => {
  it('create, list, find, change and delete presets of the workspace', async () => {
    const [key, other] = [await open(), await open()];
    const made = await create(key, { name: 'My preset', description: 'for tests' });
    const preset = {
      id: expect.any(String),
      slug: 'mine',
      name: 'My preset',
      description: 'for tests',
      status: 'active',
      status_updated_at: null,
      designated_version_id: made.designated_version.id,
      creator_user_id: null,
      workspace_id: expect.any(String),
      created_at: time,
      updated_at: time,
    };
    const version = {
      id: expect.any(String),
      preset_id: made.id,
      version: 1,
      config,
      system_prompt: 'Be brief.',
      creator_id: expect.any(String),
      created_at: time,
      updated_at: time,
    };
    expect(made).toEqual({ ...preset, designated_version: version });
    expect((await ask(key, 'GET', '/presets')).body).toEqual({ data: [preset], total_count: 1 });
    expect((await ask(key, 'GET', '/presets/mine')).body).toEqual({ data: made });
    expect((await ask(other, 'GET', '/presets')).body).toEqual({ data: [], total_count: 0 });
    for (const [method, body] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const) {
      expect((await ask(other, method, '/presets/mine', body)).status).toBe(404);
    }

    const changed = await ask(key, 'PATCH', '/presets/mine', { slug: 'new', status: 'archived', description: null });
    expect(changed.body.data).toMatchObject({
      slug: 'new',
      status: 'archived',
      description: null,
      status_updated_at: time,
      designated_version: version,
    });
    expect((await ask(key, 'GET', '/presets/mine')).status).toBe(404);
    expect((await ask(key, 'DELETE', '/presets/new')).body).toEqual({ deleted: true });
    expect((await ask(key, 'DELETE', '/presets/new')).status).toBe(404);
  });

  it('keep all versions of the settings', async () => {
    const key = await open();
    await create(key);
    const second = await ask(key, 'PATCH', '/presets/mine', { system_prompt: null });
    expect(second.body.data.designated_version).toMatchObject({ version: 2, config, system_prompt: null });
    expect((await ask(key, 'PATCH', '/presets/mine', { system_prompt: null })).body.data).toEqual(second.body.data);
    const { data, total_count } = (await ask(key, 'GET', '/presets/mine/versions')).body;
    expect(total_count).toBe(2);
    expect(data.map((each: Json) => each.version)).toEqual([2, 1]);
    expect((await ask(key, 'GET', '/presets/mine/versions/1')).body.data).toEqual(data[1]);
    for (const number of ['3', '0', 'x', '99999999999999999999']) {
      expect((await ask(key, 'GET', `/presets/mine/versions/${number}`)).status).toBe(404);
    }
    const back = await ask(key, 'PATCH', '/presets/mine', { designated_version: 1 });
    expect(back.body.data.designated_version).toEqual(data[1]);
    expect((await ask(key, 'PATCH', '/presets/mine', { designated_version: 9 })).status).toBe(404);
    const third = await ask(key, 'PATCH', '/presets/mine', { config: {} });
    expect(third.body.data.designated_version).toMatchObject({ version: 3, config: {}, system_prompt: 'Be brief.' });
  });

  it('reject a taken slug with 409', async () => {
    const key = await open();
    await create(key);
    await create(key, { slug: 'second' });
    const twice = await ask(key, 'POST', '/presets', { slug: 'mine' });
    expect(twice.status).toBe(409);
    expect(twice.body.error).toMatchObject({ code: 409, message: expect.stringContaining('mine') });
    expect((await ask(key, 'PATCH', '/presets/second', { slug: 'mine' })).status).toBe(409);
    expect((await ask(await open(), 'POST', '/presets', { slug: 'mine' })).status).toBe(201);
  });

  it.each<[string, object, path: string, says: string]>([
    ['no slug', {}, 'slug', 'is missing'],
    ['a wrong slug', { slug: 'My Preset' }, 'slug', 'lower-case'],
    ['an unknown field', { slug: 'x', settings: {} }, 'settings', 'not known'],
    ['an unknown setting', { slug: 'x', config: { temprature: 1 } }, 'config.temprature', 'not known'],
    ['a wrong setting', { slug: 'x', config: { temperature: 'hot' } }, 'config.temperature', 'number'],
    ['a wrong tool', { slug: 'x', config: { tools: [{ type: 'function' }] } }, 'config.tools[0].name', 'missing'],
    ['a conversation', { slug: 'x', config: { input: 'Hello' } }, 'config.input', 'conversation'],
    ['instructions', { slug: 'x', config: { instructions: 'Hi' } }, 'config.instructions', 'system_prompt'],
    ['another preset', { slug: 'x', config: { model: '@preset/mine' } }, 'config.model', 'must name models'],
    [
      'a feature that is not offered',
      { slug: 'x', config: { plugins: [{ id: 'switchyard-router' }] } },
      'config.plugins[0].id',
      'not offered',
    ],
    [
      'too many bytes',
      { slug: 'x', config: { tools: [{ ...weather, description: 'x'.repeat(300_000) }] } },
      'config',
      'bytes',
    ],
  ])('reject a preset with %s', async (_, body, path, says) => {
    const answer = await ask(await open(), 'POST', '/presets', body);
    expect(answer.status).toBe(400);
    const [issue] = answer.body.error.metadata.issues;
    expect(issue.path).toBe(path);
    expect(issue.message).toContain(says);
  });

  it('need an inference key', async () => {
    expect((await administer('GET', '/presets')).status).toBe(401);
    expect((await gateway.get('/presets', { key: null })).status).toBe(401);
  });

  it('write to the audit log, which names versions and no settings', async () => {
    const key = await open();
    const { id } = await create(key, { system_prompt: 'top secret' });
    await ask(key, 'PATCH', '/presets/mine', { config: {} });
    await ask(key, 'DELETE', '/presets/mine');
    const { data } = (await administer('GET', '/audit?limit=20')).body;
    const entries = data.filter((entry: Json) => entry.object_id === id).toReversed();
    expect(entries).toMatchObject([
      { action: 'preset.create', changes: { slug: { after: 'mine' }, designated_version: { after: 1 } } },
      { action: 'preset.update', changes: { designated_version: { before: 1, after: 2 } } },
      { action: 'preset.delete', changes: { slug: { before: 'mine', after: null } } },
    ]);
    expect(JSON.stringify(entries)).not.toContain('secret');
  });
});

describe('POST /presets/{slug}/responses', () => {
  it('creates a preset from a request, and then versions of it, without the conversation', async () => {
    const key = await open();
    const body = { ...config, instructions: 'Be brief.', input: 'Hello', stream: true, user: 'u', odd: 1 };
    const made = await ask(key, 'POST', '/presets/mine/responses', body);
    expect(made).toMatchObject({
      status: 200,
      body: {
        data: { slug: 'mine', name: 'mine', designated_version: { version: 1, config, system_prompt: 'Be brief.' } },
        ignored_fields: ['odd'],
      },
    });
    const same = await ask(key, 'POST', '/presets/mine/responses', { ...body, input: 'Another' });
    expect(same.body.data).toEqual(made.body.data);
    const next = await ask(key, 'POST', '/presets/mine/responses', { temperature: 1 });
    expect(next.body.data.designated_version).toMatchObject({
      version: 2,
      config: { temperature: 1 },
      system_prompt: null,
    });
    const answer = await respond(key, { model: 'acme/one@preset/mine' });
    expect(answer.body.temperature).toBe(1);
  });

  it('is a 409 for an archived preset, and a 400 for an invalid slug or body', async () => {
    const key = await open();
    await create(key, { status: 'archived' });
    expect((await ask(key, 'POST', '/presets/mine/responses', config)).status).toBe(409);
    expect((await ask(key, 'POST', '/presets/My%20Preset/responses', config)).status).toBe(400);
    expect((await ask(key, 'POST', '/presets/other/responses', { temperature: 'hot' })).status).toBe(400);
    expect((await ask(key, 'POST', '/presets/other/responses', [])).status).toBe(400);
    expect((await ask(key, 'POST', '/presets/other/responses', { instructions: 7 })).status).toBe(400);
    expect((await ask(key, 'GET', '/presets/other')).status).toBe(404);
  });
});

describe('a preset from a body of another format', () => {
  const parameters = { type: 'object', properties: {} };

  it('has the settings of a chat completion, and serves a message', async () => {
    const key = await open();
    const saved = await ask(key, 'POST', '/presets/mine/chat/completions', {
      model: 'acme/two',
      max_tokens: 77,
      stop: 'END',
      user: 'ada',
      novel: 1,
      response_format: { type: 'json_object' },
      tools: [{ type: 'function', function: { name: 'weather', parameters } }],
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
        { role: 'user', content: 'Hello' },
      ],
    });
    expect(saved.status, JSON.stringify(saved.body)).toBe(200);
    expect(saved.body.data.designated_version).toMatchObject({
      system_prompt: 'Be brief.\n\nBe kind.',
      config: {
        model: 'acme/two',
        max_output_tokens: 77,
        text: { format: { type: 'json_object' } },
        tools: [{ type: 'function', name: 'weather', parameters }],
      },
    });
    expect(saved.body.ignored_fields).toEqual(['novel', 'stop']);

    const body = { model: '@preset/mine', messages: [{ role: 'user', content: 'Hi' }] };
    expect((await gateway.post('/messages', body, { key })).status).toBe(200);
    expect(sent()).toMatchObject({
      max_completion_tokens: 77,
      messages: [
        { role: 'system', content: 'Be brief.\n\nBe kind.' },
        { role: 'user', content: 'Hi' },
      ],
      tools: [{ type: 'function', function: { name: 'weather' } }],
    });
  });

  it('has the settings of a message, and errors name its fields', async () => {
    const key = await open();
    const tool = { name: 'weather', input_schema: parameters, cache_control: { type: 'ephemeral' } };
    const body = { model: 'acme/one', max_tokens: 50, system: [{ type: 'text', text: 'Be brief.' }], tools: [tool] };
    const saved = await ask(key, 'POST', '/presets/mine/messages', { ...body, container: { id: 'c' } });
    expect(saved.status, JSON.stringify(saved.body)).toBe(200);
    const { config: settings, system_prompt: prompt } = saved.body.data.designated_version;
    expect(settings).toEqual({
      model: 'acme/one',
      max_output_tokens: 50,
      tools: [{ type: 'function', name: 'weather', parameters, strict: false, cache_control: { type: 'ephemeral' } }],
    });
    expect(prompt).toBe('Be brief.');
    expect(saved.body.ignored_fields).toEqual(['container']);

    const invalid = await ask(key, 'POST', '/presets/other/messages', { model: 'acme/one', max_tokens: 0 });
    expect(invalid).toMatchObject({ status: 400, body: { error: { metadata: { issues: [{ path: 'max_tokens' }] } } } });
    const nested = await ask(key, 'POST', '/presets/other/messages', { ...body, model: '@preset/mine' });
    expect(nested).toMatchObject({
      status: 400,
      body: { error: { metadata: { issues: [{ path: 'config.model' }] } } },
    });
  });
});
