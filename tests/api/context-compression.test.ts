import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { json, type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';
import { answer, ask, type Mode } from './lab.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  const chat = (id: string, models: object[]) => ({ id, wire: 'openai-chat', base_url: upstream.url, models });
  gateway = await testGateway({
    providers: [
      chat('one', [
        { model: 'a/small', context_length: 8192 },
        { model: 'a/medium', context_length: 8193 },
        { model: 'a/large', context_length: 100_000 },
        { model: 'a/text', context_length: 8193, capabilities: { input: ['text'] } },
        { model: 'openai/gpt-4o', context_length: 8193 },
        { model: 'a/capped', context_length: 100_000, max_messages: 10 },
        { model: 'a/two', context_length: 4000, tag: 'short' },
      ]),
      chat('two', [{ model: 'a/two', context_length: 100_000, tag: 'long' }, { model: 'a/unknown' }]),
      {
        id: 'native',
        wire: 'openai-responses',
        base_url: upstream.url,
        models: [{ model: 'a/native', context_length: 20_000 }, { model: 'a/open' }],
      },
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() =>
  upstream.always(({ path, body }) => {
    const wire = path.endsWith('/responses') ? 'openai-responses' : 'openai-chat';
    return answer({ wire, mode: (body as { stream?: boolean }).stream ? 'streamed' : 'buffered' });
  }),
);

const headers = { 'x-router-metadata': 'enabled' };
const plugins = [{ id: 'context-compression' }];
const words = (tokens: number) => 'word '.repeat(tokens);
const say = (role: string, content: string) => ({ role, content });
/** A conversation of about this many tokens. */
const talk = (tokens: number) => [
  say('system', 'Rule: be brief.'),
  ...Array.from({ length: 40 }, (_, at) => say(at % 2 ? 'assistant' : 'user', `<${at}> ${words(tokens / 40)}`)),
  say('user', 'Last question?'),
];

type Message = { role: string; content: string };
const received = (): { messages: Message[]; truncation?: string; input?: Message[] } =>
  upstream.requests.at(-1)!.body as { messages: Message[] };
const numbers = (): number[] =>
  received().messages.flatMap(({ content }) => (/^<(\d+)>/.exec(String(content)) ?? []).slice(1).map(Number));

async function send(body: object, mode: Mode = 'buffered') {
  const before = upstream.requests.length;
  const { status, response, envelope } = await ask(gateway, mode, body, { headers });
  type Metadata = { router_metadata?: { pipeline?: { data: Record<string, unknown> }[] } };
  const { pipeline } = (response as Metadata | undefined)?.router_metadata ?? {};
  return {
    status,
    error: envelope?.error,
    pipeline,
    sent: upstream.requests.length - before,
  };
}

describe.each<Mode>(['buffered', 'streamed'])('%s', (mode) => {
  it('removes the middle of a conversation that is too long, and reports it', async () => {
    const input = talk(30_000);
    const { status, pipeline } = await send({ model: 'a/medium', plugins, input }, mode);
    expect(status).toBe(200);
    const { messages } = received();
    expect(messages[0]).toMatchObject({ role: 'system', content: 'Rule: be brief.' });
    expect(messages.at(-1)).toMatchObject({ role: 'user', content: 'Last question?' });
    expect(numbers()[0]).toBe(0);
    expect(numbers().at(-1)).toBe(39);
    expect(numbers().length).toBeLessThan(20);
    expect(pipeline).toEqual([
      {
        type: 'context_compression',
        name: 'context-compression',
        summary: expect.any(String),
        data: {
          engine: 'middle-out',
          input_type: 'messages',
          original_count: input.length,
          compressed_count: messages.length,
          original_tokens: expect.any(Number),
          compressed_tokens: expect.any(Number),
          cut_messages: expect.any(Number),
        },
      },
    ]);
    expect(pipeline![0]!.data['compressed_tokens']).toBeLessThanOrEqual(8193 * 0.7);
  });

  it('leaves an input that fits unchanged, without a stage', async () => {
    const { pipeline } = await send({ model: 'a/large', plugins, input: talk(1000) }, mode);
    expect(numbers()).toHaveLength(40);
    expect(pipeline).toBeUndefined();
  });

  it('is an error if it is off and the input is too long', async () => {
    for (const off of [{}, { plugins: [{ ...plugins[0], enabled: false }] }, { truncation: 'disabled' }]) {
      const { status, error, sent } = await send({ model: 'a/medium', input: talk(30_000), ...off }, mode);
      expect(status).toBe(400);
      expect(error?.metadata).toMatchObject({ error_type: 'context_length_exceeded' });
      expect(error?.message).toContain('Shorten it, or turn on the plugin `context-compression`');
      expect(sent).toBe(0);
    }
  });
});

describe('context-compression', () => {
  it('acts by default where the context is 8192 tokens or less', async () => {
    await send({ model: 'a/small', input: talk(12_000) });
    expect(numbers().length).toBeLessThan(40);
    expect((await send({ model: 'a/medium', input: talk(30_000) })).status).toBe(400);
  });

  it.each([
    { plugins: [{ id: 'context-compression', enabled: false }] },
    { truncation: 'disabled' },
  ])('is turned off there by %j', async (off) => {
    expect((await send({ model: 'a/small', input: talk(30_000), ...off })).status).toBe(400);
    await send({ model: 'a/small', input: talk(7000), ...off });
    expect(numbers()).toHaveLength(40);
  });

  it('is turned on by `truncation: auto`, unless `plugins` says otherwise', async () => {
    expect((await send({ model: 'a/medium', truncation: 'auto', input: talk(30_000) })).status).toBe(200);
    expect(received()).not.toHaveProperty('truncation');
    const off = { plugins: [{ id: 'context-compression', enabled: false }] };
    expect((await send({ model: 'a/medium', truncation: 'auto', input: talk(30_000), ...off })).status).toBe(400);
  });

  it('leaves `truncation` to a provider whose context is unknown', async () => {
    await send({ model: 'a/open', truncation: 'auto', input: talk(1000) });
    expect(received().truncation).toBe('auto');
    await send({ model: 'a/native', truncation: 'auto', input: talk(1000) });
    expect(received()).not.toHaveProperty('truncation');
  });

  it('chooses the models with at least half of the needed context', async () => {
    const models = ['a/small', 'a/large'];
    await send({ models, plugins, input: talk(30_000) });
    expect(numbers()).toHaveLength(40);
    expect(upstream.requests.at(-1)!.body).toMatchObject({ model: 'a/large' });
    await send({ models, plugins, input: talk(12_000) });
    expect(upstream.requests.at(-1)!.body).toMatchObject({ model: 'a/small' });
    expect(numbers().length).toBeLessThan(40);
  });

  it('chooses the largest if each has less', async () => {
    await send({ models: ['a/small', 'a/medium'], plugins, input: talk(60_000) });
    expect(upstream.requests.at(-1)!.body).toMatchObject({ model: 'a/medium' });
  });

  it('prefers the endpoint of a model that holds the whole input', async () => {
    for (const _ of [1, 2, 3, 4, 5]) {
      await send({ model: 'a/two', plugins, input: talk(5000) });
      expect(numbers()).toHaveLength(40);
    }
  });

  it('fits the input to each endpoint that is tried', async () => {
    upstream.respond(json({ error: { message: 'Busy.' } }, { status: 503 }));
    const before = upstream.requests.length;
    await send({ model: 'a/two', plugins, input: talk(5000), provider: { order: ['two', 'one'] } });
    const [first, second] = upstream.requests
      .slice(before)
      .map(({ body }) => (body as { messages: object[] }).messages);
    expect(first).toHaveLength(42);
    expect(second!.length).toBeLessThan(42);
  });

  it('counts with the tokenizer of the model near the limit, if there is one', async () => {
    // three digits are a token, and the estimate is almost twice as much
    const digits = Array.from({ length: 20 }, (_, at) => say(at % 2 ? 'assistant' : 'user', '1234567890'.repeat(70)));
    const input = [...digits, say('user', 'Last question?')];
    // The estimate counts while the tokenizer loads, which takes seconds on a busy machine.
    await expect
      .poll(async () => (await send({ model: 'openai/gpt-4o', plugins, input })).pipeline, { timeout: 60_000 })
      .toBeUndefined();
    expect((await send({ model: 'a/medium', plugins, input })).pipeline).toHaveLength(1);
    expect((await send({ model: 'openai/gpt-4o', plugins, input: [...input, ...input] })).pipeline).toHaveLength(1);
  });

  it('keeps to the maximum number of messages of an endpoint', async () => {
    const { pipeline } = await send({ model: 'a/capped', plugins, input: talk(1000) });
    expect(received().messages.length).toBeLessThanOrEqual(10);
    expect(numbers()).toEqual([0, 1, 2, 3, 36, 37, 38, 39]);
    expect(pipeline?.[0]?.data).toMatchObject({ original_count: 42, compressed_count: 10 });
  });

  it('cuts the middle of a single long prompt', async () => {
    const { pipeline } = await send({ model: 'a/medium', plugins, input: `Begin. ${words(30_000)} End.` });
    const [{ content } = { content: '' }] = received().messages;
    expect(content).toMatch(/^Begin\..*characters were removed here.*End\.$/s);
    expect(pipeline?.[0]?.data).toMatchObject({ input_type: 'prompt', original_count: 1, compressed_count: 1 });
  });

  it('does not cut a single prompt unless it is named', async () => {
    expect((await send({ model: 'a/small', input: words(30_000) })).status).toBe(400);
  });

  it('rejects by default only what certainly does not fit', async () => {
    const prompt = (tokens: number) => [say('system', 'Rule: be brief.'), say('user', words(tokens))];
    for (const tokens of [6500, 7700, 9000]) {
      expect((await send({ model: 'a/small', input: prompt(tokens) })).status).toBe(200);
      expect(received().messages.at(-1)).toEqual(say('user', words(tokens)));
    }
    expect((await send({ model: 'a/small', input: prompt(20_000) })).status).toBe(400);
    // named, it still gives up the room for output before it gives up
    expect((await send({ model: 'a/small', plugins, input: prompt(6500) })).status).toBe(200);
    expect((await send({ model: 'a/small', plugins, input: prompt(9000) })).status).toBe(400);
  });

  it('never removes the last message of the user: the request is an error that says what is too long', async () => {
    const { status, error, sent } = await send({
      model: 'a/medium',
      plugins,
      input: [...talk(1000), say('user', words(30_000))],
    });
    expect(status).toBe(400);
    expect(error?.metadata).toMatchObject({ error_type: 'context_length_exceeded' });
    expect(error?.message).toMatch(/a\/medium at one, even without its middle\. .* about \d+ tokens/);
    expect(sent).toBe(0);
  });

  it('leaves room for the requested output', async () => {
    await send({ model: 'a/medium', plugins, input: talk(30_000), max_output_tokens: 500 });
    const many = numbers().length;
    await send({ model: 'a/medium', plugins, input: talk(30_000), max_output_tokens: 6000 });
    expect(numbers().length).toBeLessThan(many);
  });

  it('removes calls with their outputs', async () => {
    const calls = Array.from({ length: 30 }, (_, at) => [
      { type: 'function_call', call_id: `c${at}`, name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: `c${at}`, output: words(1000) },
    ]).flat();
    const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];
    await send({ model: 'a/medium', plugins, tools, input: [say('user', 'Look.'), ...calls] });
    type Called = { tool_calls?: { id: string }[]; tool_call_id?: string };
    const messages = received().messages as Called[];
    const called = messages.flatMap(({ tool_calls: made = [] }) => made.map(({ id }) => id));
    expect(called.length).toBeGreaterThan(1);
    expect(called.length).toBeLessThan(30);
    expect(messages.flatMap(({ tool_call_id: id }) => id ?? []).sort()).toEqual(called.sort());
  });

  it('removes reasoning with the calls that followed it', async () => {
    const turns = Array.from({ length: 30 }, (_, at) => [
      { type: 'reasoning', id: `rs_${at}`, summary: [], encrypted_content: 'x'.repeat(500) },
      { type: 'function_call', id: `fc_${at}`, call_id: `c${at}`, name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: `c${at}`, output: words(1500) },
    ]).flat();
    const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];
    await send({ model: 'a/native', plugins, tools, input: [say('user', 'Look.'), ...turns] });
    const { input } = received() as unknown as { input: { type: string; id?: string; call_id?: string }[] };
    const numbersOf = (type: string) =>
      input.flatMap((item) => (item.type === type ? Number(/\d+/.exec(item.call_id ?? item.id!)![0]) : []));
    const calls = numbersOf('function_call');
    expect(calls.length).toBeGreaterThan(3);
    expect(calls.length).toBeLessThan(30);
    expect([calls[0], calls.at(-1)]).toEqual([0, 29]);
    expect(numbersOf('reasoning')).toEqual(calls);
    expect(numbersOf('function_call_output')).toEqual(calls);
  });

  it('shortens the parsed text of a file', async () => {
    const file = `data:text/plain;base64,${Buffer.from(words(30_000)).toString('base64')}`;
    const content = [{ type: 'input_file', filename: 'notes.txt', file_data: file }];
    const input = [{ role: 'user', content }, say('assistant', 'Read.'), say('user', 'Last question?')];
    const { status, pipeline } = await send({ model: 'a/text', plugins, input });
    expect(status).toBe(200);
    expect(JSON.stringify(received())).toContain('characters were removed here');
    expect(pipeline).toContainEqual(expect.objectContaining({ name: 'context-compression' }));
  });

  it('is named in the error of a provider that finds the input too long', async () => {
    const error = { message: 'This is too long.', code: 'context_length_exceeded' };
    upstream.respond(json({ error }, { status: 400 }));
    const result = await send({ model: 'a/unknown', input: 'Hello.' });
    expect(result.status).toBe(400);
    expect(result.error?.message).toContain('turn on the plugin `context-compression`');
  });

  it('reserves at most the cost of a full context', async () => {
    const key = 'a-key-with-little-credit';
    const pricing = { prompt: '0.00001', completion: '0' };
    const poor = await testGateway({
      providers: [
        {
          id: 'one',
          wire: 'openai-chat',
          base_url: upstream.url,
          models: [{ model: 'a/m', context_length: 9000, pricing }],
        },
      ],
      bootstrap: { keys: [{ key, name: 'poor', workspace: 'main', member: 'ada', credit_usd: 0.1 }] },
    });
    try {
      const input = talk(60_000); // 0.6 USD
      const post = (body: object) => poor.post('/responses', { model: 'a/m', input, ...body }, { key });
      expect((await post({ plugins })).status).toBe(200);
    } finally {
      await poor.close();
    }
  });

  it('is a 400 with another engine', async () => {
    const { status, error } = await send({ model: 'a/medium', plugins: [{ ...plugins[0], engine: 'top-down' }] });
    expect(status).toBe(400);
    expect(error?.message).toContain('plugins[0].engine');
  });

  it('handles 10 MB', async () => {
    const input = Array.from({ length: 5000 }, (_, at) => say(at % 2 ? 'assistant' : 'user', words(400)));
    const { status } = await send({ model: 'a/medium', plugins, input: [...input, say('user', 'Last question?')] });
    expect(status).toBe(200);
    expect(received().messages.at(-1)).toMatchObject({ content: 'Last question?' });
    expect(JSON.stringify(received()).length).toBeLessThan(50_000);
  });
});
