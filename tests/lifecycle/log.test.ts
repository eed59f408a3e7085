import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  bytes,
  htmlPage,
  json,
  resetAfter,
  resetBeforeHeaders,
  type Script,
  type ScriptedUpstream,
  sse,
  stallBeforeHeaders,
  startUpstream,
} from '../../src/testing/index.ts';
import { caseOf, imageWireNames } from '../api/images-wires.ts';
import { bootstrap, cleanUp, type GatewayProcess, startGateway } from './gateway-process.ts';

const secrets = {
  prompt: 'PROMPT-what-the-client-asked',
  answer: 'ANSWER-what-the-model-said',
  user: 'USER-ada@example.com',
  providerKey: 'sk-PROVIDER-key-1234567890',
  otherKey: 'sk-PROVIDER-other-1234567890',
  header: 'Bearer HEADER-token-1234567890',
  masterKey: 'MASTER-key-1234567890',
  collector: 'COLLECTOR-key-1234567890',
  wrongKey: 'WRONG-key-of-a-client-123',
  bootstrapKey: 'BOOTSTRAP-key-1234567890',
};

let upstream: ScriptedUpstream;
let gateway: GatewayProcess;
beforeEach(async () => {
  upstream = await startUpstream();
});
afterEach(async () => {
  await cleanUp();
  await upstream.close();
});

const start = async (log: object, more: object = {}, timeouts: object = {}): Promise<void> => {
  const provider = {
    wire: 'openai-chat',
    base_url: upstream.url,
    api_key: [secrets.providerKey, secrets.otherKey],
    headers: { 'x-extra': secrets.header },
    timeouts,
  };
  gateway = await startGateway({
    config: {
      log,
      secrets: { master_key: secrets.masterKey },
      retry: { attempts: 1 },
      ...more,
      providers: [
        { id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/*' }] },
        { id: 'chat', ...provider, models: [{ model: 'chat/m' }] },
        { id: 'responses', ...provider, wire: 'openai-responses', models: [{ model: 'responses/m' }] },
        { id: 'anthropic', ...provider, wire: 'anthropic-messages', models: [{ model: 'anthropic/m' }] },
        { id: 'gemini', ...provider, wire: 'gemini', models: [{ model: 'gemini/m' }] },
        ...imageWireNames.map((wire) => {
          const { model: upstream_model, dialect, output } = caseOf(wire);
          const model = {
            model: `pictures/${wire}`,
            upstream_model,
            ...(output && { capabilities: { output } }),
          };
          return { id: `pictures-${wire}`, ...provider, wire, ...(dialect && { dialect }), models: [model] };
        }),
      ],
      bootstrap: {
        ...bootstrap,
        keys: [...bootstrap.keys, { key: secrets.bootstrapKey, name: 'b', workspace: 'main', member: 'ada' }],
      },
    },
    env: { HEADGATE_LOG_LEVEL: '' },
  });
};

const everything = Object.values(secrets).join(' ');
/** Creates a provider that repeats the complete request, and more. */
const echo = (status: number, wrap: (text: string) => unknown): Script => {
  return ({ text, headers }) => json(wrap(`${everything} ${text} ${JSON.stringify(headers)}`), { status });
};

const troubles: Script[] = [
  ...[400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504, 529].flatMap((status) => [
    echo(status, (message) => ({ error: { message, code: message, type: message, param: message } })),
    echo(status, (detail) => ({ error: { message: 'It failed.', detail } })), // not part of the message to the client
    echo(status, (text) => [text]),
  ]),
  htmlPage(502),
  bytes(`{"choices": [${everything}`, { headers: { 'content-type': 'application/json' } }),
  bytes(everything, { headers: { 'content-type': 'text/event-stream' } }),
  json({ choices: everything, output: everything, content: everything, candidates: everything }),
  json({ error: { message: everything } }),
  sse([{ error: { message: everything, code: everything } }]),
  sse(
    `data: ${everything}\n\ndata: {"choices":[{"delta":{"content":"${secrets.answer}"}}]}\n\ndata: {"${everything}\n\n`,
  ),
  // A success on every wire, with names that nobody else would give.
  json({
    model: everything,
    modelVersion: everything,
    service_tier: everything,
    [everything]: everything,
    status: 'completed',
    stop_reason: 'end_turn',
    [`x_${everything}`]: { note: [everything] },
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] }],
    content: [{ type: 'text', text: 'Hello' }],
    candidates: [{ content: { parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
    usage: { input_tokens: 1, output_tokens: 1, prompt_tokens: 1, completion_tokens: 1, service_tier: everything },
  }),
  resetAfter(60, sse([{ choices: [{ delta: { content: everything } }] }])),
  resetBeforeHeaders(),
  stallBeforeHeaders(),
];

const read = (): Record<string, unknown>[] =>
  gateway.running.stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));

it('the log never contains a key, a prompt, a response or an end user, whatever fails, at the level trace', async () => {
  const telemetry = { otlp_endpoint: 'http://127.0.0.1:9', headers: { 'x-key': secrets.collector } };
  const hasty = { first_byte_ms: 200, idle_ms: 200 };
  await start({ level: 'trace', requests: true }, { telemetry }, hasty);
  const body = { input: secrets.prompt, user: secrets.user, session_id: secrets.user, metadata: { a: secrets.user } };
  for (const wire of ['chat', 'responses', 'anthropic', 'gemini']) {
    for (const trouble of troubles) {
      upstream.always(trouble);
      const ask = async (stream: boolean) => (await gateway.post({ model: `${wire}/m`, ...body, stream })).text();
      await Promise.all([ask(false), ask(true)]);
    }
  }
  await gateway.post({ model: 'nobody/knows', ...body });
  await gateway.post({ model: 'chat/m', input: secrets.prompt, nonsense: secrets.user });
  await gateway.post(body, secrets.wrongKey);
  await gateway.get(`/api/v1/${secrets.wrongKey}`, secrets.bootstrapKey);
  await gateway.get(`/api/v1/generation?id=${secrets.wrongKey}`);
  await gateway.end();

  const { stderr, stdout } = gateway.running;
  const text = stderr + stdout;
  expect(read().length).toBeGreaterThan(troubles.length * 8);
  for (const [name, secret] of Object.entries(secrets)) {
    const at = text.indexOf(secret.replace('Bearer ', ''));
    expect(at === -1 ? '' : text.slice(Math.max(0, at - 300), at + 100), name).toBe('');
  }
});

it('the log never contains an image or the address of one', async () => {
  await start({ level: 'trace', requests: true }, { images: { request_ms: 1000, stream_ms: 1000 } }); // some providers are polled until the deadline
  const url = `${upstream.url}/${secrets.answer}?signature=${secrets.answer}`;
  const body = {
    prompt: secrets.prompt,
    user: secrets.user,
    session_id: secrets.user,
    trace: { trace_name: secrets.user },
    provider: { options: { 'pictures-fal': { prompt: secrets.prompt } } },
  };
  const more: Script[] = [
    json({ data: [{ url }], images: [{ url }], polling_url: url, status_url: url, response_url: url }),
    json({ data: [{ url: `http://127.0.0.1:9/${secrets.answer}` }], images: [{ url: 'http://169.254.169.254/' }] }),
    json({ data: [{ b64_json: Buffer.from(secrets.answer).toString('base64') }] }),
  ];
  let asked = 0;
  const ask = async (fields: object) => {
    asked++;
    const answer = await gateway.post({ ...body, ...fields }, undefined, '/images');
    const text = await answer.text();
    expect(answer.status, text).toBeGreaterThan(399);
    for (const secret of [secrets.providerKey, secrets.otherKey, secrets.masterKey]) {
      expect(text.split(everything).join('')).not.toContain(secret); // the text of the provider itself may be logged
    }
  };
  for (const wire of imageWireNames) {
    for (const trouble of [...more, echo(400, (message) => ({ error: { message } })), resetBeforeHeaders()]) {
      upstream.always(trouble);
      await Promise.all([false, true].map((stream) => ask({ model: `pictures/${wire}`, stream })));
    }
  }
  const image_url = { url: `http://127.0.0.1/${secrets.answer}?${secrets.answer}` };
  await ask({ model: 'pictures/fal', input_references: [{ type: 'image_url', image_url }] });
  await ask({ model: 'nobody/knows', nonsense: secrets.user });
  await gateway.end();

  const { stderr, stdout } = gateway.running;
  expect(read().length).toBeGreaterThanOrEqual(asked);
  for (const [name, secret] of Object.entries(secrets)) {
    const at = (stderr + stdout).indexOf(secret.replace('Bearer ', ''));
    expect(at === -1 ? '' : (stderr + stdout).slice(Math.max(0, at - 300), at + 100), name).toBe('');
  }
});

describe('a failure of a provider', () => {
  const post = async (body: object) => (await gateway.post({ input: secrets.prompt, ...body })).text();
  const lines = () => read().filter(({ kind }) => kind !== undefined);

  it('is a line also if another endpoint responded, and the line says so', async () => {
    await start({});
    upstream.always(echo(503, (message) => ({ error: { message } })));
    await post({ model: 'chat/m', models: ['anthropic/m', 'simulator/echo'] });
    upstream.always(echo(429, (message) => ({ error: { message } })));
    await post({ model: 'chat/m', models: ['simulator/echo'], stream: true });
    await gateway.end();
    const base = { rescued: true, generation_id: expect.stringMatching(/^gen-/), request_id: expect.any(String) };
    const overloaded = { ...base, level: 40, kind: 'upstream_overloaded', status: 529 };
    const limited = { ...base, level: 30, kind: 'rate_limited', status: 429, model: 'chat/m', provider: 'chat' };
    expect(lines()).toMatchObject([
      { ...overloaded, model: 'chat/m', provider: 'chat' },
      { ...overloaded, model: 'anthropic/m', provider: 'anthropic' },
      limited,
      limited, // with the other key
    ]);
  });

  it('that ends a request is one line with its cause, the last endpoint and the earlier ones', async () => {
    await start({ requests: true });
    upstream.always(echo(500, (message) => ({ error: { message } })));
    await post({ model: 'chat/m', models: ['anthropic/m'] });
    upstream.always(sse([{ choices: [{ delta: { content: secrets.answer } }] }], { done: false }));
    await post({ model: 'chat/m', stream: true });
    await gateway.end();
    const failed = { level: 40, kind: 'upstream_failed', status: 502 };
    const ids = { generation_id: expect.stringMatching(/^gen-/), request_id: expect.any(String) };
    expect(lines()).toMatchObject([
      {
        ...failed,
        ...ids,
        msg: 'request failed',
        model: 'anthropic/m',
        provider: 'anthropic',
        method: 'POST',
        route: '/api/v1/responses',
        requested_model: 'chat/m',
        error: expect.stringContaining('500'),
        failed_attempts: [{ model: 'chat/m', provider: 'chat', status: 502, error: expect.stringContaining('500') }],
        duration_ms: expect.any(Number),
      },
      { ...failed, ...ids, msg: 'request failed', model: 'chat/m', provider: 'chat', streamed: true },
    ]);
    expect(read().filter(({ msg }) => msg === 'request')).toEqual([]);
    for (const secret of [secrets.prompt, secrets.answer, secrets.providerKey]) {
      expect(gateway.running.stderr).not.toContain(secret);
    }
  });
});

describe('a rejected key', () => {
  it('of a provider is one line for each key, and not one per request', async () => {
    await start({});
    upstream.always(echo(401, (message) => ({ error: { message } })));
    for (const stream of [false, true, false]) {
      expect(await (await gateway.post({ model: 'chat/m', input: 'hi', stream })).text()).toContain('rejects the key');
    }
    await gateway.post({ model: 'chat/m', models: ['simulator/echo'], input: 'hi' });
    await gateway.end();
    const line = { level: 50, msg: 'provider key rejected', provider: 'chat', count: 1 };
    const lines = read().filter(({ level }) => Number(level) >= 30);
    expect(lines.filter(({ msg }) => /rejected|failed/.test(String(msg)))).toMatchObject([
      { ...line, key: expect.any(Number) },
      { ...line, key: expect.any(Number) },
    ]);
  });

  it('of a search engine and of an MCP server is one line, too', async () => {
    const tools = {
      web_search: { engines: { exa: { driver: 'exa', base_url: upstream.url, api_key: 'engine-key' } } },
    };
    const servers = { wiki: { url: `${upstream.url}/mcp`, headers: { authorization: 'Bearer of-the-wiki' } } };
    await start({}, { tools, mcp: { servers } });
    upstream.always(({ path }) => json({ error: path }, { status: 401 }));
    for (let count = 0; count < 2; count++) {
      await (
        await gateway.post({ model: 'simulator/echo', input: 'hi', plugins: [{ id: 'web', engine: 'exa' }] })
      ).text();
      const mcp = { type: 'mcp', server_label: 'wiki' };
      const response = await gateway.post({ model: 'simulator/echo', input: 'hi', tools: [mcp] });
      expect(await response.text()).toContain('The MCP server wiki rejects the key of the gateway (status 401).');
    }
    await gateway.end();
    expect(read().filter(({ msg }) => /rejected|failed/.test(String(msg)))).toMatchObject([
      { level: 50, msg: 'service key rejected', service: 'search exa', status: 401 },
      { level: 50, msg: 'service key rejected', service: 'mcp wiki', status: 401 },
    ]);
  });
});

describe('a finished request', () => {
  const ask = async () => {
    const body = { input: 'hi', user: 'ada', stream: true };
    const response = await gateway.post(body);
    await response.text();
    await gateway.get('/api/v1/models');
    await gateway.end();
    return response.headers;
  };

  it('is a line with its ids, times, tokens and cost if log.requests is on', async () => {
    await start({ requests: true });
    const headers = await ask();
    const lines = read().filter(({ msg }) => msg === 'request');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatchObject({
      level: 30,
      request_id: headers.get('x-request-id'),
      generation_id: headers.get('x-generation-id'),
      key_name: expect.stringMatching(/\w/),
      key_hash: expect.stringMatching(/^[0-9a-f]{12}$/),
      requested_model: 'simulator/echo',
      model: 'simulator/echo',
      provider: 'simulator',
      streamed: true,
      outcome: 'completed',
      status: 200,
      attempts: 1,
      duration_ms: expect.any(Number),
      queue_ms: expect.any(Number),
      overhead_ms: expect.any(Number),
      first_output_ms: expect.any(Number),
      upstream_ms: expect.any(Number),
      input_tokens: expect.any(Number),
      output_tokens: expect.any(Number),
      end_user: expect.stringMatching(/^\w{16,}$/),
    });
    expect(lines[1]).toMatchObject({ method: 'GET', route: '/api/v1/models', status: 200 });
  });

  it('is logged at debug otherwise', async () => {
    await start({ level: 'debug' });
    await ask();
    expect(read().filter(({ msg, level }) => msg === 'request' && level === 20)).toHaveLength(2);
  });

  it('is not logged at the level info', async () => {
    await start({ level: 'info' });
    await ask();
    expect(read().filter(({ msg }) => msg === 'request')).toHaveLength(0);
  });

  it('is a line of text with the failed attempts if log.format is pretty', async () => {
    await start({ format: 'pretty' });
    upstream.always(echo(503, (message) => ({ error: { message } })));
    await (await gateway.post({ model: 'chat/m', models: ['simulator/echo'], input: secrets.prompt })).text();
    await gateway.get('/api/v1/models');
    await gateway.end();
    const lines = gateway.running.stderr.split('\n');
    expect(lines).toContainEqual(
      expect.stringMatching(
        /^\d\d:\d\d:\d\d {2}200 {2}chat\/m -> simulator\/echo -> simulator {2}\(after chat 529\) {2}[\d,]+ ms {2}\d+\+\d+ tokens {2}\$0$/,
      ),
    );
    expect(lines).toContainEqual(expect.stringMatching(/^\d\d:\d\d:\d\d {2}200 {2}GET \/api\/v1\/models {2}\d+ ms$/));
    expect(gateway.running.stderr).not.toContain('WARN');
    expect(read()).toEqual([]);
    for (const secret of Object.values(secrets)) expect(gateway.running.stderr).not.toContain(secret);
  });

  it('is no line of text if log.requests is off', async () => {
    await start({ format: 'pretty', requests: false });
    await ask();
    const lines = gateway.running.stderr.split('\n').filter((line) => line.includes('simulator/echo'));
    expect(lines.filter((line) => !line.includes('request fields dropped'))).toEqual([]);
  });
});
