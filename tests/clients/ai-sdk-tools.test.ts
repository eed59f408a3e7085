import { openai } from '@ai-sdk/openai';
import { generateText, hasToolCall, stepCountIs, streamText, tool } from 'ai';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { aiModel, nothingIsStored } from './ai-sdk-model.ts';
import { startBackEnds } from './back-end.ts';
import { collect } from './collect.ts';

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

const weather = tool({
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, sky: 'sunny' }),
});
const tools = { weather };
const bern = { name: 'weather', input: { city: 'Bern' } };
const olten = { name: 'weather', input: { city: 'Olten' } };
const script = [
  { reasoning: 'I need both.', encrypted: 'gAAAAABpHyQo-encrypted', calls: [bern, olten] },
  { text: 'One more.', calls: [{ name: 'weather', input: { city: 'Zug' } }] },
  { text: 'It is sunny everywhere.' },
];

describe.each(backEnds.all)('tools in the AI SDK with $kind', (backEnd) => {
  const { kind } = backEnd;
  const settings = {
    model: aiModel(backEnd),
    tools,
    stopWhen: stepCountIs(5),
    providerOptions: nothingIsStored,
    maxRetries: 0,
  };

  it('runs a loop of calls and results until its end', async () => {
    backEnd.takeUpstreamBodies();

    const result = await generateText({ ...settings, prompt: backEnd.script('Weather?', ...script) });

    expect(result.text).toBe('It is sunny everywhere.');
    expect(result.steps.map((step) => step.finishReason)).toEqual(['tool-calls', 'tool-calls', 'stop']);
    expect(result.steps.map((step) => step.toolResults.map(({ input }) => input))).toEqual([
      [{ city: 'Bern' }, { city: 'Olten' }],
      [{ city: 'Zug' }],
      [],
    ]);
    const [, second] = backEnd.takeUpstreamBodies();
    if (kind === 'openai-responses') {
      expect(second?.input).toMatchObject([
        { role: 'user' },
        { type: 'reasoning', encrypted_content: 'gAAAAABpHyQo-encrypted' },
        { type: 'function_call', arguments: '{"city":"Bern"}' },
        { type: 'function_call', arguments: '{"city":"Olten"}' },
        { type: 'function_call_output', output: '{"city":"Bern","sky":"sunny"}' },
        { type: 'function_call_output', output: '{"city":"Olten","sky":"sunny"}' },
      ]);
    }
    if (kind === 'openai-chat') {
      expect(second?.messages).toMatchObject([
        { role: 'user' },
        { role: 'assistant', tool_calls: [{ function: { name: 'weather' } }, { function: { name: 'weather' } }] },
        { role: 'tool', content: '{"city":"Bern","sky":"sunny"}' },
        { role: 'tool', content: '{"city":"Olten","sky":"sunny"}' },
      ]);
    }
  });

  it('streams a loop of calls and results until its end', async () => {
    const result = streamText({ ...settings, prompt: backEnd.script('Weather?', ...script) });
    const parts = await collect(result.fullStream);

    expect(await result.text).toBe('It is sunny everywhere.');
    expect(await result.steps).toHaveLength(3);
    expect(parts.filter(({ type }) => type === 'error')).toEqual([]);
    const calls = parts.filter((part) => part.type === 'tool-call');
    expect(calls.map(({ input }) => input)).toEqual([{ city: 'Bern' }, { city: 'Olten' }, { city: 'Zug' }]);
    for (const { toolCallId } of calls) {
      const pieces = parts.filter((part) => part.type === 'tool-input-delta' && part.id === toolCallId);
      expect(pieces.length).toBeGreaterThan(0);
    }
    expect(parts.filter(({ type }) => type === 'tool-result')).toHaveLength(3);
  });

  it('stops at a condition', async () => {
    const prompt = backEnd.script('Weather?', ...script);

    const result = await generateText({ ...settings, prompt, stopWhen: hasToolCall('weather') });

    expect(result.steps).toHaveLength(1);
    expect(result.toolCalls.map(({ toolName }) => toolName)).toEqual(['weather', 'weather']);
  });

  it('can be forced to call a tool', async () => {
    const prompt = backEnd.script('Weather?', { calls: [bern] });

    const result = await generateText({
      ...settings,
      prompt,
      stopWhen: stepCountIs(1),
      toolChoice: { type: 'tool', toolName: 'weather' },
    });

    expect(result.toolCalls).toMatchObject([{ toolName: 'weather', input: { city: 'Bern' } }]);
  });

  it('reports the error of a tool to the model', async () => {
    const broken = tool({
      inputSchema: z.object({ city: z.string() }),
      execute: async (): Promise<string> => {
        throw new Error('The station is down.');
      },
    });

    const result = await generateText({
      ...settings,
      tools: { weather: broken },
      prompt: backEnd.script('Weather?', { calls: [bern] }, { text: 'I cannot tell.' }),
    });

    expect(result.text).toBe('I cannot tell.');
  });

  it('runs a custom tool with free text', async () => {
    const seen: string[] = [];
    const named = { name: 'write_sql', description: 'Writes SQL.' }; // version 6 wants the name
    const write = openai.tools.customTool(named);
    const turns = [{ calls: [{ name: 'write_sql', input: 'select 1;' }] }, { text: 'Done.' }];

    const result = await generateText({
      ...settings,
      tools: {
        write_sql: {
          ...write,
          execute: async (input: string) => {
            seen.push(input);
            return 'one row';
          },
        },
      },
      prompt: backEnd.script('SQL?', ...turns),
    });

    expect(seen).toEqual(['select 1;']);
    expect(result.text).toBe('Done.');
  });
});
