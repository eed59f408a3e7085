import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, stepCountIs, streamText, tool as aiTool } from 'ai';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startBackEnds } from './back-end.ts';

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

const weather = tool(async ({ city }: { city: string }) => `It is sunny in ${city}.`, {
  name: 'get_weather',
  description: 'The weather of a city.',
  schema: z.object({ city: z.string() }),
});
const bern = { name: 'get_weather', input: { city: 'Bern' } };
const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const usage = { input: 1000, cached: 400, output: 50, reasoning: 20 };

describe.each(backEnds.all)('ChatOpenAI of LangChain with $kind', (backEnd) => {
  const { gateway, model } = backEnd;
  const chat = new ChatOpenAI({
    model,
    apiKey: gateway.key,
    maxRetries: 0,
    streamUsage: true,
    configuration: { baseURL: gateway.baseUrl },
    useResponsesApi: false,
  });

  it('calls a tool, and responds with its output', async () => {
    const prompt = new HumanMessage(backEnd.script('Weather?', { calls: [bern] }, { text: 'Sunny.', usage }));
    const model = chat.bindTools([weather]);

    const first = await model.invoke([prompt]);
    const [call] = first.tool_calls!;
    expect(call).toMatchObject({ name: 'get_weather', args: { city: 'Bern' } });
    const output = new ToolMessage({ tool_call_id: call!.id!, content: await weather.invoke({ city: 'Bern' }) });
    const second = await model.invoke([prompt, first, output]);

    expect(second.text).toBe('Sunny.');
    expect(second.usage_metadata).toMatchObject({ input_tokens: 1000, output_tokens: 50, total_tokens: 1050 });
  });

  it('streams a text and its usage', async () => {
    const stream = await chat.stream(backEnd.script('Count', { text: 'One two three.', usage }));
    let text = '';
    let total = 0;
    for await (const chunk of stream) {
      text += chunk.text;
      total += chunk.usage_metadata?.total_tokens ?? 0;
    }
    expect(text).toBe('One two three.');
    expect(total).toBe(1050);
  });

  it('sends an image', async () => {
    backEnd.takeUpstreamBodies();
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${dot}` } };
    const text = backEnd.script('What is this?', { text: 'A dot.' });
    const message = await chat.invoke([new HumanMessage({ content: [{ type: 'text', text }, image] })]);
    expect(message.text).toBe('A dot.');
    for (const body of backEnd.takeUpstreamBodies()) expect(JSON.stringify(body)).toContain(dot);
  });
});

describe.each(backEnds.all)('the openai-compatible provider of the AI SDK with $kind', (backEnd) => {
  const { gateway, model } = backEnd;
  const provider = createOpenAICompatible({
    name: 'headgate',
    baseURL: gateway.baseUrl,
    apiKey: gateway.key,
    includeUsage: true,
  });
  const tools = {
    get_weather: aiTool({
      description: 'The weather of a city.',
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }) => `${city} is sunny.`,
    }),
  };
  const settings = { model: provider(model), tools, stopWhen: stepCountIs(3), maxRetries: 0 };
  const calls = [bern, { name: 'get_weather', input: { city: 'Olten' } }];
  const task = [
    { reasoning: 'I look it up.', calls },
    { text: 'Both are sunny.', usage },
  ];

  it('calls tools, buffered and streamed', async () => {
    const whole = await generateText({ ...settings, prompt: backEnd.script('Weather?', ...task) });
    backEnd.takeUpstreamBodies();
    const streamed = streamText({ ...settings, prompt: backEnd.script('Weather?', ...task) });

    expect(await streamed.text).toBe('Both are sunny.');
    expect(whole.text).toBe('Both are sunny.');
    for (const steps of [whole.steps, await streamed.steps]) {
      expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
      expect(steps[0]?.toolCalls.map(({ input }) => input)).toEqual(calls.map(({ input }) => input));
      expect(steps[0]?.reasoningText).toBe('I look it up.');
      expect(steps[1]?.usage).toMatchObject({ inputTokens: 1000, outputTokens: 50, totalTokens: 1050 });
    }
    const [, second] = backEnd.takeUpstreamBodies();
    if (second) expect(JSON.stringify(second)).toContain('Olten is sunny.');
  });

  it('sends an image', async () => {
    const data = `data:image/png;base64,${dot}`;
    const text = backEnd.script('What is this?', { text: 'A dot.' });
    const { text: written } = await generateText({
      model: provider(model),
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text },
            { type: 'file', data, mediaType: 'image/png' },
          ],
        },
      ],
    });
    expect(written).toBe('A dot.');
    for (const body of backEnd.takeUpstreamBodies()) expect(JSON.stringify(body)).toContain(dot);
  });

  it('reports an error and a cut stream', async () => {
    const fail = { status: 429, message: 'Too fast.' };
    await expect(generateText({ ...settings, prompt: backEnd.script('Hello', { fail }) })).rejects.toMatchObject({
      statusCode: 429,
      message: expect.stringContaining('Too fast.'),
    });
    const types: string[] = [];
    const prompt = backEnd.script('Hello', { text: 'One two three four.', after: 'failure' });
    const { fullStream } = streamText({ ...settings, prompt, onError: () => {} });
    for await (const { type } of fullStream) types.push(type);
    expect(types).toContain('error');
  });
});
