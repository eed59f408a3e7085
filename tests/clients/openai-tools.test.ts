import { ResponsesToolRunner, runnerFunction } from 'openai/helpers/responses-tool-runner';
import { zodResponsesFunction } from 'openai/helpers/zod';
import type {
  FunctionTool,
  ResponseCreateParams,
  ResponseInput,
  ResponseInputItem,
} from 'openai/resources/responses/responses';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startBackEnds } from './back-end.ts';
import { openaiClient } from './openai-client.ts';

type ToolChoice = NonNullable<ResponseCreateParams['tool_choice']>;

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

const weather: FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
};
const bern = { name: 'get_weather', input: { city: 'Bern' } };
const olten = { name: 'get_weather', input: { city: 'Olten "am Nebel"' } };
const answer = { text: 'Bern is sunny.' };

describe.each(backEnds.all)('tools in the openai client with $kind', (backEnd) => {
  const client = openaiClient(backEnd);
  const { model, kind } = backEnd;

  it('lets the model call a function and respond with its output', async () => {
    const input: ResponseInput = [{ role: 'user', content: backEnd.script('Weather?', { calls: [bern] }, answer) }];

    const first = await client.responses.create({ model, input, tools: [weather] });
    const [call] = first.output;
    if (call?.type !== 'function_call') throw new Error(`The model did not call: ${JSON.stringify(first.output)}`);
    expect(call).toMatchObject({ name: 'get_weather', arguments: '{"city":"Bern"}', status: 'completed' });

    backEnd.takeUpstreamBodies();
    input.push(...(first.output as ResponseInputItem[]), outputOf(call.call_id, '{"sky":"sunny"}'));
    const second = await client.responses.create({ model, input, tools: [weather] });

    expect(second.output_text).toBe('Bern is sunny.');
    const [body] = backEnd.takeUpstreamBodies();
    if (kind === 'openai-chat') {
      expect(body).toMatchObject({
        messages: [
          { role: 'user' },
          { role: 'assistant', tool_calls: [{ id: call.call_id, function: { arguments: '{"city":"Bern"}' } }] },
          { role: 'tool', tool_call_id: call.call_id, content: '{"sky":"sunny"}' },
        ],
      });
    }
    if (kind === 'openai-responses') {
      expect(body).toMatchObject({
        input: [
          { role: 'user' },
          { type: 'function_call', call_id: call.call_id },
          { type: 'function_call_output', call_id: call.call_id, output: '{"sky":"sunny"}' },
        ],
      });
    }
  });

  it('streams parallel calls whose arguments arrive in pieces, each with its own id', async () => {
    const input = backEnd.script('Weather?', { text: 'I look it up.', calls: [bern, olten] });
    const snapshots = new Map<string, string>();

    const stream = client.responses
      .stream({ model, input, tools: [weather], parallel_tool_calls: true })
      .on('response.function_call_arguments.delta', ({ item_id, snapshot }) => snapshots.set(item_id, snapshot));
    const { output } = await stream.finalResponse();

    const calls = output.filter((item) => item.type === 'function_call');
    expect(output.map(({ type }) => type)).toEqual(['message', 'function_call', 'function_call']);
    expect(calls.map((call) => JSON.parse(call.arguments))).toEqual([bern.input, olten.input]);
    expect(new Set(calls.map((call) => call.call_id)).size).toBe(2);
    expect(calls.map((call) => snapshots.get(call.id!))).toEqual(calls.map((call) => call.arguments));
  });

  it('continues after parallel calls, always streamed', async () => {
    const prompt = backEnd.script('Weather?', { reasoning: 'I need both.', calls: [bern, olten] }, answer);
    const input: ResponseInput = [{ role: 'user', content: prompt }];

    const first = await client.responses.stream({ model, input, tools: [weather] }).finalResponse();
    for (const item of first.output) {
      const { parsed_arguments: _, ...call } = item as typeof item & { parsed_arguments?: unknown };
      input.push(call as ResponseInputItem);
    }
    for (const item of first.output) if (item.type === 'function_call') input.push(outputOf(item.call_id, 'sunny'));
    const second = await client.responses.stream({ model, input, tools: [weather] }).finalResponse();

    expect(second.output_text).toBe('Bern is sunny.');
  });

  it('accepts the items of the stream helper unchanged', async () => {
    const prompt = backEnd.script('Weather?', { calls: [bern] }, answer);
    const input: ResponseInput = [{ role: 'user', content: prompt }];

    const first = await client.responses.stream({ model, input, tools: [weather] }).finalResponse();
    input.push(...(first.output as ResponseInputItem[])); // with the helper's own `parsed_arguments`
    for (const item of first.output) if (item.type === 'function_call') input.push(outputOf(item.call_id, 'sunny'));
    const second = await client.responses.stream({ model, input, tools: [weather] }).finalResponse();

    expect(second.output_text).toBe('Bern is sunny.');
  });

  it('parses the arguments of a function declared with zod', async () => {
    const tool = zodResponsesFunction({
      name: 'get_weather',
      description: 'The weather of a city.',
      parameters: z.object({ city: z.string(), days: z.number().nullable() }),
    });
    const call = { name: 'get_weather', input: { city: 'Bern', days: null } };

    const parsed = await client.responses.parse({
      model,
      input: backEnd.script('Weather?', { calls: [call] }),
      tools: [tool],
    });
    const streamed = await client.responses
      .stream({ model, input: backEnd.script('Weather?', { calls: [call] }), tools: [tool] })
      .finalResponse();

    for (const { output } of [parsed, streamed]) {
      expect(output).toHaveLength(1);
      expect(output[0]).toMatchObject({ type: 'function_call', parsed_arguments: { city: 'Bern', days: null } });
    }
  });

  it.each([{ stream: false }, { stream: true }])("runs the client's own loop over tools, %j", async (options) => {
    const tool = runnerFunction(
      zodResponsesFunction({
        name: 'get_weather',
        parameters: z.object({ city: z.string() }),
        function: async ({ city }) => `It is sunny in ${city}.`,
      }),
    );
    const runner = new ResponsesToolRunner({ functions: [tool] });
    const turns = [{ reasoning: 'I need both.', encrypted: 'gAAAAABpHyQo', calls: [bern, olten] }, answer];

    const final = await runner.run(client, { model, input: backEnd.script('Weather?', ...turns) }, options);

    expect(final.output_text).toBe('Bern is sunny.');
  });

  it('lets the model call a custom tool with free text, and respond with its output', async () => {
    const code = 'print("Grüezi \\n")\nprint(1)';
    const turn = { calls: [{ name: 'run_python', input: code }] };
    const tool = { type: 'custom', name: 'run_python', description: 'Runs Python.' } as const;
    const input: ResponseInput = [{ role: 'user', content: backEnd.script('Print', turn, { text: 'It printed.' }) }];

    const first = await client.responses.stream({ model, input, tools: [tool] }).finalResponse();
    const [call] = first.output;
    if (call?.type !== 'custom_tool_call') throw new Error(`The model did not call: ${JSON.stringify(first.output)}`);
    expect(call).toMatchObject({ name: 'run_python', input: code });

    input.push(call as ResponseInputItem);
    input.push({ type: 'custom_tool_call_output', call_id: call.call_id, output: 'Grüezi' });
    const second = await client.responses.create({ model, input, tools: [tool] });

    expect(second.output_text).toBe('It printed.');
  });

  it.each<ToolChoice>([
    'required',
    { type: 'function', name: 'get_weather' },
    { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'get_weather' }] },
  ])('accepts the tool choice %j', async (choice) => {
    const input = backEnd.script('Weather?', { calls: [bern] });

    const { output } = await client.responses.create({ model, input, tools: [weather], tool_choice: choice });

    expect(output[0]).toMatchObject({ type: 'function_call', name: 'get_weather' });
  });
});

function outputOf(callId: string, output: string): ResponseInputItem {
  return { type: 'function_call_output', call_id: callId, output };
}
