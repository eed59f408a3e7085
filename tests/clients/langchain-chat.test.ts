import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
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
});
