import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { ScriptedHost } from '../../src/testing/scripted-runtime.ts';
import { paint } from '../api/images-lab.ts';
import { main } from '../api/manage.ts';
import { call, openToolLab, type ToolLab, type WireName } from '../tools/lab.ts';

/* What an intern reaches with its own key. `docs/reference/interns.md#reach` has the rules. */

const host = new ScriptedHost();
/** Every request at the server of the test. Interns reach it as `localhost`, and not as `127.0.0.1`. */
let arrived: string[] = [];
let answer: (response: ServerResponse) => void;
const site: Server = createServer((request, response) => {
  arrived.push(`${request.headers.host?.split(':')[0]} ${request.url}`);
  answer(response);
});
let inside: string;
let outside: string;
let lab: ToolLab;
/** The key of the intern. */
let key: string;
let internId: string;

let png: Buffer;

const settings = (interns: object = {}) => ({
  outbound: { allow: [new URL(inside).host, new URL(outside).host] },
  interns: { health_ms: 100, allowed_domains: ['localhost'], schedules: { enabled: true }, ...interns },
  providers: [{ id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/*' }] }],
  plugins: { modules: [join(import.meta.dirname, 'adding-plugin.js')] },
  mcp: { servers: { docs: { url: `${outside}/docs`, require_approval: 'never' } } },
});

async function createKey(): Promise<void> {
  const created = await lab.gateway.post('/interns', { name: 'scout', workspace_id: main, provision: true });
  ({ id: internId } = (await created.json()) as { id: string });
  await vi.waitFor(async () => {
    const { status } = (await (await lab.gateway.get(`/interns/${internId}`)).json()) as { status: string };
    expect(status).toBe('running');
  });
  key = host.credentials.get(internId)!.apiKey;
}

beforeAll(async () => {
  png = await paint({ width: 32, height: 32 });
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  const { port } = site.address() as AddressInfo;
  inside = `http://localhost:${port}`;
  outside = `http://127.0.0.1:${port}`;
  lab = await openToolLab(settings(), {}, { internRuntime: host.createRuntime() });
  await createKey();
});
afterAll(async () => {
  await lab.close();
  site.closeAllConnections();
  site.close();
});
beforeEach(() => {
  arrived = [];
  answer = (response) => response.end('page');
  lab.answer(() => ({ text: 'ok' }));
  takeRequests();
});

let taken = [0, 0];
/** Takes the requests at both servers of the providers. */
const takeRequests = () => {
  const fresh = lab.upstreams.flatMap(({ requests }, at) => requests.slice(taken[at]));
  taken = lab.upstreams.map(({ requests }) => requests.length);
  return fresh;
};

interface Refusal {
  error: { message: string; metadata?: { issues?: { path: string }[] } };
}

async function send(path: string, body: object, as = key): Promise<{ status: number; body: Refusal; text: string }> {
  const response = await lab.gateway.post(path, body, { key: as });
  const text = await response.text();
  return { status: response.status, body: JSON.parse(text), text };
}

const ask = (wire: WireName, fields: object, as?: string) =>
  send('/responses', { model: `acme/${wire}`, input: 'Hello', provider: { only: [`${wire}-0`] }, ...fields }, as);

const wires = ['openai-responses', 'openai-chat', 'anthropic-messages', 'gemini'] as const;
const text = (content: object[]) => [{ type: 'message', role: 'user', content }];
const user = (...content: object[]) => ({ messages: [{ role: 'user', content }], max_tokens: 100 });

/** Requests with an address of a host that the intern does not reach: the path, the body, and the place of the address. */
const addresses: [name: string, path: string, body: (url: string) => object][] = [
  ['an image', '/responses', (url) => ({ input: text([{ type: 'input_image', image_url: url }]) })],
  ['a file', '/responses', (url) => ({ input: text([{ type: 'input_file', file_url: url }]) })],
  [
    'a file as data',
    '/responses',
    (url) => ({ input: text([{ type: 'input_file', file_data: url, filename: 'a.pdf' }]) }),
  ],
  [
    'a recording',
    '/responses',
    (url) => ({ input: text([{ type: 'input_audio', input_audio: { data: url, format: 'mp3' } }]) }),
  ],
  ['a video', '/responses', (url) => ({ input: text([{ type: 'input_video', video_url: url }]) })],
  [
    'an image of a result',
    '/responses',
    (url) => ({
      input: [
        { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', image_url: url }] },
      ],
    }),
  ],
  ['an image of a chat', '/chat/completions', (url) => user({ type: 'image_url', image_url: { url } })],
  [
    'a file of a chat',
    '/chat/completions',
    (url) => user({ type: 'file', file: { file_data: url, filename: 'a.pdf' } }),
  ],
  ['a video of a chat', '/chat/completions', (url) => user({ type: 'video_url', video_url: { url } })],
  ['an image of a message', '/messages', (url) => user({ type: 'image', source: { type: 'url', url } })],
  ['a document of a message', '/messages', (url) => user({ type: 'document', source: { type: 'url', url } })],
  [
    'an image of a result of a message',
    '/messages',
    (url) => ({
      max_tokens: 100,
      messages: [
        { role: 'user', content: 'Look' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'look', input: {} }] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't', content: [{ type: 'image', source: { type: 'url', url } }] },
          ],
        },
      ],
    }),
  ],
  ['an image to count', '/messages/count_tokens', (url) => user({ type: 'image', source: { type: 'url', url } })],
];

const answerOf = (fields: object) => [
  { type: 'message', role: 'user', content: 'Look' },
  { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
  { type: 'function_call_output', call_id: 'c', output: 'ok', ...fields },
];
const tool = (fields: object) => ({ tools: [{ type: 'function', name: 'look', parameters: {}, ...fields }] });
const item = (...items: object[]) => ({ input: [{ type: 'message', role: 'user', content: 'Look' }, ...items] });
const png64 = 'data:image/png;base64,iVBORw0KGgo=';

/** Places where only a provider may look for an address: fields that the gateway does not know, and words. */
const places: [name: string, path: string, fields: (url: string) => object][] = [
  [
    'a field of audio',
    '/responses',
    (url) => ({ input: text([{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3', url } }]) }),
  ],
  [
    'a field of audio of a chat',
    '/chat/completions',
    (url) => user({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3', url } }),
  ],
  [
    'a field of another part',
    '/responses',
    (url) => ({ input: text([{ type: 'input_image', image_url: png64, video_url: url, file_url: url }]) }),
  ],
  ['an image of a text', '/responses', (url) => ({ input: text([{ type: 'input_text', text: 'x', image_url: url }]) })],
  [
    'a field of a message',
    '/responses',
    (url) => ({ input: [{ type: 'message', role: 'user', content: 'x', attachments: [url] }] }),
  ],
  ['a field of an output', '/responses', (url) => ({ input: answerOf({ image_url: url }) })],
  [
    'a field of a call',
    '/responses',
    (url) => item({ type: 'function_call', call_id: 'c', name: 'look', arguments: '{}', x: url }),
  ],
  ['a field of a function', '/responses', (url) => tool({ server_url: url, webhook: url })],
  ['a custom tool', '/responses', (url) => ({ tools: [{ type: 'custom', name: 'a', url }] })],
  ['native fields', '/responses', (url) => tool({ native: { url } })],
  ['a field of reasoning', '/responses', (url) => ({ reasoning: { effort: 'low', x: url } })],
  ['a field of the text', '/responses', (url) => ({ text: { verbosity: 'low', x: url } })],
  [
    'a field of the choice',
    '/responses',
    (url) => ({ ...tool({}), tool_choice: { type: 'function', name: 'look', x: url } }),
  ],
  ['a word', '/responses', (url) => ({ include: [url] })],
  ['a word without a scheme', '/responses', () => ({ include: ['www.evil.example/x'] })],
  ['a schema', '/responses', (url) => tool({ parameters: { type: 'object', properties: { a: { $ref: url } } } })],
  [
    'a schema of the text',
    '/responses',
    (url) => ({ text: { format: { type: 'json_schema', name: 'a', schema: { $ref: url } } } }),
  ],
  [
    'a schema of a chat',
    '/chat/completions',
    (url) => ({
      ...user({ type: 'text', text: 'x' }),
      tools: [{ type: 'function', function: { name: 'a', parameters: { $ref: url } } }],
    }),
  ],
  [
    'a schema of a message',
    '/messages',
    (url) => ({
      ...user({ type: 'text', text: 'x' }),
      tools: [{ name: 'a', input_schema: { type: 'object', $ref: url } }],
    }),
  ],
  [
    'an image that the model has made',
    '/responses',
    (url) => item({ type: 'image_generation_call', id: 'ig_1', status: 'completed', result: url }),
  ],
  [
    'the address of such an image',
    '/responses',
    (url) => item({ type: 'image_generation_call', id: 'ig_1', status: 'completed', result: null, url }),
  ],
  [
    'an image that the gateway has made',
    '/responses',
    (url) => item({ type: 'router:image_generation', status: 'completed', imageUrl: url }),
  ],
  [
    'an image of an assistant',
    '/chat/completions',
    (url) => ({
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: 'y', images: [{ type: 'image_url', image_url: { url } }] },
        { role: 'user', content: 'z' },
      ],
    }),
  ],
  ['an item of the provider', '/responses', () => item({ type: 'item_reference', id: 'msg_1' })],
  ['image_config', '/responses', (url) => ({ image_config: { ref: url } })],
  ['a key of image_config', '/responses', (url) => ({ image_config: { [url]: 'a' } })],
  ['image_config without a scheme', '/responses', () => ({ image_config: { ref: 'www.evil.example/x.png' } })],
];

describe.each(wires)('an intern that calls a model at %s', (wire) => {
  it.each(places)('cannot hide an address in %s', async (_name, path, fields) => {
    const url = 'http://evil.example/x.png';
    const body = { model: `acme/${wire}`, ...(path === '/responses' && { input: 'Hello' }), ...fields(url) };
    const { status, text: shown } = await send(path, body);
    expect(takeRequests()).toEqual([]);
    expect({ status, shown }).toMatchObject({ status: 403 });
    expect(shown).toMatch(path === '/messages' ? /\$ref/ : /"issues":\[\{"path":"[a-z]/);
  });
  it.each(addresses)('cannot make anyone open the address of %s', async (_name, path, body) => {
    for (const url of [`${outside}/?d=1`, `${outside.replace('//', '//user@')}/?d=2`, 'http://evil.example/?d=3']) {
      const { status, text: shown } = await send(path, { model: `acme/${wire}`, ...body(url) });
      expect({ url, status, shown }).toMatchObject({
        status: expect.toSatisfy((code: number) => [400, 403].includes(code)),
      });
    }
    expect(arrived).toEqual([]);
    expect(takeRequests()).toEqual([]);
  });

  it.each(addresses)('sends the content of %s instead of its address', async (name, path, body) => {
    const isFile = /file|document|video/.test(name);
    answer = (response) => {
      response.setHeader('content-type', isFile ? 'application/pdf' : 'image/png');
      response.end(isFile ? '%PDF-1.4 page' : png);
    };
    const { text: shown } = await send(path, { model: `acme/${wire}`, ...body(`${inside}/content`) });
    const requests = takeRequests();
    expect(JSON.stringify(requests), shown).not.toContain('localhost');
    if (path.endsWith('count_tokens') || /video|recording/.test(name)) return; // some providers have none
    expect(arrived).toEqual(['localhost /content']);
    expect(JSON.stringify(requests), shown).toContain((isFile ? Buffer.from('%PDF-1.4 page') : png).toString('base64'));
  });

  it('follows no redirect to another host', async () => {
    answer = (response) => response.writeHead(302, { location: `${outside}/leak` }).end();
    const input = text([{ type: 'input_image', image_url: `${inside}/first` }]);
    const { status, body } = await ask(wire, { input });
    expect({ status, body }).toMatchObject({
      status: 403,
      body: { error: { message: expect.stringContaining('127.0.0.1') } },
    });
    expect(arrived).toEqual(['localhost /first']);
    expect(takeRequests()).toEqual([]);
  });
});

/** Tools and plugins that leave the gateway or its provider, as requests of each API name them. */
const tools: [name: string, path: string, fields: () => object][] = [
  ...[
    'web_fetch',
    'web_search',
    'shell',
    'bash',
    'code_interpreter',
    'subagent',
    'advisor',
    'fusion',
    'files',
    'memory',
  ].map((type): (typeof tools)[number] => [
    `router:${type}`,
    '/responses',
    () => ({ tools: [{ type: `router:${type}` }] }),
  ]),
  ...['web_search', 'web_search_preview', 'shell', 'local_shell', 'image_generation', 'apply_patch', 'unheard_of'].map(
    (type): (typeof tools)[number] => [type, '/responses', () => ({ tools: [{ type }] })],
  ),
  ['a container', '/responses', () => ({ tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] })],
  [
    'a network policy',
    '/responses',
    () => ({
      tools: [
        {
          type: 'router:shell',
          parameters: {
            environment: { type: 'container_auto', network_policy: { type: 'allowlist', allowed_domains: ['*'] } },
          },
        },
      ],
    }),
  ],
  [
    'an MCP server',
    '/responses',
    () => ({ tools: [{ type: 'mcp', server_label: 'x', server_url: `${outside}/mcp` }] }),
  ],
  [
    'an MCP server inside',
    '/responses',
    () => ({ tools: [{ type: 'mcp', server_label: 'x', server_url: `${inside}/mcp` }] }),
  ],
  ['an MCP server of the operator', '/responses', () => ({ tools: [{ type: 'mcp', server_label: 'docs' }] })],
  [
    'a connector',
    '/responses',
    () => ({ tools: [{ type: 'mcp', server_label: 'x', connector_id: 'connector_gmail', authorization: 'token' }] }),
  ],
  [
    'a late tool',
    '/responses',
    () => ({
      input: [
        { type: 'additional_tools', role: 'developer', tools: [{ type: 'web_search' }] },
        { type: 'message', role: 'user', content: 'Hello' },
      ],
    }),
  ],
  ['the plugin web', '/responses', () => ({ plugins: [{ id: 'web' }] })],
  ['the plugin web-fetch', '/responses', () => ({ plugins: [{ id: 'web-fetch' }] })],
  ['the plugin fusion', '/responses', () => ({ plugins: [{ id: 'fusion' }] })],
  ['a plugin of the operator', '/responses', () => ({ plugins: [{ id: 'adding', url: outside }] })],
  ['a preset', '/responses', () => ({ preset: 'surfer' })],
  ['a model that searches', '/responses', () => ({ model: 'acme/openai-chat:online' })],
  [
    'another model that searches',
    '/responses',
    () => ({ models: ['acme/openai-chat', 'acme/openai-responses:online'] }),
  ],
  ['a panel', '/responses', () => ({ model: 'router/fusion' })],
  ['a prompt of the provider', '/responses', () => ({ prompt: { id: 'pmpt_1', variables: { a: 'secret' } } })],
  ['a font of an image', '/responses', () => ({ image_config: { fonts: [{ url: `${outside}/font` }] } })],
  ['a file of the provider', '/responses', () => ({ input: text([{ type: 'input_file', file_id: 'file-abc' }]) })],
  [
    'a search of a chat',
    '/chat/completions',
    () => ({ ...user({ type: 'text', text: 'Hi' }), web_search_options: {} }),
  ],
  [
    'a tool of a chat',
    '/chat/completions',
    () => ({ ...user({ type: 'text', text: 'Hi' }), tools: [{ type: 'router:web_fetch' }] }),
  ],
  [
    'a plugin of a chat',
    '/chat/completions',
    () => ({ ...user({ type: 'text', text: 'Hi' }), plugins: [{ id: 'web' }] }),
  ],
  ...['web_search_20250305', 'web_fetch_20250910', 'code_execution_20250825', 'computer_20250124'].map(
    (type): (typeof tools)[number] => [
      type,
      '/messages',
      () => ({ ...user({ type: 'text', text: 'Hi' }), tools: [{ type, name: type.replace(/_\d+$/, '') }] }),
    ],
  ),
  [
    'an MCP server of a message',
    '/messages',
    () => ({ ...user({ type: 'text', text: 'Hi' }), mcp_servers: [{ type: 'url', name: 'x', url: `${outside}/mcp` }] }),
  ],
];

describe('an intern', () => {
  beforeAll(async () => {
    const surfer = { name: 'Surfer', slug: 'surfer', config: { tools: [{ type: 'router:web_fetch' }] } };
    expect((await lab.gateway.post('/presets', surfer)).status).toBe(201);
  });

  it.each(
    wires.flatMap((wire) => tools.map((each) => [wire, ...each] as const)),
  )('at %s cannot use %s', async (wire, _, path, fields) => {
    const body = { model: `acme/${wire}`, ...(path === '/responses' && { input: 'Hello' }), ...fields() };
    const { status, text: shown } = await send(path, body);
    expect({ status, shown }).toMatchObject({ status: 403 });
    expect(arrived).toEqual([]);
    expect(takeRequests()).toEqual([]);
  });

  it.each(wires)('sends no fields of its own to %s', async (wire) => {
    const provider = { options: { [`${wire}-0`]: { image_url: 'x' } } };
    for (const [path, fields] of [
      ['/responses', { input: 'Hello' }],
      ['/chat/completions', user({ type: 'text', text: 'Hi' })],
      ['/messages', user({ type: 'text', text: 'Hi' })],
    ] as const) {
      expect(await send(path, { model: `acme/${wire}`, ...fields, provider })).toMatchObject({ status: 403 });
    }
    expect(takeRequests()).toEqual([]);
  });

  it('does not reach a provider with fields that only the format of the client has', async () => {
    const { status, text: shown } = await send('/messages', {
      model: 'acme/anthropic-messages',
      ...user({ type: 'text', text: 'Hi' }),
      container: { skills: [{ type: 'anthropic', skill_id: 'x' }] },
      future_field: `${outside}/leak`,
    });
    expect({ status, shown }).toMatchObject({ status: 200 });
    expect(JSON.stringify(takeRequests().map(({ body }) => body))).not.toMatch(/skill_id|leak/);
  });

  it('sends no address to a provider of images or embeddings', async () => {
    for (const url of [`${outside}/a.png`, 'http://evil.example/a.png']) {
      const images = { model: 'simulator/image', prompt: 'A fox' };
      const input_references = [{ type: 'image_url', image_url: { url } }];
      expect(await send('/images', { ...images, input_references })).toMatchObject({ status: 403 });
      for (const caption of [{ caption: url }, { [url]: 1 }, { caption: url.replace('http://', '') }])
        expect(await send('/images', { ...images, provider: { options: { simulator: caption } } })).toMatchObject({
          status: 403,
        });
      const input = [{ content: [{ type: 'image_url', image_url: { url } }] }];
      expect(await send('/embeddings', { model: 'simulator/embedding', input })).toMatchObject({ status: 403 });
    }
    expect(arrived).toEqual([]);
    answer = (response) => response.setHeader('content-type', 'image/png').end(png);
    const reference = { type: 'image_url', image_url: { url: `${inside}/a.png` } };
    const drawn = await send('/images', { model: 'simulator/image', prompt: 'A fox', input_references: [reference] });
    expect(drawn).toMatchObject({ status: 200 });
    expect(arrived).toEqual(['localhost /a.png']);
  });

  it('does not search because its workspace does by default', async () => {
    const { gateway } = lab;
    const { managementKey } = gateway;
    const save = (default_plugins: object[] | null) =>
      gateway.send('PATCH', `/workspaces/${main}`, { default_plugins }, { key: managementKey });
    expect((await save([{ id: 'web-fetch' }, { id: 'adding' }])).status).toBe(200);
    try {
      const own = await ask('openai-chat', {});
      expect(own.status, own.text).toBe(403); // the plugin of the operator is on, and adds a tool
      expect((await save([{ id: 'web-fetch' }])).status).toBe(200);
      expect(await ask('openai-chat', {})).toMatchObject({ status: 200 });
      expect(takeRequests()[0]!.body).not.toHaveProperty('tools');
      expect((await send('/responses', { model: 'acme/openai-chat', input: 'Hi' }, gateway.key)).status).toBe(200);
      expect(takeRequests()[0]!.body).toHaveProperty('tools');
    } finally {
      await save(null);
    }
  });
});

describe('an intern whose operator permits tools', () => {
  const permit = (...names: string[]) => lab.reload(settings({ tools: names }));
  afterAll(() => lab.reload(settings()));

  it.each(wires)('fetches pages of its hosts alone, at %s', async (wire) => {
    await permit('router:web_fetch');
    const fetching = (url: string) => ({ calls: [call('router_web_fetch', { url })] });
    answer = (response) =>
      arrived.at(-1)!.endsWith('/away')
        ? response.writeHead(302, { location: `${outside}/leak` }).end()
        : response.end('page');
    for (const url of [`${inside}/page`, `${inside}/away`, `${outside}/leak`]) {
      lab.script(wire, fetching(url), { text: 'ok' });
      const { status, text: shown } = await ask(wire, { tools: [{ type: 'router:web_fetch' }] });
      expect({ status, shown }).toMatchObject({ status: 200 });
      const { output } = JSON.parse(shown) as { output: object[] };
      const again = await ask(wire, { input: [{ role: 'user', content: 'Read' }, ...output] });
      expect(again).toMatchObject({ status: 200 }); // what the gateway writes, it knows
    }
    expect(arrived).toEqual(['localhost /page', 'localhost /away']);
  });

  it.each(wires)('calls MCP servers of its hosts alone, and no provider does, at %s', async (wire) => {
    await permit('mcp');
    const server = (base: string) => ({ tools: [{ type: 'mcp', server_label: 'x', server_url: `${base}/mcp` }] });
    expect(await ask(wire, server(outside))).toMatchObject({ status: 403 });
    expect(await ask(wire, { tools: [{ type: 'mcp', server_label: 'docs' }] })).toMatchObject({ status: 403 });
    expect(arrived).toEqual([]);
    await ask(wire, server(inside)); // it is no MCP server
    expect(arrived[0]).toBe('localhost /mcp');
    expect(JSON.stringify(takeRequests())).not.toContain('localhost');
    arrived = [];
    await permit('mcp:docs');
    await ask(wire, { tools: [{ type: 'mcp', server_label: 'docs' }] });
    expect(arrived[0]).toBe('127.0.0.1 /docs');
    expect(await ask(wire, server(inside))).toMatchObject({ status: 403 });
  });

  it('remembers on its own', async () => {
    await permit('router:memory');
    const { gateway } = lab;
    const remember = async (input: object, as?: string) => {
      lab.script('openai-chat', { calls: [call('router_memory', input)] }, { text: 'ok' });
      const { text: shown } = await ask('openai-chat', { tools: [{ type: 'router:memory' }] }, as);
      return (JSON.parse(shown) as { output: object[] }).output[0];
    };
    await remember({ action: 'write', key: 'color', value: 'red' }, gateway.key);
    expect(await remember({ action: 'read' })).toMatchObject({ keys: [] });
    expect(await remember({ action: 'read', key: 'color' })).toHaveProperty('error');
    expect(await remember({ action: 'delete', key: 'color' })).toHaveProperty('error');
    await remember({ action: 'write', key: 'color', value: 'blue' });
    expect(await remember({ action: 'read', key: 'color' })).toMatchObject({ value: 'blue' });
    expect(await remember({ action: 'read' })).toMatchObject({ keys: ['color'] });
    expect(await remember({ action: 'read', key: 'color' }, gateway.key)).toMatchObject({ value: 'red' });
    expect(await remember({ action: 'read' }, gateway.key)).toMatchObject({ keys: ['color'] });
  });

  it('searches stored files only if it can read them', async () => {
    const tools = [{ type: 'router:file_search' }];
    await permit('router:file_search');
    expect(await ask('openai-chat', { tools })).toMatchObject({ status: 403 });
    const hosted = [{ type: 'file_search', vector_store_ids: ['workspace'] }];
    expect(await ask('openai-chat', { tools: hosted })).toMatchObject({ status: 403 });
    await permit('router:file_search', 'router:files');
    expect(await ask('openai-chat', { tools })).toMatchObject({ status: 200 });
  });

  it.each(wires)('gives an inner model no more, at %s', async (wire) => {
    await permit('router:subagent');
    const inner = [{ type: 'router:web_fetch' }];
    lab.script(wire, { calls: [call('router_subagent', { task: 'Read it' })] }, { text: 'ok' });
    const tools = [{ type: 'router:subagent', parameters: { tools: inner, model: `acme/${wire}` } }];
    await ask(wire, { tools });
    expect(arrived).toEqual([]);
    expect(JSON.stringify(takeRequests().map(({ body }) => body))).not.toContain('router_web_fetch');
  });

  it('cannot open a sandbox with more hosts', async () => {
    await permit('router:shell');
    for (const domain of ['*', 'example.com', '*.localhost', '127.0.0.1']) {
      const policy = { type: 'allowlist', allowed_domains: ['localhost', domain] };
      const environment = { type: 'container_auto', network_policy: policy };
      const { status, body } = await ask('openai-responses', {
        tools: [{ type: 'router:shell', parameters: { environment } }],
      });
      expect({ domain, status, body }).toMatchObject({ status: 403 });
    }
    expect(takeRequests()).toEqual([]);
  });
});

describe('the key of an intern', () => {
  const route = async (method: string, path: string, body?: object) => {
    const response = await lab.gateway.send(method, path, body, { key });
    return response.status;
  };

  it('changes nothing outside of its home', async () => {
    const { gateway } = lab;
    const form = new FormData();
    form.append('file', new Blob(['secret of carol']), 'a.txt');
    const headers = { authorization: `Bearer ${gateway.key}` };
    const uploaded = await fetch(`${gateway.baseUrl}/files`, { method: 'POST', headers, body: form });
    const { id: fileId } = (await uploaded.json()) as { id: string };
    const intern = `/interns/${internId}`;
    const writes: [string, string, object?][] = [
      ['POST', '/files'],
      ['DELETE', `/files/${fileId}`],
      ['POST', '/presets', { name: 'x', slug: 'x', config: {} }],
      ['PATCH', '/presets/surfer', { system_prompt: 'Obey.' }],
      ['DELETE', '/presets/surfer'],
      ['POST', '/presets/surfer/responses', { input: 'x' }],
      ['POST', '/presets/surfer/chat/completions', {}],
      ['POST', '/presets/surfer/messages', {}],
      ['PATCH', intern, { instructions: 'Obey.' }],
      ['DELETE', intern],
      ['POST', `${intern}/provision`],
      ['POST', `${intern}/suspend`],
      ['POST', `${intern}/invoke`, { input: 'x' }],
      ['POST', `${intern}/chat/completions`, { stream: true, messages: [{ role: 'user', content: 'x' }] }],
      ['POST', `${intern}/schedules`, { cron: '* * * * *', input: 'x' }],
      ['PATCH', `${intern}/schedules/x`, {}],
      ['DELETE', `${intern}/schedules/x`],
      ['PUT', `/vault/interns/${internId}/secrets/a`, { value: 'x', hosts: ['localhost'] }],
      ['DELETE', `/vault/interns/${internId}/secrets/a`],
      ['POST', `/vault/interns/${internId}/secrets/copy`, { names: ['a'] }],
      ['PUT', '/vault/secrets/a', { value: 'x', hosts: ['localhost'] }],
      ['POST', '/containers/sess_x/files/cfile_YQ/promote'],
      ['POST', '/keys', { name: 'x' }],
      ['PATCH', `/workspaces/${main}`, {}],
    ];
    for (const [method, path, body] of writes) expect([path, await route(method, path, body)]).toEqual([path, 403]);
    expect((await gateway.get(`/files/${fileId}`)).status).toBe(200);
    const named = { input: text([{ type: 'input_file', file_id: fileId }]) };
    expect(await ask('openai-responses', named)).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('no file') } },
    });
    expect(takeRequests()).toEqual([]);
  });

  it('lists what is its own', async () => {
    const { gateway } = lab;
    const made = async (as: string) => {
      const response = await gateway.post('/responses', { model: 'acme/openai-chat', input: 'Hi' }, { key: as });
      return response.headers.get('x-generation-id')!;
    };
    const [own, other] = [await made(key), await made(gateway.key)];
    const list = async (query: string) =>
      (await gateway.get(`/generations${query}`, { key })).json() as Promise<{ data: { id: string }[] }>;
    const ids = (await list('')).data.map(({ id }) => id);
    expect(ids).toContain(own);
    expect(ids).not.toContain(other);
    expect(await route('GET', `/generation?id=${own}`)).toBe(200);
    expect(await route('GET', `/generation?id=${other}`)).toBe(404);
    for (const path of [
      '/files',
      '/files/file_x',
      '/presets',
      '/presets/surfer',
      '/vault/secrets',
      `/interns/${internId}/daemon`,
      `/interns/${internId}/logs`,
    ])
      expect([path, await route('GET', path)]).toEqual([path, 403]);
    for (const path of ['/models', '/key', `/interns/${internId}`, `/interns/${internId}/schedules`])
      expect([path, await route('GET', path)]).toEqual([path, 200]);
    const colleague = await gateway.post('/interns', { name: 'colleague', workspace_id: main });
    const { id } = (await colleague.json()) as { id: string };
    for (const path of ['/interns', `/interns/${id}`, `/interns/${id}/schedules`, `/vault/interns/${id}/secrets`])
      expect([path, await route('GET', path)]).toEqual([path, 404]);
    expect(await route('POST', '/interns', { name: 'another', workspace_id: main })).toBe(404);
  });
});
