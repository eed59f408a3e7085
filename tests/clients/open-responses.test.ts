import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { json } from '../../src/testing/scripted-responses.ts';
import { readStream } from '../../src/testing/test-gateway.ts';
import { startBackEnds } from './back-end.ts';
import type { Turn } from './turn.ts';

/*
 * The cases of the public Open Responses compliance test, with its strict shapes in our own words: no setting is null
 * that has a default, and each text has its lists.
 */
const logprob = z.object({ token: z.string(), logprob: z.number(), bytes: z.array(z.number()) }).loose();
const outputText = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.object({ type: z.string() }).loose()),
  logprobs: z.array(logprob),
});
const status = z.enum(['in_progress', 'completed', 'incomplete']);
const message = z.object({
  type: z.literal('message'),
  id: z.string(),
  status,
  role: z.literal('assistant'),
  content: z.array(z.union([outputText, z.object({ type: z.literal('refusal'), refusal: z.string() })])),
});
const functionCall = z.object({
  type: z.literal('function_call'),
  id: z.string(),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  status,
});
const reasoning = z.object({ type: z.literal('reasoning'), id: z.string(), summary: z.array(z.unknown()) });
const item = z.union([message, functionCall, reasoning]);
const functionTool = z.object({
  type: z.literal('function'),
  name: z.string(),
  description: z.string().nullable(),
  parameters: z.record(z.string(), z.unknown()).nullable(),
  strict: z.boolean().nullable(),
});
const usage = z.object({
  input_tokens: z.int(),
  output_tokens: z.int(),
  total_tokens: z.int(),
  input_tokens_details: z.object({ cached_tokens: z.int() }),
  output_tokens_details: z.object({ reasoning_tokens: z.int() }),
});
const responseResource = z.object({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status: z.string(),
  incomplete_details: z.object({ reason: z.string() }).nullable(),
  model: z.string(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  output: z.array(item),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  tools: z.array(functionTool),
  tool_choice: z.enum(['none', 'auto', 'required']),
  truncation: z.enum(['auto', 'disabled']),
  parallel_tool_calls: z.boolean(),
  text: z.object({ format: z.object({ type: z.literal('text') }) }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  temperature: z.number(),
  reasoning: z.object({ effort: z.string().nullable(), summary: z.string().nullable() }).nullable(),
  usage: usage.nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  metadata: z.record(z.string(), z.string()).nullable(),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
});

const place = { sequence_number: z.int(), item_id: z.string(), output_index: z.int() };
const inPart = { ...place, content_index: z.int() };
const events: Record<string, z.ZodType> = {
  'response.created': z.object({ response: responseResource }),
  'response.in_progress': z.object({ response: responseResource }),
  'response.completed': z.object({ response: responseResource }),
  'response.output_item.added': z.object({ output_index: z.int(), item }),
  'response.output_item.done': z.object({ output_index: z.int(), item }),
  'response.content_part.added': z.object({ ...inPart, part: outputText }),
  'response.content_part.done': z.object({ ...inPart, part: outputText }),
  'response.output_text.delta': z.object({ ...inPart, delta: z.string(), logprobs: z.array(logprob) }),
  'response.output_text.done': z.object({ ...inPart, text: z.string(), logprobs: z.array(logprob) }),
  'response.function_call_arguments.delta': z.object({ ...place, delta: z.string() }),
  'response.function_call_arguments.done': z.object({ ...place, arguments: z.string() }),
};

const user = (content: unknown) => ({ type: 'message', role: 'user', content });
const heart =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'Returns the weather of a place.',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
};
const spoken: Turn = { text: 'Hello to you.' };
const called: Turn = { calls: [{ name: 'get_weather', input: { location: 'Bern' } }] };

interface Case {
  name: string;
  /** @param prompt makes the back end respond with the turn */
  body: (prompt: string) => object;
  turn: Turn;
}

const cases: Case[] = [
  { name: 'a text', turn: spoken, body: (prompt) => ({ input: [user(prompt)] }) },
  {
    name: 'a system prompt',
    turn: spoken,
    body: (prompt) => ({ input: [{ type: 'message', role: 'system', content: 'Be brief.' }, user(prompt)] }),
  },
  { name: 'a call', turn: called, body: (prompt) => ({ input: [user(prompt)], tools: [weather] }) },
  {
    name: 'an image',
    turn: spoken,
    body: (text) => ({
      input: [
        user([
          { type: 'input_text', text },
          { type: 'input_image', image_url: heart },
        ]),
      ],
    }),
  },
  {
    name: 'several turns',
    turn: spoken,
    body: (prompt) => ({
      input: [user('I am Ada.'), { type: 'message', role: 'assistant', content: 'Hello Ada.' }, user(prompt)],
    }),
  },
];

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

describe.each(backEnds.all)('the Open Responses cases with $kind', (backEnd) => {
  const { gateway, model } = backEnd;

  it.each(cases)('pass strictly: $name', async ({ body, turn }) => {
    const request = { model, ...body(backEnd.script('Say hello.', turn)) };
    const response: unknown = await (await gateway.post('/responses', request)).json();

    const { output, ...rest } = responseResource.parse(response);
    expect(rest).toMatchObject({
      status: 'completed',
      temperature: 1,
      top_p: 1,
      top_logprobs: 0,
      service_tier: 'default',
    });
    expect(rest).toMatchObject({ presence_penalty: 0, frequency_penalty: 0, truncation: 'disabled' });
    expect(output.map(({ type }) => type)).toContain(turn.calls ? 'function_call' : 'message');
  });

  it.each(cases)('pass strictly as a stream: $name', async ({ body, turn }) => {
    const request = { model, stream: true, ...body(backEnd.script('Say hello.', turn)) };
    const streamed = await readStream(await gateway.post('/responses', request));

    for (const event of streamed.events) {
      const shape = events[event.type];
      expect(shape, event.type).toBeDefined();
      shape!.parse(event);
    }
    expect(streamed.events.at(0)).toMatchObject({ response: { temperature: 1, service_tier: 'auto', output: [] } });
    expect(streamed.events.at(-1)).toMatchObject({ response: { status: 'completed', service_tier: 'default' } });
  });

  it('shows the settings of the caller in every snapshot', async () => {
    const settings = { temperature: 0.5, top_p: 0.9 };
    const input = [user(backEnd.script('Say hello.', spoken))];
    const streamed = await readStream(await gateway.post('/responses', { model, stream: true, input, ...settings }));
    const snapshots = streamed.events.filter((event) => 'response' in event);
    expect(snapshots).toHaveLength(3);
    for (const snapshot of snapshots) expect(snapshot).toMatchObject({ response: settings });
  });
});

it('the settings that a provider reports take precedence', async () => {
  const backEnd = backEnds.all.find(({ kind }) => kind === 'openai-responses')!;
  const reported = { temperature: 0.7, top_p: 0.8, presence_penalty: 0.1, frequency_penalty: 0.2, top_logprobs: 3 };
  const content = [{ type: 'output_text', text: 'Hello.', annotations: [] }];
  const output = [{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }];
  const base = { id: 'resp_up', object: 'response', status: 'completed', output, ...reported, truncation: 'auto' };
  backEnd.upstream!.respond(json({ ...base, service_tier: 'priority' }));
  const request = { model: backEnd.model, input: 'Hello', temperature: 0.2 };
  const response: unknown = await (await backEnd.gateway.post('/responses', request)).json();
  expect(response).toMatchObject({ ...reported, truncation: 'auto', service_tier: 'priority' });
});
