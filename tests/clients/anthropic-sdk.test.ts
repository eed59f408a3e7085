import Anthropic, { type APIError } from '@anthropic-ai/sdk';
import type { MessageParam, Tool } from '@anthropic-ai/sdk/resources/messages';
import { afterAll, describe, expect, it } from 'vitest';
import { type BackEnd, startBackEnds } from './back-end.ts';
import type { Turn } from './turn.ts';

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

/** The official client as its users create it: the address without `/v1`, and no retries. */
const createClient = ({ gateway }: BackEnd): Anthropic =>
  new Anthropic({ baseURL: `${gateway.url}/api`, apiKey: gateway.key, maxRetries: 0 });

const max_tokens = 4096;
const usage = { input: 1000, cached: 400, output: 50, reasoning: 20 };
const weather: Tool = {
  name: 'get_weather',
  description: 'The weather of a city.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const bern = { name: 'get_weather', input: { city: 'Bern' } };
const olten = { name: 'get_weather', input: { city: 'Olten "am Nebel"' } };
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe.each(backEnds.all)('the anthropic client with $kind', (backEnd) => {
  const client = createClient(backEnd);
  const { model, kind } = backEnd;

  /** Sends the same request buffered and streamed, and checks that the responses are equal. */
  async function ask(turn: Turn, body: object = {}, content: MessageParam['content'] = '') {
    const prompt = () => {
      const text = backEnd.script('Well?', turn);
      const blocks = typeof content === 'string' ? [] : content;
      return {
        model,
        max_tokens,
        messages: [{ role: 'user' as const, content: [...blocks, { type: 'text' as const, text }] }],
      };
    };
    const buffered = await client.messages.create({ ...prompt(), ...body });
    const streamed = await client.messages.stream({ ...prompt(), ...body }).finalMessage();
    const same = ({ content: blocks, stop_reason, stop_sequence, usage: counts }: typeof buffered) => ({
      blocks: JSON.stringify(blocks).replaceAll(/"id":"[^"]*"|"(?:data|signature)":"hg1[^"]*"/g, '""'),
      stop_reason,
      stop_sequence,
      counts: [counts.input_tokens, counts.cache_read_input_tokens, counts.output_tokens], // those that the client copies
    });
    expect(same(streamed)).toEqual(same(buffered));
    return buffered;
  }

  it('returns text, usage and the cost, buffered and streamed', async () => {
    const message = await ask({ text: 'I am a gateway.', usage }, { system: 'Be brief.', temperature: 0.5 });

    expect(message).toMatchObject({ type: 'message', role: 'assistant', model, stop_reason: 'end_turn' });
    expect(message.id).toMatch(/^msg_/);
    expect(message.content).toMatchObject([{ type: 'text', text: 'I am a gateway.' }]);
    expect(message.usage).toMatchObject({
      input_tokens: 600,
      cache_read_input_tokens: 400,
      output_tokens: 50,
      cost: 0.00114,
    });
    expect(message._request_id).toMatch(/^req_/);
  });

  it('lets the model think and call tools, and gives its reasoning back to it', async () => {
    const question: MessageParam = {
      role: 'user',
      content: backEnd.script('Weather?', { reasoning: 'I look it up.', calls: [bern, olten] }, { text: 'Sunny.' }),
    };
    const body = { model, max_tokens, tools: [weather], thinking: { type: 'enabled', budget_tokens: 2000 } as const };

    const inputs: unknown[] = [];
    const first = await client.messages
      .stream({ ...body, messages: [question] })
      .on('inputJson', (_delta, snapshot) => inputs.push(snapshot))
      .finalMessage();
    const calls = first.content.filter((block) => block.type === 'tool_use');
    backEnd.takeUpstreamBodies();
    const second = await client.messages.create({
      ...body,
      messages: [
        question,
        { role: 'assistant', content: first.content },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: calls[0]!.id, content: '{"sky":"sunny"}' },
            {
              type: 'tool_result',
              tool_use_id: calls[1]!.id,
              is_error: true,
              content: [
                { type: 'text', text: 'fog' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
              ],
            },
          ],
        },
      ],
    });

    expect(first.stop_reason).toBe('tool_use');
    expect(first.content[0]).toMatchObject({ type: 'thinking', thinking: expect.stringMatching(/I look it up\.$/) });
    expect(calls.map(({ name, input }) => ({ name, input }))).toEqual([bern, olten]);
    expect(inputs.length).toBeGreaterThan(0);
    expect(second.content).toMatchObject([{ type: 'text', text: 'Sunny.' }]);
    const [sent] = backEnd.takeUpstreamBodies();
    if (kind === 'anthropic-messages') {
      expect(sent).toMatchObject({
        thinking: { type: 'enabled', budget_tokens: 2000 },
        messages: [
          { role: 'user' },
          { role: 'assistant', content: [first.content[0], { type: 'tool_use' }, { type: 'tool_use' }] },
          { role: 'user', content: [{ type: 'tool_result' }, { type: 'tool_result', is_error: true }] },
        ],
      });
    } else if (sent) expect(JSON.stringify(sent)).toContain('sunny');
  });

  it.each([false, true])('runs tools until the model has finished, streamed: %s', async (stream) => {
    const prompt = backEnd.script(
      'Weather?',
      { reasoning: 'Look.', text: 'One moment.', calls: [bern] },
      { text: 'Sunny.' },
    );
    backEnd.takeUpstreamBodies();
    const asked: unknown[] = [];
    const tool = {
      ...weather,
      run: (input: unknown) => {
        asked.push(input);
        return 'sunny';
      },
      parse: (input: unknown) => input,
    };
    const runner = client.beta.messages.toolRunner({
      model,
      max_tokens,
      thinking: { type: 'enabled', budget_tokens: 1024 },
      messages: [{ role: 'user', content: prompt }],
      tools: [tool],
      stream,
    });
    const last = await runner.runUntilDone();

    expect(asked).toEqual([bern.input]);
    expect(last.content.map((block) => block.type === 'text' && block.text)).toEqual(['Sunny.']);
    expect(runner.params.messages).toHaveLength(4);
    const sent = JSON.stringify(backEnd.takeUpstreamBodies());
    expect(sent).not.toContain('thread');
    if (kind !== 'simulator') expect(sent).toContain('One moment.'); // the whole conversation goes to the provider
  });

  it('streams the same tool calls as it buffers', async () => {
    const message = await ask({ text: 'I look it up.', calls: [bern, olten] }, { tools: [weather] });
    expect(message.content.map(({ type }) => type)).toEqual(['text', 'tool_use', 'tool_use']);
    expect(message.stop_reason).toBe('tool_use');
  });

  it('sends images and documents', async () => {
    const seen = await ask({ text: 'A red pixel.' }, {}, [
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
      { type: 'document', title: 'Notes', source: { type: 'text', media_type: 'text/plain', data: 'Plain words' } },
      { type: 'search_result', title: 'Found', source: 'https://a.example', content: [{ type: 'text', text: 'Here' }] },
    ]);
    expect(seen.content).toMatchObject([{ text: 'A red pixel.' }]);
    for (const body of backEnd.takeUpstreamBodies().slice(-2)) {
      const json = JSON.stringify(body);
      for (const part of [pixel, 'Plain words', 'https://a.example', 'Here']) expect(json).toContain(part);
    }
  });

  it('gets JSON in a given shape', async () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    };
    const message = await ask(
      { text: '{"city":"Bern"}' },
      { output_config: { format: { type: 'json_schema', schema } } },
    );
    expect(message.content).toMatchObject([{ text: '{"city":"Bern"}' }]);
    for (const body of backEnd.takeUpstreamBodies().slice(-2)) expect(JSON.stringify(body)).toContain('"city"');
  });

  it.runIf(backEnd.can.reportRefusals)('reports a refusal', async () => {
    const message = await ask({ refusal: 'I cannot help with that.' });
    expect(message).toMatchObject({ stop_reason: 'refusal', content: [{ text: 'I cannot help with that.' }] });
  });

  it.each([
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
  ] as const)('ends with the reason for %s', async (finish, reason) => {
    const message = await ask({ text: 'And then there', finish });
    expect(message.stop_reason).toBe(reason);
  });

  it.each([true, false])('throws the error of a provider (streamed: %s)', async (stream) => {
    const content = backEnd.script('Hello', { fail: { status: 429, message: 'Too fast.', retryAfterSeconds: 7 } });
    const sent = client.messages.create({ model, max_tokens, stream, messages: [{ role: 'user', content }] });
    const error = await sent.then(
      () => undefined,
      (thrown: unknown) => thrown as APIError,
    );
    expect(error).toBeInstanceOf(Anthropic.RateLimitError);
    expect(error).toMatchObject({ status: 429, error: { type: 'error', error: { type: 'rate_limit_error' } } });
    expect(error?.requestID).toMatch(/^req_/);
    expect(error?.headers?.get('retry-after')).toBe('7');
  });

  it('throws if a stream is cut, and never ends it regularly', async () => {
    const content = backEnd.script('Hello', { text: 'One two three four.', after: 'failure' });
    const types: string[] = [];
    const stream = client.messages.stream({ model, max_tokens, messages: [{ role: 'user', content }] });
    stream.on('streamEvent', ({ type }) => types.push(type));
    const error = await stream.finalMessage().then(
      () => undefined,
      (thrown: unknown) => thrown as APIError,
    );
    expect(error?.message).toContain('The server had an error.');
    expect(types).toContain('content_block_delta');
    expect(types).not.toContain('message_stop');
  });

  it('counts tokens', async () => {
    const count = await client.messages.countTokens({
      model,
      system: 'Be brief.',
      tools: [weather],
      messages: [{ role: 'user', content: 'How many tokens are these?' }],
    });
    if (kind === 'anthropic-messages') expect(count.input_tokens).toBe(64);
    expect(count.input_tokens).toBeGreaterThan(15);
    expect(count.input_tokens).toBeLessThan(120);
  });
});
