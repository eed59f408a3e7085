import {
  Agent,
  MaxTurnsExceededError,
  OpenAIProvider,
  OpenAIResponsesModel,
  Runner,
  run,
  setDefaultOpenAIClient,
  setTracingDisabled,
  tool,
  user,
} from '@openai/agents';
import { RateLimitError } from 'openai';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startBackEnds } from './back-end.ts';
import { openaiClient } from './openai-client.ts';

setTracingDisabled(true); // traces would go to a service of their own, whichever client is used
const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

const weather = tool({
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `It is sunny in ${city}.`,
});
const bern = { name: 'get_weather', input: { city: 'Bern' } };
const olten = { name: 'get_weather', input: { city: 'Olten' } };
const script = [{ reasoning: 'I need both.', calls: [bern, olten] }, { text: 'Sunny, both of them.' }];

describe.each(backEnds.all)('the Agents SDK with $kind', (backEnd) => {
  const { kind } = backEnd;
  const client = openaiClient(backEnd);
  const model = new OpenAIResponsesModel(client, backEnd.model);
  const agent = new Agent({ name: 'Helper', instructions: 'Be brief.', model, tools: [weather] });

  it('runs an agent with a tool until its response', async () => {
    backEnd.takeUpstreamBodies();

    const result = await run(agent, backEnd.script('Weather?', ...script));

    expect(result.finalOutput).toBe('Sunny, both of them.');
    expect(result.newItems.map(({ type }) => type)).toEqual([
      'reasoning_item',
      'tool_call_item',
      'tool_call_item',
      'tool_call_output_item',
      'tool_call_output_item',
      'message_output_item',
    ]);
    const [, second] = backEnd.takeUpstreamBodies();
    if (kind === 'openai-chat') {
      expect(second?.messages).toMatchObject([
        { role: 'system', content: 'Be brief.' },
        { role: 'user' },
        { role: 'assistant', tool_calls: [{}, {}] },
        { role: 'tool', content: 'It is sunny in Bern.' },
        { role: 'tool', content: 'It is sunny in Olten.' },
      ]);
    }
    if (kind === 'openai-responses') {
      expect(JSON.stringify(second?.input)).toContain('It is sunny in Olten.');
      expect(second).toMatchObject({ instructions: 'Be brief.', store: false });
    }
  });

  it('streams an agent with a tool until its response', async () => {
    const result = await run(agent, backEnd.script('Weather?', ...script), { stream: true });
    let text = '';
    const names: string[] = [];
    for await (const event of result) {
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') text += event.data.delta;
      if (event.type === 'run_item_stream_event') names.push(event.name);
    }
    await result.completed;

    expect(result.finalOutput).toBe('Sunny, both of them.');
    expect(text).toBe('Sunny, both of them.');
    expect(names.filter((name) => name === 'tool_called')).toHaveLength(2);
    expect(names.at(-1)).toBe('message_output_created');
  });

  it('adds up the usage of all turns', async () => {
    const usage = { input: 100, cached: 50, output: 10, reasoning: 5 };
    const turns = script.map((turn) => ({ ...turn, usage }));

    const { usage: sum } = (await run(agent, backEnd.script('Weather?', ...turns))).state;

    expect(sum).toMatchObject({ requests: 2, inputTokens: 200, outputTokens: 20, totalTokens: 220 });
  });

  it('returns structured output', async () => {
    const outputType = z.object({ city: z.string(), degrees: z.number().nullable() });
    const structured = new Agent({ name: 'Meter', model, outputType });
    const turn = { text: '{"city":"Bern","degrees":null}' };

    const whole = await run(structured, backEnd.script('Weather?', turn));
    const streamed = await run(structured, backEnd.script('Weather?', turn), { stream: true });
    await streamed.completed;

    expect(whole.finalOutput).toEqual({ city: 'Bern', degrees: null });
    expect(streamed.finalOutput).toEqual({ city: 'Bern', degrees: null });
  });

  it('hands over to another agent', async () => {
    const poet = new Agent({ name: 'Poet', model, instructions: 'Rhyme.', handoffDescription: 'Writes poems.' });
    const front = new Agent({ name: 'Front desk', model, handoffs: [poet] });
    const turns = [{ calls: [{ name: 'transfer_to_Poet', input: {} }] }, { text: 'The gate stood wide.' }];

    const result = await run(front, backEnd.script('A poem, please.', ...turns));

    expect(result.finalOutput).toBe('The gate stood wide.');
    expect(result.lastAgent?.name).toBe('Poet');
  });

  it('continues a conversation with its history', async () => {
    const first = await run(agent, backEnd.script('Weather?', ...script));
    backEnd.takeUpstreamBodies();

    const next = backEnd.script('And tomorrow?', { text: 'Rain.' });
    const second = await run(agent, [...first.history, user(next)]);

    expect(second.finalOutput).toBe('Rain.');
    const [body] = backEnd.takeUpstreamBodies();
    if (body) expect(JSON.stringify(body)).toContain('Sunny, both of them.');
  });

  it('finds a model by its name', async () => {
    const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient: client }) });
    const named = new Agent({ name: 'Helper', model: backEnd.model });

    const result = await runner.run(named, backEnd.script('Hello', { text: 'Hello.' }));

    expect(result.finalOutput).toBe('Hello.');
  });

  it('stops after the allowed number of turns', async () => {
    const endless = [{ calls: [bern] }, { calls: [bern] }, { calls: [bern] }];

    const result = run(agent, backEnd.script('Weather?', ...endless), { maxTurns: 2 });

    await expect(result).rejects.toBeInstanceOf(MaxTurnsExceededError);
  });

  it('throws the error of the client', async () => {
    const fail = { status: 429, message: 'Slow down.' };

    const result = run(agent, backEnd.script('Weather?', { fail }));

    await expect(result).rejects.toBeInstanceOf(RateLimitError);
  });

  it('aborts the request to the provider if a streamed run is aborted', async () => {
    backEnd.takeUpstreamBodies();
    const controller = new AbortController();
    const prompt = backEnd.script('Count', { text: 'One two three four.', after: 'silence' });

    const result = await run(agent, prompt, { stream: true, signal: controller.signal });
    for await (const event of result) {
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') controller.abort();
    }

    await result.completed.catch(() => {}); // the client decides how a canceled run settles
    if (kind !== 'simulator') expect(await (await backEnd.nextUpstreamRequest()).closed).toBe('aborted');
  });
});

it('uses the default client', async () => {
  const backEnd = backEnds.all.find(({ kind }) => kind === 'openai-chat')!;
  setDefaultOpenAIClient(openaiClient(backEnd));
  const agent = new Agent({ name: 'Helper', model: backEnd.model });

  const result = await run(agent, backEnd.script('Hello', { text: 'Hello.' }));

  expect(result.finalOutput).toBe('Hello.');
});
