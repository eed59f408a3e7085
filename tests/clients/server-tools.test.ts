import { openai } from '@ai-sdk/openai';
import {
  Agent,
  type HostedTool,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
  tool as agentTool,
  user,
} from '@openai/agents';
import { generateText, type ModelMessage, stepCountIs, streamText, tool } from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { aiModel, nothingIsStored } from './ai-sdk-model.ts';
import { type BackEnd, startBackEnd } from './back-end.ts';
import { openaiClient } from './openai-client.ts';

/* A function of the client and a tool of the gateway in one conversation of several requests. */

setTracingDisabled(true);
let engine: ScriptedUpstream;
let backEnd: BackEnd;
beforeAll(async () => {
  engine = await startUpstream();
  engine.always(json({ results: [{ url: 'https://pumps.example/', title: 'Pumps', text: 'They heat.' }] }));
  const exa = { driver: 'exa', base_url: engine.url, api_key: 'key-of-the-engine' };
  backEnd = await startBackEnd('openai-chat', { tools: { web_search: { engines: { exa } } } });
});
afterAll(async () => {
  await backEnd.close();
  await engine.close();
});

const searching = { calls: [{ name: 'router_web_search', input: { query: 'heat pumps' } }] };
const asking = { text: 'Now the weather.', calls: [{ name: 'get_weather', input: { city: 'Bern' } }] };
const answering = { text: 'It is sunny, and pumps heat.' };
const again = { text: 'As I said.' };

type SentMessage = { role: string; tool_calls?: { function: { name: string } }[]; content: unknown };

/**
 * Checks the requests at the provider: two for the first request of the client, then one for each.
 *
 * @param searches number of searches in the last request: a package may not send items of tools back that it does not know
 */
function checkRequests(searches: number): void {
  const bodies = backEnd.takeUpstreamBodies() as unknown as { messages: SentMessage[]; tools: object[] }[];
  expect(bodies).toHaveLength(4);
  for (const { messages } of bodies) {
    const calls = messages.flatMap(({ tool_calls = [] }) => tool_calls);
    expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(calls.length);
  }
  const { messages } = bodies[3]!;
  const names = [...Array.from({ length: searches }, () => 'router_web_search'), 'get_weather'];
  expect(messages.flatMap(({ tool_calls = [] }) => tool_calls.map((each) => each.function.name))).toEqual(names);
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
  const urls = Array.from({ length: searches }, () => expect.stringContaining('https://pumps.example/'));
  expect(results).toEqual([...urls, expect.stringContaining('sunny')]);
  const found = bodies[1]!.messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
  expect(found).toEqual([expect.stringContaining('https://pumps.example/')]);
  expect(JSON.stringify(messages)).toContain(answering.text);
}

describe('the Agents SDK', () => {
  const search: HostedTool = {
    type: 'hosted_tool',
    name: 'router:web_search',
    providerData: { type: 'router:web_search', parameters: { max_results: 3 } },
  };
  const weather = agentTool({
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: z.object({ city: z.string() }),
    execute: async ({ city }) => `It is sunny in ${city}.`,
  });

  it.each([false, true])('uses the search of the gateway beside a function, streamed: %s', async (isStreamed) => {
    backEnd.takeUpstreamBodies();
    const model = new OpenAIResponsesModel(openaiClient(backEnd), backEnd.model);
    const agent = new Agent({ name: 'Helper', model, tools: [weather, { ...search }] });
    const prompt = backEnd.script('Pumps and weather?', searching, asking, answering, again);
    const start = async (input: Parameters<typeof run>[1]) => {
      if (!isStreamed) return await run(agent, input as string);
      const result = await run(agent, input as string, { stream: true });
      for await (const _ of result);
      await result.completed;
      return result;
    };
    const first = await start(prompt);
    expect(first.finalOutput).toBe(answering.text);
    const second = await start([...first.history, user('And now?')]);
    expect(second.finalOutput).toBe(again.text);
    checkRequests(0);
  });
});

describe('the AI SDK', () => {
  const weather = tool({
    description: 'The weather of a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => ({ city, sky: 'sunny' }),
  });

  it.each([false, true])('uses the search of the gateway beside a function, streamed: %s', async (isStreamed) => {
    backEnd.takeUpstreamBodies();
    const settings = {
      model: aiModel(backEnd),
      tools: { get_weather: weather, web_search: openai.tools.webSearch({}) },
      stopWhen: stepCountIs(5),
      providerOptions: nothingIsStored,
      maxRetries: 0,
    };
    const ask = async (messages: ModelMessage[]) => {
      if (!isStreamed) {
        const { text, response, responseMessages } = await generateText({ ...settings, messages });
        return { text, messages: responseMessages ?? response.messages }; // version 6 has the second
      }
      const result = streamText({ ...settings, messages });
      return { text: await result.text, messages: (await result.responseMessages) ?? (await result.response).messages };
    };
    const prompt = backEnd.script('Pumps and weather?', searching, asking, answering, again);
    const first = await ask([{ role: 'user', content: prompt }]);
    expect(first.text).toBe(answering.text);
    const history: ModelMessage[] = [{ role: 'user', content: prompt }, ...first.messages];
    const second = await ask([...history, { role: 'user', content: 'And now?' }]);
    expect(second.text).toBe(again.text);
    checkRequests(1);
  });
});
