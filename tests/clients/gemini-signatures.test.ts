import { Agent, tool as agentTool, OpenAIResponsesModel, run, setTracingDisabled } from '@openai/agents';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import type { ResponseInput } from 'openai/resources/responses/responses';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { aiModel, nothingIsStored } from './ai-sdk-model.ts';
import { startBackEnd } from './back-end.ts';
import { openaiClient } from './openai-client.ts';

setTracingDisabled(true); // traces would go to a service of their own, whichever client is used
const backEnd = await startBackEnd('gemini');
afterAll(() => backEnd.close());

/*
 * Newer models reject calls without their signature, so each client must send it back in its own way:
 * with the item, or (the AI SDK) with no more of the item than its id and its encrypted content.
 */
const signature = 'CiQB0e2Kb1Xo9m3sYJ7tVQ+hPz/8LrWqkD5fGcNvTb2xUyEiMZ0KbgHR7tp9Zq4w==';
const weather = { city: z.string() };
const execute = async ({ city }: { city: string }) => `It is sunny in ${city}.`;
const turns = [
  {
    reasoning: 'I need both.',
    encrypted: signature,
    calls: [
      { name: 'weather', input: { city: 'Bern' } },
      { name: 'weather', input: { city: 'Olten' } },
    ],
  },
  { text: 'It is sunny everywhere.' },
];

/** Returns the parts of the model's turn in the request with the tool results. They must be unchanged. */
function expectSignedCalls(): void {
  const [, second] = backEnd.takeUpstreamBodies();
  const contents = second?.['contents'] as { role: string; parts: object[] }[];
  expect(contents.find(({ role }) => role === 'model')?.parts).toEqual([
    { functionCall: expect.objectContaining({ args: { city: 'Bern' } }), thoughtSignature: signature },
    { functionCall: expect.objectContaining({ args: { city: 'Olten' } }) },
  ]);
}

it.each(['generateText', 'streamText'])('the AI SDK sends signatures back: %s', async (name) => {
  backEnd.takeUpstreamBodies();
  const asked = {
    model: aiModel(backEnd),
    tools: { weather: tool({ inputSchema: z.object(weather), execute }) },
    stopWhen: stepCountIs(3),
    providerOptions: nothingIsStored,
    maxRetries: 0,
    prompt: backEnd.script('Weather?', ...turns),
  };
  const text = name === 'generateText' ? (await generateText(asked)).text : await streamText(asked).text;
  expect(text).toBe('It is sunny everywhere.');
  expectSignedCalls();
});

it.each([false, true])('the Agents SDK sends signatures back, streamed: %s', async (stream) => {
  backEnd.takeUpstreamBodies();
  const model = new OpenAIResponsesModel(openaiClient(backEnd), backEnd.model);
  const tools = [agentTool({ name: 'weather', description: 'Of a city.', parameters: z.object(weather), execute })];
  const agent = new Agent({ name: 'Helper', model, tools });
  const prompt = backEnd.script('Weather?', ...turns);
  if (stream) await (await run(agent, prompt, { stream: true })).completed;
  else await run(agent, prompt);
  expectSignedCalls();
});

it('the openai client sends signatures back', async () => {
  backEnd.takeUpstreamBodies();
  const client = openaiClient(backEnd);
  const { model } = backEnd;
  const first = await client.responses.create({ model, input: backEnd.script('Weather?', ...turns) });
  const outputs = first.output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'sunny' }]
      : [],
  );
  const input: ResponseInput = [{ role: 'user', content: 'Weather?' }, ...(first.output as ResponseInput), ...outputs];
  expect((await client.responses.create({ model, input })).output_text).toBe('It is sunny everywhere.');
  expectSignedCalls();
});
