import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadPluginModules } from '../../src/compose/load-plugin-modules.ts';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { readStream } from '../../src/testing/test-gateway.ts';
import { streamFrames, wholeBody } from './lab.ts';
import { type Json, manage } from './manage.ts';

const example = join(import.meta.dirname, '../../examples/glossary-plugin.js');
const folder = mkdtempSync(join(tmpdir(), 'headgate-modules-'));
/** Writes a module with a plugin. @returns its path */
function write(code: string): string {
  const path = join(folder, `${randomUUID()}.mjs`);
  writeFileSync(path, code);
  return path;
}

/** A plugin that does what its setting says. */
const moody = write(`
let seen = 0;
export default {
  id: 'moody',
  settings: { type: 'object', properties: { mood: { enum: [
    'throws', 'rejects', 'hangs', 'refuses', 'strays', 'returns text', 'adapt throws', 'adapt hangs', 'adapt returns text',
    'open throws', 'open returns nothing', 'write throws', 'write hangs', 'abandon throws', 'describe throws', 'writes late', 'writes junk', 'shouts', 'calm',
  ] } }, required: ['mood'] },
  prepare(run, { mood }) {
    const open = (sink) => ({ open: (_run, out) => ({ write: (chunks) => out.write(chunks), abandon() {}, ...sink(out) }) });
    switch (mood) {
      case 'throws': throw new Error('a secret detail');
      case 'rejects': return Promise.reject(new Error('a secret detail'));
      case 'hangs': return new Promise(() => {});
      case 'refuses': throw Object.assign(new Error('Not today.'), {
        name: 'GatewayError', kind: 'permission_denied', metadata: { mood },
      });
      case 'strays': void Promise.reject(new Error('a stray detail')); return undefined;
      case 'returns text': return 'text';
      case 'adapt throws': return { adapt() { throw new Error('a secret detail'); } };
      case 'adapt hangs': return { adapt: () => new Promise(() => {}) };
      case 'adapt returns text': return { adapt: async () => 'text' };
      case 'open throws': return { open() { throw new Error('a secret detail'); } };
      case 'open returns nothing': return { open() {} };
      case 'write throws': return open(() => ({ write() { throw new Error('a secret detail'); } }));
      case 'write hangs': return open(() => ({ write: () => new Promise(() => {}) }));
      case 'writes late': return open((out) => ({ write(chunks) { setImmediate(() => { out.write(chunks); out.write(chunks); }); } }));
      case 'writes junk': return open((out) => ({ write: (chunks) => out.write('text') }));
      case 'abandon throws': return open(() => ({ abandon() { throw new Error('a secret detail'); } }));
      case 'describe throws': return { describeFailure() { throw new Error('a secret detail'); } };
      case 'shouts': return {
        ...open((out) => ({ write: (chunks) => out.write(chunks.map((chunk) =>
          chunk.type === 'text' ? { ...chunk, delta: chunk.delta.toUpperCase() } : chunk)) })),
        adapt: (request, endpoint) => ({ ...request, instructions: 'You are at ' + endpoint.provider.name }),
        describeFailure: () => ({ seen: ++seen }),
      };
    }
  },
};`);

let gateway: TestGateway;
let upstream: ScriptedUpstream;
const administer = manage(() => gateway);
beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(({ body }) =>
    (body as Json).stream ? sse(streamFrames('openai-chat') as Json[], { done: true }) : json(wholeBody('openai-chat')),
  );
  gateway = await testGateway(configure());
});
afterAll(async () => {
  await gateway?.close();
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

const configure = (more: object = {}) => ({
  plugins: { modules: [example, moody] },
  providers: [
    { id: 'acme', name: 'Acme', wire: 'openai-chat', base_url: upstream.url, models: [{ model: 'acme/one' }] },
  ],
  ...more,
});

const terms = { SKU: 'the number of an article', RMA: 'a return' };
const headers = { 'x-router-metadata': 'enabled' };
async function respond(body: object, key = gateway.key): Promise<{ status: number; body: Json }> {
  const response = await gateway.post('/responses', { model: 'acme/one', input: 'Hello', ...body }, { headers, key });
  return { status: response.status, body: await response.json() };
}
const moodOf = (mood: string) => [{ id: 'moody', mood }];
const sent = (): Json => upstream.requests.at(-1)!.body;

describe('the plugin of examples/', () => {
  it.each([false, true])('changes the request and writes a stage, streamed: %s', async (stream) => {
    const body = {
      model: 'acme/one',
      input: 'Which sku is it?',
      instructions: 'Be brief.',
      stream,
      plugins: [{ id: 'glossary', terms }],
    };
    const answer = stream
      ? (await readStream(await gateway.post('/responses', body, { headers }))).events.at(-1)
      : { response: (await respond(body)).body };
    expect(answer).toMatchObject({
      response: {
        status: 'completed',
        router_metadata: { pipeline: [{ type: 'plugin', name: 'glossary', data: { terms: ['SKU'] } }] },
      },
    });
    expect(sent().messages[0].content).toContain(
      'Be brief.\n\nTerms of this company:\n- SKU: the number of an article',
    );
    expect(JSON.stringify(sent())).not.toContain('RMA');
  });

  it('leaves other requests alone', async () => {
    const answer = await respond({ plugins: [{ id: 'glossary', terms }] });
    expect(answer.body.router_metadata.pipeline).toBeUndefined();
    await respond({ input: 'Which SKU?', plugins: [{ id: 'glossary', terms, enabled: false }] });
    await respond({ input: 'Which SKU?' });
    expect(JSON.stringify(upstream.requests.slice(-3))).not.toContain('Terms of this company');
  });
});

describe('the settings of a plugin of a module', () => {
  it.each<[what: string, setting: object, path: string, says: string]>([
    ['no required field', { id: 'glossary' }, 'plugins[0].terms', 'missing'],
    ['a wrong value', { id: 'glossary', terms: { a: 1 } }, 'plugins[0].terms.a', 'string'],
    ['a wrong word', { id: 'moody', mood: 'sad' }, 'plugins[0].mood', 'calm'],
    ['a wrong `enabled`', { id: 'moody', mood: 'calm', enabled: 'yes' }, 'plugins[0].enabled', 'boolean'],
    ['an unknown id', { id: 'glossry' }, 'plugins[0].id', 'did you mean `glossary`?'],
  ])('with %s are a 400 that names the field', async (_, setting, path, says) => {
    const { status, body } = await respond({ plugins: [setting] });
    expect(status).toBe(400);
    const [issue] = body.error.metadata.issues;
    expect(issue).toMatchObject({ path, message: expect.stringContaining(says) });
  });

  it('with an unknown field are accepted, and the metadata names it', async () => {
    const { status, body } = await respond({ plugins: [{ id: 'moody', mood: 'calm', temper: 1 }] });
    expect(status).toBe(200);
    expect(body.router_metadata.params.ignored_fields).toEqual(['plugins[0].temper']);
  });

  it('may be saved for a workspace and in a preset, with the same checks', async () => {
    const slug = `w-${randomUUID().slice(0, 8)}`;
    const saved = [{ id: 'glossary', terms, prevent_overrides: true }];
    const made = await administer('POST', '/workspaces', { name: slug, slug, default_plugins: saved });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    const { id } = made.body.data;
    const { key } = (await administer('POST', '/keys', { name: slug, workspace_id: id })).body;
    const answer = await respond({ input: 'Which SKU?' }, key);
    expect(answer.body.router_metadata).toMatchObject({
      pipeline: [{ name: 'glossary' }],
      params: { workspace_defaults: { default_plugins: ['glossary'] } },
    });
    for (const [plugin, path] of [
      [{ id: 'glossary', terms: 1 }, 'default_plugins[0].terms'],
      [{ id: 'glossary', terms, odd: 1 }, 'default_plugins[0].odd'],
      [{ id: 'other' }, 'default_plugins[0].id'],
    ] as const) {
      const refused = await administer('PATCH', `/workspaces/${id}`, { default_plugins: [plugin] });
      expect(refused.status).toBe(400);
      expect(refused.body.error.metadata.issues[0].path).toBe(path);
    }
    const preset = (plugin: object) =>
      gateway.post('/presets', { slug: 'terms', config: { plugins: [plugin] } }, { key }).then(({ status }) => status);
    expect(await preset({ id: 'glossary', terms: 1 })).toBe(400);
    expect(await preset({ id: 'glossary', terms })).toBe(201);
    await expect(
      gateway.reload(
        configure({ bootstrap: { workspaces: [{ id, name: slug, default_plugins: [{ id: 'other' }] }] } }),
      ),
    ).rejects.toThrow(/bootstrap\.workspaces\[2\].*other/);
  });
});

describe('a plugin of a module', () => {
  it.each([false, true])('may adapt the request and revise the output, streamed: %s', async (stream) => {
    const said = (text: string): void => expect(text).toBe(text.toUpperCase());
    const body = { model: 'acme/one', input: 'Hello', stream, plugins: moodOf('shouts') };
    if (stream) {
      const { events } = await readStream(await gateway.post('/responses', body));
      const deltas = events.flatMap((event) => (event.type === 'response.output_text.delta' ? [event.delta] : []));
      expect(deltas.length).toBeGreaterThan(0);
      said(String(deltas.join('')));
    } else said((await respond(body)).body.output[0].content[0].text);
    expect(JSON.stringify(sent().messages)).toContain('You are at Acme');
  });

  it('may describe the failure of a request', async () => {
    upstream.respond(json({ error: { message: 'No.' } }, { status: 400 }));
    const { status, body } = await respond({ plugins: moodOf('shouts') });
    expect({ status, seen: body.error.metadata.seen }).toEqual({ status: 400, seen: expect.any(Number) });
  });

  it('may reject a request', async () => {
    for (const stream of [false, true]) {
      const { status, body } = await respond({ plugins: moodOf('refuses'), stream });
      expect(status).toBe(403);
      expect(body.error).toMatchObject({ message: 'Not today.', metadata: { mood: 'refuses' } });
    }
  });

  it.each([
    'throws',
    'rejects',
    'returns text',
    'adapt throws',
    'adapt returns text',
    'open throws',
    'open returns nothing',
    'write throws',
    'writes junk',
  ])('that %s fails the request with an error that names it and hides the reason', async (mood) => {
    for (const stream of [false, true]) {
      const { status, body } = await respond({ plugins: moodOf(mood), stream });
      expect(status).toBe(500);
      expect(body.error.message).toBe('The plugin moody failed. The log of the gateway has the reason.');
      expect(JSON.stringify(body)).not.toContain('secret');
    }
    expect((await respond({})).status).toBe(200);
  });

  it.each(['hangs', 'adapt hangs', 'write hangs'])('that %s is cut off by the deadline', async (mood) => {
    const hasty = await testGateway(configure({ timeouts: { request_ms: 300 } }));
    try {
      for (const stream of [false, true]) {
        const body = { model: 'acme/one', input: 'Hello', plugins: moodOf(mood), stream };
        const response = await hasty.post('/responses', body);
        expect(response.status).toBe(408);
        expect(((await response.json()) as Json).error.metadata.error_type).toBe('timeout');
      }
    } finally {
      await hasty.close();
    }
  });

  it('that writes after its turn fails its own request and no other', async () => {
    for (const stream of [false, true]) {
      const response = await gateway.post('/responses', {
        model: 'acme/one',
        input: 'Hello',
        plugins: moodOf('writes late'),
        stream,
      });
      await response.text();
      expect((await respond({})).status).toBe(200);
    }
  });

  it.each(['abandon throws', 'describe throws'])('that %s leaves the error of the request as it is', async (mood) => {
    upstream.respond(json({ error: { message: 'No.' } }, { status: 400 }));
    const { status, body } = await respond({ plugins: moodOf(mood) });
    expect(status).toBe(400);
    expect(body.error.message).toContain('No.');
  });
});

describe('a module', () => {
  const load = (...modules: string[]) => loadPluginModules(modules, () => {});
  it.each<[what: string, code: string, says: string]>([
    ['that throws', 'throw new Error("no database");', 'cannot be loaded: no database'],
    ['with a syntax error', 'export default {', 'cannot be loaded'],
    ['without a default export', 'export const other = 1;', 'has no default export that is an object'],
    ['that exports a text', 'export default "plugin";', 'has no default export that is an object'],
    ['without an id', 'export default { prepare() {} };', '`id` must be'],
    ['with a wrong id', 'export default { id: "My Plugin", prepare() {} };', '`id` must be'],
    ['without prepare', 'export default { id: "mine" };', '`prepare` must be a function'],
    ['with the id of a built-in plugin', 'export default { id: "web", prepare() {} };', 'which a built-in plugin has'],
    [
      'with settings that are no schema',
      'export default { id: "mine", prepare() {}, settings: 1 };',
      '`settings` must be',
    ],
    [
      'with a setting that every plugin has',
      'export default { id: "mine", prepare() {}, settings: { type: "object", properties: { enabled: {} } } };',
      'must not have `enabled`',
    ],
  ])('%s is an error at the start that names the module', async (_, code, says) => {
    const path = write(code);
    await expect(load(path)).rejects.toThrow(`plugins.modules: ${path}`);
    await expect(load(path)).rejects.toThrow(says);
    await expect(testGateway({ plugins: { modules: [path] } })).rejects.toThrow(says);
  });

  it('that does not exist is an error at the start', async () => {
    const missing = join(folder, 'missing.mjs');
    await expect(load(missing)).rejects.toThrow(`plugins.modules: ${missing} cannot be loaded`);
  });

  it('with the id of another module is an error at the start', async () => {
    const twin = write('export default { id: "glossary", prepare() {} };');
    await expect(load(example, twin)).rejects.toThrow(
      `plugins.modules: ${twin}: \`id\` is \`glossary\`, which another`,
    );
  });

  it('may have a list of plugins', async () => {
    const both = write('export default [{ id: "one", prepare() {} }, { id: "two", prepare() {} }];');
    expect((await load(both)).plugins.map(({ id }) => id)).toEqual(['one', 'two']);
  });
});
