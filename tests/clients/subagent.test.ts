import { createOpenAI } from '@ai-sdk/openai';
import {
  Agent,
  type HostedTool,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
  tool as agentTool,
} from '@openai/agents';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import type { FunctionTool, ResponseInput, ResponseInputItem, Tool } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { nothingIsStored } from './ai-sdk-model.ts';
import { type BackEnd, startBackEnd } from './back-end.ts';
import { openaiClient } from './openai-client.ts';

/* A subagent that calls a function of the client: its item stays in progress, and has no end in the stream. */

setTracingDisabled(true);
let backEnd: BackEnd;
beforeAll(async () => {
  backEnd = await startBackEnd('openai-chat');
});
afterAll(() => backEnd.close());

const task = { task_name: 'find', task_description: 'Find the value of k1.' };
const delegating = { calls: [{ name: 'router_subagent', input: task }] };
const looking = { calls: [{ name: 'lookup', input: { key: 'k1' } }] };
const working = { text: 'It is 42.' };
const answering = { text: 'The value is 42.' };

const lookup: FunctionTool = {
  type: 'function',
  name: 'lookup',
  parameters: { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] },
  strict: false,
};
const parameters = { inherit_functions: true };
const subagent = { type: 'router:subagent', parameters } as unknown as Tool; // unknown to the types of the client

describe('a suspended subagent in the openai client', () => {
  it.each(['events', 'final response'])('is read as %s, and goes on in the next request', async (reading) => {
    const client = openaiClient(backEnd);
    const prompt = backEnd.script('What is k1?', delegating, looking, working, answering);
    const input: ResponseInput = [{ role: 'user', content: prompt }];
    const tools = [lookup, subagent];
    const stream = client.responses.stream({ model: backEnd.model, input, tools });
    const seen: string[] = [];
    if (reading === 'events') for await (const { type } of stream) seen.push(type);
    const first = await stream.finalResponse();
    expect(seen.filter((type) => type === 'response.completed')).toHaveLength(reading === 'events' ? 1 : 0);
    expect(first.output).toMatchObject([
      { type: 'router:subagent', status: 'in_progress' },
      { type: 'function_call', status: 'completed', name: 'lookup' },
    ]);
    for (const item of first.output) {
      input.push(item as ResponseInputItem);
      if (item.type !== 'function_call') continue;
      input.push({ type: 'function_call_output', call_id: item.call_id, output: '42' });
    }
    const second = await client.responses.stream({ model: backEnd.model, input, tools }).finalResponse();
    expect(second.output_text).toBe(answering.text);
    expect(second.output[0]).toMatchObject({ type: 'router:subagent', status: 'completed', outcome: working.text });
  });
});

describe('a suspended subagent in the AI SDK', () => {
  const settings = () => {
    const { gateway, model } = backEnd;
    const openai = createOpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, fetch: addSubagent });
    const find = tool({
      description: 'Looks a value up.',
      inputSchema: z.object({ key: z.string() }),
      execute: async () => '42',
    });
    return {
      model: openai.responses(model),
      tools: { lookup: find },
      stopWhen: stepCountIs(5),
      maxRetries: 0,
      providerOptions: nothingIsStored,
      prompt: backEnd.script('What is k1?', delegating, looking, answering),
    };
  };

  it('does not end its stream, whose next request has the call without the subagent', async () => {
    backEnd.takeUpstreamBodies();
    expect(await streamText(settings()).text).toBe(answering.text);
    expect(namesOf(backEnd.takeUpstreamBodies())).toEqual([[], [], ['lookup']]);
  });

  it('is rejected by generateText, like all items of a type that the package does not know', async () => {
    await expect(generateText(settings())).rejects.toThrow(/Invalid JSON response|Type validation failed/);
  });
});

/** The package cannot name a tool that it does not know. */
const addSubagent: typeof fetch = (url, init) => {
  const body = JSON.parse(String(init?.body)) as { tools: unknown[] };
  return fetch(url, { ...init, body: JSON.stringify({ ...body, tools: [...body.tools, subagent] }) });
};

/** Returns the functions that the model of each request has called so far. */
const namesOf = (bodies: readonly object[]) =>
  (bodies as { messages: { tool_calls?: { function: { name: string } }[] }[] }[]).map(({ messages }) =>
    messages.flatMap(({ tool_calls: calls = [] }) => calls.map((each) => each.function.name)),
  );

describe('a suspended subagent in the Agents SDK', () => {
  const hosted: HostedTool = {
    type: 'hosted_tool',
    name: 'router:subagent',
    providerData: { type: 'router:subagent', parameters },
  };
  const find = agentTool({
    name: 'lookup',
    description: 'Looks a value up.',
    parameters: z.object({ key: z.string() }),
    execute: async () => '42',
  });

  it.each([false, true])('is a 400 in the next request, which lacks its item, streamed: %s', async (isStreamed) => {
    const model = new OpenAIResponsesModel(openaiClient(backEnd), backEnd.model);
    const agent = new Agent({ name: 'Helper', model, tools: [find, hosted] });
    const prompt = backEnd.script('What is k1?', delegating, looking);
    const ask = async () => {
      if (!isStreamed) return await run(agent, prompt);
      const result = await run(agent, prompt, { stream: true });
      for await (const _ of result);
      return await result.completed;
    };
    await expect(ask()).rejects.toThrow(/400 .*subagent_id.* matches the .*call_id.* of no .*router:subagent.* item/);
  });
});
