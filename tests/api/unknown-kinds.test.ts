import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { itemTypes } from '../../src/domain/items.ts';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { ask, provider, type WireName, wholeBody, wireNames } from './lab.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;

const of = (wire: WireName, name: string) =>
  provider(wire, name, upstream, { models: [{ model: 'both/m', upstream_model: 'm' }] });

beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: [
      ...wireNames.map((wire) => provider(wire, 'one', upstream)),
      ...['third', 'fourth'].map((name) =>
        provider('openai-chat', name, upstream, { models: [{ model: 'openai-chat/two', upstream_model: 'm' }] }),
      ),
      of('openai-chat', 'first'),
      of('openai-responses', 'second'),
      provider('openai-responses', 'fetch', upstream, { urls: 'fetch' }),
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  upstream.always(({ path }) => {
    if (path.endsWith('/messages')) return json(wholeMessage);
    return json(wholeBody(path.endsWith('/responses') ? 'openai-responses' : 'openai-chat'));
  });
});

const wholeMessage = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'Hello there.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 20, output_tokens: 10 },
};

/** Sends a body of another API. */
async function post(path: string, body: object) {
  const response = await gateway.post(path, body, { headers: { 'x-router-metadata': 'enabled' } });
  const { error, router_metadata: metadata } = (await response.json()) as {
    error?: { message: string };
    router_metadata?: { params?: { dropped_fields?: string[]; ignored_fields?: string[] } };
  };
  return { status: response.status, message: error?.message, params: metadata?.params };
}

const user = { type: 'message', role: 'user', content: 'Go on.' };
const unknown = {
  type: 'quantum_call',
  id: 'qc_1',
  role: 'user',
  status: 'half',
  state: { '': [null, 0.1, 'ü\u2028'], nested: { type: 'message', content: 5 } },
};
const send = (model: string, ...items: object[]) => ask(gateway, 'buffered', { model, input: [...items, user] });
const sent = () => upstream.requests.at(-1)!;
const sentInput = () => (sent().body as { input: object[] }).input;

describe('an item of a kind that the gateway does not know', () => {
  it('is sent back unchanged to a provider with native items', async () => {
    const recording = new URL(
      '../../src/providers/openai-responses/recordings/unknown-kinds.whole.http',
      import.meta.url,
    );
    const text = readFileSync(recording, 'utf8');
    const body = JSON.parse(text.slice(text.indexOf('{'))) as object;
    upstream.respond(json(body));
    const { response } = await send('openai-responses/one');
    const output = response!.output as { type: string; model?: string }[];
    expect(output.some(({ type }) => !itemTypes.has(type))).toBe(true);

    const { status } = await send('openai-responses/one', ...output);

    expect(status).toBe(200);
    // Only the gateway reads the model of a message. OpenAI's id of one that has no reasoning is not sent back.
    const expected = output.map(({ model: _, ...item }) =>
      item.type === 'message' ? { ...item, id: undefined } : item,
    );
    expect(sentInput().slice(0, -1)).toEqual(expected);
  });

  it('is sent with any content', async () => {
    expect((await send('openai-responses/one', unknown)).status).toBe(200);
    expect(sentInput()[0]).toEqual(unknown);
  });

  it.each([
    'openai-chat',
    'anthropic-messages',
    'gemini',
  ] as const)('is a 400 that names the kind on %s', async (wire) => {
    const before = upstream.requests.length;

    const { status, envelope } = await send(`${wire}/one`, unknown);

    expect(status).toBe(400);
    expect(envelope?.error.message).toMatch(
      /^input\[0\]: The item quantum_call cannot be sent to .*has no place for it\.$/,
    );
    expect(upstream.requests.length).toBe(before);
  });

  it('chooses an endpoint that can represent it', async () => {
    const { status } = await ask(gateway, 'buffered', {
      model: 'both/m',
      input: [unknown, user],
      provider: { order: ['openai-chat-first'] },
    });

    expect([status, sent().path]).toEqual([200, '/v1/responses']);
  });

  it('is not sent to an endpoint that accepts no addresses, because it may contain one', async () => {
    const { status, envelope } = await send('openai-responses/fetch', unknown);

    expect([status, envelope?.error.message]).toEqual([
      400,
      expect.stringMatching(/^input\[0\]: .*urls: fetch.*quantum_call/),
    ]);
  });

  it.each(['simulator/echo', 'openai-chat/one'])('may be misspelled: %s names the nearest one', async (model) => {
    const { status, envelope } = await send(model, { type: 'mesage', role: 'user', content: 'a' });

    expect([status, envelope?.error.message]).toEqual([
      400,
      expect.stringMatching(/^input\[0\]: The item mesage .* Did you mean message\?$/),
    ]);
  });
});

describe('a part of a kind that the gateway does not know', () => {
  const hologram = { type: 'input_hologram', layers: [1, { deep: true }] };
  const message = { type: 'message', role: 'user', content: [hologram] };
  const output = [
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: [hologram] },
  ];

  it('is sent to a provider with native items', async () => {
    expect((await send('openai-responses/one', message, ...output)).status).toBe(200);
    expect(sentInput().slice(0, 3)).toEqual([message, ...output]);
  });

  it.each([
    'openai-chat/one',
    'anthropic-messages/one',
    'gemini/one',
    'simulator/echo',
  ])('is a 400 on %s', async (model) => {
    for (const [items, path] of [
      [[message], 'input[0].content[0]'],
      [output, 'input[1].output[0]'],
    ] as const) {
      const { status, envelope } = await send(model, ...items);
      expect([status, envelope?.error.message]).toEqual([
        400,
        expect.stringContaining(`${path}: The part input_hologram cannot be sent to`),
      ]);
    }
  });

  it.each(['__proto__', 'constructor', 'toString'])('is not special if it is named %s', async (type) => {
    for (const model of ['openai-chat/one', 'anthropic-messages/one', 'gemini/one', 'simulator/echo']) {
      expect((await send(model, { type: 'message', role: 'user', content: [{ type }] })).status).toBe(400);
      expect((await send(model, { type })).status).toBe(400);
    }
  });
});

describe('a tool of a kind that the gateway does not know', () => {
  const computer = { type: 'computer_2027', display: { width: 1, deep: [null] }, headers: { 'x-secret': 'k' } };
  const request = { input: 'Go.', tools: [computer], tool_choice: { type: 'computer_2027', mode: 'gently' } };

  it('is sent unchanged to a provider of the same format, with a choice of it', async () => {
    const { status, response } = await ask(gateway, 'buffered', { model: 'openai-responses/one', ...request });

    expect(status).toBe(200);
    expect(sent().body).toMatchObject({ tools: [computer], tool_choice: request.tool_choice });
    const { headers: _, ...shown } = computer;
    expect(response!.tools).toEqual([shown]);
  });

  it.each(['openai-chat', 'anthropic-messages', 'gemini'])('is a 400 that names it on %s', async (wire) => {
    const { status, envelope } = await ask(gateway, 'buffered', { model: `${wire}/one`, ...request });
    expect([status, envelope?.error.message]).toEqual([
      400,
      expect.stringMatching(/^tools\[0\]: The tool computer_2027 cannot be sent to /),
    ]);
  });

  it('chooses an endpoint that can represent it', async () => {
    const provider = { order: ['openai-chat-first'] };
    const { status } = await ask(gateway, 'buffered', { model: 'both/m', ...request, provider });
    expect([status, sent().path]).toEqual([200, '/v1/responses']);
  });

  it.each([
    ['web_serch', 'web_search'],
    ['openrouter:datetime', 'router:datetime'],
  ])('may be misspelled: the nearest kind of %s is named', async (type, nearest) => {
    const body = { model: 'simulator/echo', tools: [{ type }] };
    const { status, envelope } = await ask(gateway, 'buffered', body);
    expect([status, envelope?.error.message]).toEqual([400, expect.stringContaining(`Did you mean ${nearest}?`)]);
  });

  it('is a 422 if only the choice names it', async () => {
    const { status } = await ask(gateway, 'buffered', { model: 'openai-responses/one', ...request, tools: [] });
    expect(status).toBe(422);
  });
});

describe('a function without parameters', () => {
  const tools = [{ type: 'function', name: 'f' }];

  it.each([
    ['openai-responses', [{ type: 'function', name: 'f', parameters: null }]],
    ['openai-chat', [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]],
  ] as const)('is sent to %s', async (wire, written) => {
    const { status, response } = await ask(gateway, 'buffered', { model: `${wire}/one`, tools });
    expect(status).toBe(200);
    expect((sent().body as { tools: unknown }).tools).toEqual(written);
    expect(response!.tools).toMatchObject([{ name: 'f', parameters: null }]);
  });
});

describe('a word that the gateway does not know', () => {
  const words = {
    include: ['reasoning.encrypted_content', 'hologram.layers'],
    reasoning: { effort: 'ultra', summary: 'poetic', context: 'last_turn' },
    text: { verbosity: 'epic' },
  };
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', status: 'paused' };
  const input = [call, { type: 'function_call_output', call_id: 'c', output: 'x' }, { ...user, phase: 'prologue' }];
  const dropped = async (wire: WireName) => {
    const { status, headers } = await ask(gateway, 'buffered', { model: `${wire}/one`, ...words, input });
    return [status, headers.get('x-router-dropped-fields') ?? ''] as const;
  };

  it('is sent to a provider of the same format', async () => {
    expect(await dropped('openai-responses')).toEqual([200, '']);
    expect(sent().body).toMatchObject({ ...words, input });
  });

  it('is left out and named on openai-chat', async () => {
    const [status, names] = await dropped('openai-chat');
    expect(status).toBe(200);
    expect(names).toMatch(/reasoning.effort.*reasoning.summary.*reasoning.context.*text.verbosity.*include/);
    expect(JSON.stringify(sent().body)).not.toMatch(/ultra|poetic|last_turn|epic|hologram/);
  });
});

describe('chat completions with what the gateway does not know', () => {
  const hologram = { type: 'hologram', layers: [1, { deep: null }] };
  const messages = [
    { role: 'user', content: [{ type: 'text', text: 'Look.' }, hologram] },
    { role: 'assistant', content: [hologram] },
    { role: 'user', content: 'Go on.' },
  ];
  const grounding = { type: 'grounding', grounding: { deep: [null] } };
  const marked = {
    type: 'function',
    speed: 'fast',
    function: { name: 'f', parameters: {}, strict: true, examples: [{ a: null }] },
  };

  it('reach a provider of the same format unchanged', async () => {
    const choice = { type: 'grounding', mode: 'gently' };
    const effort = { reasoning_effort: 'ultra', verbosity: 'epic' };
    const body = { model: 'openai-chat/one', messages, tools: [marked, grounding], tool_choice: choice, ...effort };

    expect(await post('/chat/completions', body)).toMatchObject({ status: 200 });

    expect(sent().body).toMatchObject({ messages, tools: [marked, grounding], tool_choice: choice, ...effort });
  });

  it('reach it also after a first endpoint has failed', async () => {
    upstream.respond(json({ error: { message: 'Down.' } }, { status: 500 }));
    const long = { role: 'user', content: 'word '.repeat(20_000) };
    const body = { model: 'openai-chat/two', messages: [long, ...messages], tools: [grounding] };
    expect(await post('/chat/completions', body)).toMatchObject({ status: 200 });
    expect(sent().body).toMatchObject({ messages: [long, ...messages], tools: [grounding] });
  });

  it.each([
    ['a part', { messages }, 'messages[0].content[1]: The part hologram cannot be sent to'],
    ['a tool', { tools: [grounding] }, 'tools[0]: The tool grounding cannot be sent to'],
    [
      'a choice',
      { tools: [marked], tool_choice: { type: 'grounding' } },
      'tool_choice.type: The choice grounding cannot be sent to',
    ],
  ])('are a 400 that names %s elsewhere', async (_, fields, text) => {
    for (const wire of ['openai-responses', 'anthropic-messages', 'gemini']) {
      const body = { model: `${wire}/one`, messages: [{ role: 'user', content: 'Hi' }], ...fields };
      expect(await post('/chat/completions', body)).toMatchObject({
        status: 400,
        message: expect.stringContaining(text),
      });
    }
  });

  it('are left out and named elsewhere, if they are fields or hints', async () => {
    const body = {
      model: 'openai-responses/one',
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [marked],
      reasoning_effort: 'ultra',
      verbosity: 'epic',
    };
    const { status, params } = await post('/chat/completions', body);
    expect([status, params?.dropped_fields]).toEqual([
      200,
      ['reasoning_effort (ultra)', 'verbosity (epic)', 'tools[0].speed', 'tools[0].function.examples'],
    ]);
    expect(JSON.stringify(sent().body)).not.toMatch(/ultra|epic|speed|examples/);
  });

  it('choose an endpoint that can represent them', async () => {
    const body = { model: 'both/m', messages, provider: { order: ['openai-responses-second'] } };
    expect(await post('/chat/completions', body)).toMatchObject({ status: 200 });
    expect(sent().path).toBe('/v1/chat/completions');
  });

  it('leave the mark of a cache out where the provider has none', async () => {
    const tool = { type: 'function', function: { name: 'f' }, cache_control: { type: 'ephemeral' } };
    const body = { model: 'openai-chat/one', messages: [{ role: 'user', content: 'Hi' }], tools: [tool] };
    expect((await post('/chat/completions', body)).params?.dropped_fields).toEqual(['cache_control']);
    expect(JSON.stringify(sent().body)).not.toContain('cache_control');
  });
});

describe('messages with what the gateway does not know', () => {
  const image = { type: 'image', source: { type: 'satellite', orbit: { deep: null } } };
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'Look.' }, image] }];
  const plain = [{ role: 'user', content: 'Hi' }];
  const telescope = { type: 'telescope_20270101', name: 'telescope', lens: [null] };

  it('reach a provider of the same format unchanged', async () => {
    const rest = {
      tools: [telescope],
      tool_choice: { type: 'aim', at: 'stars', disable_parallel_tool_use: true },
      thinking: { type: 'dreaming', depth: 3 },
      output_config: { effort: 'ultra' },
    };
    const body = { model: 'anthropic-messages/one', max_tokens: 100, messages, ...rest };

    expect(await post('/messages', body)).toMatchObject({ status: 200 });

    expect(sent().body).toMatchObject({ messages, ...rest });
  });

  it.each([
    ['a source', { messages }, 'messages[0].content[1]: The part image cannot be sent to'],
    ['a tool', { tools: [telescope] }, 'tools[0]: The tool telescope_20270101 cannot be sent to'],
    [
      'a choice',
      { tools: [{ name: 'f', input_schema: { type: 'object' } }], tool_choice: { type: 'aim' } },
      'tool_choice.type: The choice aim cannot be sent to',
    ],
  ])('are a 400 that names %s elsewhere', async (_, fields, text) => {
    for (const wire of ['openai-responses', 'openai-chat', 'gemini']) {
      const body = { model: `${wire}/one`, max_tokens: 100, messages: plain, ...fields };
      expect(await post('/messages', body)).toMatchObject({ status: 400, message: expect.stringContaining(text) });
    }
  });

  it('are left out and named elsewhere, if they are hints', async () => {
    const hints = { thinking: { type: 'dreaming' }, output_config: { effort: 'ultra' } };
    const body = { model: 'openai-chat/one', max_tokens: 100, messages: plain, ...hints };
    const { status, params } = await post('/messages', body);
    expect([status, params?.dropped_fields]).toEqual([
      200,
      ['output_config.effort (ultra)', 'thinking.type (dreaming)'],
    ]);
  });
});
