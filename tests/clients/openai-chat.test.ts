import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import type {
  ChatCompletionChunk,
  ChatCompletionFunctionTool,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startBackEnds } from './back-end.ts';
import { openaiClient } from './openai-client.ts';
import type { Turn } from './turn.ts';

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

const bern = { name: 'get_weather', input: { city: 'Bern' } };
const olten = { name: 'get_weather', input: { city: 'Olten "am Nebel"' } };
const tools: ChatCompletionFunctionTool[] = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'The weather of a city.',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];
const weather = tool({
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, sky: 'sunny' }),
});
/** One red pixel. */
const dot =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const usage = { input: 1000, cached: 400, output: 50, reasoning: 20 };

describe.each(backEnds.all)('chat completions in the openai client with $kind', (backEnd) => {
  const client = openaiClient(backEnd);
  const { kind, model } = backEnd;

  it('returns a text, its usage and its cost', async () => {
    const content = backEnd.script('Who are you?', { text: 'I am a gateway.', usage });

    const { data, response } = await client.chat.completions
      .create({ model, messages: [{ role: 'user', content }] })
      .withResponse();

    expect(data).toMatchObject({
      id: response.headers.get('x-generation-id'),
      object: 'chat.completion',
      model,
      choices: [
        { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'I am a gateway.', refusal: null } },
      ],
      usage: {
        prompt_tokens: 1000,
        prompt_tokens_details: { cached_tokens: 400 },
        completion_tokens: 50,
        completion_tokens_details: { reasoning_tokens: backEnd.can.countReasoning ? 20 : 0 },
        total_tokens: 1050,
        cost: 0.00114, // 600 at 1, 400 at 0.1 and 50 at 10 USD per million
      },
    });
  });

  it('streams a text: the role first, the usage last', async () => {
    const content = backEnd.script('Count', { text: 'One two three.', usage });

    const stream = await client.chat.completions.create({
      model,
      messages: [{ role: 'user', content }],
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks: ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);

    expect(chunks[0]!.choices[0]!.delta).toEqual({ role: 'assistant', content: '' });
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('One two three.');
    expect(chunks.at(-2)!.choices[0]).toMatchObject({ finish_reason: 'stop', delta: {} });
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 1050, cost: 0.00114 } });
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });

  it('lets the model call functions, streamed, and returns reasoning to it', async () => {
    const content = backEnd.script(
      'Weather?',
      { reasoning: 'I need both.', encrypted: 'gAAAAABpHyQo-encrypted', calls: [bern, olten] },
      { text: 'Sunny.' },
    );
    const messages: ChatCompletionMessageParam[] = [{ role: 'user', content }];

    const first = await client.chat.completions.stream({ model, messages, tools }).finalChatCompletion();
    const { message, finish_reason: reason } = first.choices[0]!;
    expect(reason).toBe('tool_calls');
    const calls = message.tool_calls!.filter((call) => call.type === 'function');
    expect(calls.map((call) => JSON.parse(call.function.arguments))).toEqual([bern.input, olten.input]);

    backEnd.takeUpstreamBodies();
    messages.push(
      message,
      ...calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: '{"sky":"sunny"}' })),
    );
    const second = await client.chat.completions.create({ model, messages, tools });

    expect(second.choices[0]!.message.content).toBe('Sunny.');
    const [body] = backEnd.takeUpstreamBodies();
    if (kind === 'openai-chat') {
      expect(body!['messages']).toMatchObject([
        { role: 'user' },
        { role: 'assistant', tool_calls: calls.map(({ id }) => ({ id })) },
        ...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: '{"sky":"sunny"}' })),
      ]);
    }
  });

  it.each([false, true])('runs tools with the helper of the client, streamed: %s', async (stream) => {
    const content = backEnd.script(
      'Weather?',
      { reasoning: 'Look.', text: 'One moment.', calls: [bern] },
      { text: 'Sunny.' },
    );
    const asked: unknown[] = [];
    const run = async (input: { city: string }) => {
      asked.push(input);
      return 'sunny';
    };
    const tool = zodFunction({ name: bern.name, parameters: z.object({ city: z.string() }), function: run });
    const body = { model, messages: [{ role: 'user' as const, content }], tools: [tool] };
    const runner = stream
      ? client.chat.completions.runTools({ ...body, stream })
      : client.chat.completions.runTools({ ...body, stream });

    expect(await runner.finalContent()).toBe('Sunny.');
    expect(asked).toEqual([bern.input]);
    expect(runner.messages).toMatchObject([{}, { content: 'One moment.' }, { content: 'sunny' }, {}]);
  });

  it('streams and parses with the helpers of the client', async () => {
    const format = zodResponseFormat(z.object({ city: z.string() }), 'place');
    const ask = (turn: Turn) => ({
      model,
      messages: [{ role: 'user' as const, content: backEnd.script('Where?', turn) }],
      response_format: format,
    });
    const text = '{"city": "Bern"}';
    const streamed = await client.chat.completions.stream(ask({ text })).finalChatCompletion();
    const parsed = await client.chat.completions.parse(ask({ text }));
    for (const { choices } of [streamed, parsed]) expect(choices[0]!.message.parsed).toEqual({ city: 'Bern' });

    const cut = client.chat.completions.parse(ask({ text: '{"ci', finish: 'length' }));
    await expect(cut).rejects.toThrow('length limit');
  });

  it('returns reasoning whole, and hides it on request', async () => {
    const turn = { reasoning: 'Let me think.', text: 'Done.' };
    const content = backEnd.script('Think', turn, turn);
    const body = { model, messages: [{ role: 'user' as const, content }] };

    const shown = (await client.chat.completions.create(body)).choices[0]!.message;
    const hidden = (await client.chat.completions.create({ ...body, include_reasoning: false } as typeof body))
      .choices[0]!.message;

    expect(shown).toMatchObject({ content: 'Done.', reasoning: 'Let me think.' });
    expect(hidden).toEqual({ role: 'assistant', content: 'Done.', refusal: null });
  });

  it('sends images to the model', async () => {
    const text = backEnd.script('What is this?', { text: 'A dot.' });
    backEnd.takeUpstreamBodies();
    const completion = await client.chat.completions.create({
      model,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text },
            { type: 'image_url', image_url: { url: dot, detail: 'low' } },
          ],
        },
      ],
    });
    expect(completion.choices[0]!.message.content).toBe('A dot.');
    const [body] = backEnd.takeUpstreamBodies();
    if (kind !== 'simulator') expect(JSON.stringify(body)).toContain(dot.slice(dot.indexOf(',') + 1));
  });

  it('throws in the middle of a stream that fails', async () => {
    const content = backEnd.script('Fail', { text: 'One two three.', after: 'failure' });
    const stream = await client.chat.completions.create({ model, messages: [{ role: 'user', content }], stream: true });
    let text = '';
    const read = async () => {
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    };
    await expect(read()).rejects.toThrow();
    expect(text).not.toBe('');
  });

  it('serves the older completions', async () => {
    const prompt = backEnd.script('Who are you?', { text: 'A gateway.' }, { text: 'A gateway.' });

    const whole = await client.completions.create({ model, prompt });
    let text = '';
    for await (const { choices } of await client.completions.create({ model, prompt, stream: true })) {
      text += choices[0]?.text ?? '';
    }

    expect(whole).toMatchObject({
      object: 'text_completion',
      choices: [{ text: 'A gateway.', finish_reason: 'stop' }],
    });
    expect(text).toBe('A gateway.');
  });

  it('works in the chat model of the AI SDK', async () => {
    const chat = createOpenAI({ baseURL: backEnd.gateway.baseUrl, apiKey: backEnd.gateway.key }).chat(model);
    const script = [{ calls: [bern] }, { text: 'It is sunny.', usage }];
    const settings = { model: chat, tools: { get_weather: weather }, stopWhen: stepCountIs(3), maxRetries: 0 };

    const whole = await generateText({ ...settings, prompt: backEnd.script('Weather?', ...script) });
    const streamed = streamText({ ...settings, prompt: backEnd.script('Weather?', ...script) });

    expect(whole.text).toBe('It is sunny.');
    expect(whole.steps.map((step) => step.finishReason)).toEqual(['tool-calls', 'stop']);
    expect(await streamed.text).toBe('It is sunny.');
    expect((await streamed.steps).at(-1)!.usage).toMatchObject({ inputTokens: 1000, outputTokens: 50 });
  });

  it('ends with an error in the AI SDK if the stream fails', async () => {
    const chat = createOpenAI({ baseURL: backEnd.gateway.baseUrl, apiKey: backEnd.gateway.key }).chat(model);
    const prompt = backEnd.script('Fail', { text: 'One two three.', after: 'failure' });
    const { fullStream } = streamText({ model: chat, prompt, maxRetries: 0, onError: () => {} });
    const types: string[] = [];
    for await (const part of fullStream) types.push(part.type);
    expect(types).toContain('error');
  });
});

describe('errors of chat completions', () => {
  const backEnd = backEnds.all.find(({ kind }) => kind === 'openai-chat')!;
  const client = openaiClient(backEnd);

  it('name the field of the body', async () => {
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 5 } }] }] as never;
    const error = await client.chat.completions.create({ model: backEnd.model, messages }).catch((thrown) => thrown);
    expect(error).toMatchObject({
      status: 400,
      type: 'invalid_request',
      param: 'messages[0].content[0].image_url.url',
    });
  });

  it('name the field of the body that an endpoint cannot carry', async () => {
    const create = (messages: object) =>
      client.chat.completions.create({ model: backEnd.model, messages: messages as never }).catch((thrown) => thrown);
    expect(await create([{ role: 'tool', tool_call_id: 'call_9', content: 'x' }])).toMatchObject({
      status: 422,
      param: 'messages[0].tool_call_id',
    });
  });

  it('tell in the header what the endpoint could not carry', async () => {
    const content = backEnd.script('Hello', { text: 'Hello.' });
    const messages = [
      { role: 'assistant', content: 'x', reasoning_details: [{ type: 'reasoning.text', text: 'y', signature: 's' }] },
      { role: 'user', content },
    ] as never;
    const { response } = await client.chat.completions
      .create({ model: backEnd.model, messages, reasoning_effort: 'minimal', min_p: 0.1 } as never)
      .withResponse();
    expect(response.headers.get('x-router-dropped-fields')).toContain('min_p');
    expect(response.headers.get('x-router-dropped-fields')).toContain('messages[0].reasoning_details');
  });

  it('have metadata with the names of the body', async () => {
    const content = backEnd.script('Hello', { text: 'Hello.' });
    const completion = await client.chat.completions.create(
      { model: backEnd.model, messages: [{ role: 'user', content, name: 'ada' }], top_k: 5 } as never,
      { headers: { 'x-router-metadata': 'enabled' } },
    );
    expect(completion).toMatchObject({
      provider: 'openai-chat',
      router_metadata: { strategy: 'direct', params: { dropped_fields: ['top_k'] } },
    });
  });
});
