import { createAnthropic } from '@ai-sdk/anthropic';
import { ChatAnthropic } from '@langchain/anthropic';
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startBackEnds } from './back-end.ts';

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const usage = { input: 1000, cached: 400, output: 50, reasoning: 20 };
const calls = [
  { name: 'get_weather', input: { city: 'Bern' } },
  { name: 'get_weather', input: { city: 'Olten' } },
];
const task = [{ reasoning: 'I look it up.', text: 'One moment.', calls }, { text: 'Both are sunny.' }] as const;
const thinking = { anthropic: { thinking: { type: 'enabled', budgetTokens: 2000 } } } as const;

describe.each(backEnds.all)('clients of the Messages API with $kind', (backEnd) => {
  const { gateway, model, kind } = backEnd;
  const provider = createAnthropic({ baseURL: gateway.baseUrl, apiKey: gateway.key });
  const weather = tool({
    description: 'The weather of a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => `${city} is sunny.`,
  });
  const settings = { model: provider(model), maxRetries: 0, maxOutputTokens: 2000, providerOptions: thinking };

  it('the Vercel AI SDK calls tools, and gives the reasoning back', async () => {
    const cities: unknown[] = [];
    const result = await generateText({
      ...settings,
      prompt: backEnd.script('Weather?', ...task),
      tools: { get_weather: weather },
      stopWhen: stepCountIs(3),
      onStepFinish: ({ toolCalls }) => void cities.push(...toolCalls.map(({ input }) => input)),
    });

    expect(result.text).toBe('Both are sunny.');
    expect(cities).toEqual(calls.map(({ input }) => input));
    expect(result.steps[0]?.reasoningText).toContain('I look it up.');
    expect(result.warnings ?? []).toEqual([]);
    const [, second] = backEnd.takeUpstreamBodies();
    if (second) expect(JSON.stringify(second)).toContain('Olten is sunny.');
    if (kind === 'anthropic-messages') expect(JSON.stringify(second)).toContain('"signature"');
  });

  it('the Vercel AI SDK and LangChain send images', async () => {
    const script = () => backEnd.script('What is this?', { text: 'A dot.' });
    const file = { type: 'file' as const, data: `data:image/png;base64,${dot}`, mediaType: 'image/png' };
    backEnd.takeUpstreamBodies();
    const written = await generateText({
      ...settings,
      messages: [{ role: 'user', content: [{ type: 'text', text: script() }, file] }],
    });
    const chat = new ChatAnthropic({
      model,
      apiKey: gateway.key,
      anthropicApiUrl: `${gateway.url}/api`,
      maxRetries: 0,
      maxTokens: 4096,
    });
    const image = { type: 'image_url', image_url: { url: file.data } };
    const message = await chat.invoke([new HumanMessage({ content: [{ type: 'text', text: script() }, image] })]);

    expect(written.text).toBe('A dot.');
    expect(message.text).toBe('A dot.');
    for (const body of backEnd.takeUpstreamBodies()) expect(JSON.stringify(body)).toContain(dot);
  });

  it('the Vercel AI SDK streams text and usage', async () => {
    const result = streamText({ ...settings, prompt: backEnd.script('Count', { text: 'One two three.', usage }) });
    const pieces: string[] = [];
    for await (const piece of result.textStream) pieces.push(piece);

    expect(pieces.join('')).toBe('One two three.');
    expect(pieces.length).toBeGreaterThan(1);
    expect(await result.usage).toMatchObject({ inputTokens: 1000, outputTokens: 50 });
    expect(await result.finishReason).toBe('stop');
  });

  it('the Vercel AI SDK reports an error and a cut stream', async () => {
    const fail = { status: 429, message: 'Too fast.' };
    await expect(generateText({ ...settings, prompt: backEnd.script('Hello', { fail }) })).rejects.toMatchObject({
      statusCode: 429,
      message: expect.stringContaining('Too fast.'),
    });
    const errors: unknown[] = [];
    const cut = streamText({
      ...settings,
      prompt: backEnd.script('Hello', { text: 'One two three four.', after: 'failure' }),
      onError: ({ error }) => void errors.push(error),
    });
    await cut.consumeStream();
    expect(errors.map((error) => JSON.stringify(error) + String(error)).join()).toContain('The server had an error.');
  });

  it('LangChain calls tools, buffered and streamed', async () => {
    const chat = new ChatAnthropic({
      model,
      apiKey: gateway.key,
      anthropicApiUrl: `${gateway.url}/api`,
      maxRetries: 0,
      maxTokens: 4096,
    }).bindTools([
      {
        name: 'get_weather',
        description: 'The weather.',
        input_schema: { type: 'object', properties: { city: { type: 'string' } } },
      },
    ]);
    const question = new HumanMessage(
      backEnd.script('Weather?', { text: 'One moment.', calls }, { text: 'Both are sunny.' }),
    );

    const first = await chat.invoke([question]);
    let text = '';
    const outputs = (first.tool_calls ?? []).map(
      ({ id, args }) => new ToolMessage({ tool_call_id: id!, content: `${String(args['city'])} is sunny.` }),
    );
    for await (const chunk of await chat.stream([question, new AIMessage(first), ...outputs])) text += chunk.text;

    expect((first.tool_calls ?? []).map(({ name, args }) => ({ name, input: args }))).toEqual(calls);
    expect(text).toBe('Both are sunny.');
  });
});
