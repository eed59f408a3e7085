import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  json,
  sse,
  type ScriptedUpstream,
  startUpstream,
  type TestGateway,
  testGateway,
} from '../../src/testing/index.ts';

const pricing = { prompt: 0.001, completion: 1 };
let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: [
      { id: 'up', wire: 'openai-chat', base_url: upstream.url, models: [{ model: 'up/m', pricing }] },
      { id: 'free', wire: 'openai-chat', base_url: upstream.url, models: [{ model: 'free/m' }] },
      { id: 'google', wire: 'gemini', base_url: upstream.url, models: [{ model: 'google/m', pricing }] },
      {
        id: 'responses',
        wire: 'openai-responses',
        base_url: upstream.url,
        models: [{ model: 'responses/m', pricing }],
      },
      {
        id: 'messages',
        wire: 'anthropic-messages',
        base_url: upstream.url,
        models: [{ model: 'messages/m', pricing }],
      },
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

it.each([
  1e30,
  2 ** 60,
  1e15,
  -5,
  '12 tokens',
  null,
])('a response with %j tokens succeeds, and is recorded as an estimate', async (count) => {
  const before = (await gateway.gateway.storage.ledger.readTotals()).entries;
  upstream.respond(
    json({
      id: 'x',
      object: 'chat.completion',
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: count, completion_tokens: count, total_tokens: count },
    }),
  );
  const response = await gateway.post('/responses', { model: 'up/m', input: 'hi' });
  expect(response.status).toBe(200);
  const { usage } = (await response.json()) as { usage: { output_tokens: number } };
  expect(usage.output_tokens).toBe(1);
  await expect.poll(async () => (await gateway.gateway.storage.ledger.readTotals()).entries).toBe(before + 1);
  const entry = await gateway.get(`/generation?id=${response.headers.get('x-generation-id')}`);
  expect(await entry.json()).toMatchObject({ data: { tokens_completion: 1, usage_estimated: true } });
});

describe('a response that counts only its input or its output', () => {
  const chat = (usage: object, content: string | null = 'hi') =>
    json({
      id: 'x',
      object: 'chat.completion',
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage,
    });
  const responses = (usage: object) =>
    json({
      id: 'x',
      object: 'response',
      status: 'completed',
      model: 'm',
      output: [
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'hi', annotations: [] }],
        },
      ],
      usage,
    });
  const claude = (usage: object) =>
    json({
      id: 'x',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'hi' }],
      stop_reason: 'end_turn',
      usage,
    });

  it.each([
    ['up/m', chat({ prompt_tokens: 70 }), [70, 1, true]],
    ['up/m', chat({ input_tokens: 70, output_tokens: 5, total_tokens: 75 }), [70, 5, false]], // earendil-works/pi#2325
    ['up/m', chat({ prompt_tokens: '70', completion_tokens: '5' }), [70, 5, false]],
    ['responses/m', responses({ input_tokens: '70', output_tokens: '5' }), [70, 5, false]],
    ['messages/m', claude({ input_tokens: '70', output_tokens: '5' }), [70, 5, false]],
    ['up/m', chat({ prompt_tokens: 70, total_tokens: 70 }), [70, 1, true]],
    ['up/m', chat({ prompt_tokens: 70, total_tokens: 75 }), [70, 5, false]],
    ['up/m', chat({ completion_tokens: 5 }), [2, 5, true]],
    ['up/m', chat({ completion_tokens: 5, total_tokens: 75 }), [70, 5, false]],
    ['up/m', chat({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }), [2, 1, true]],
    ['up/m', chat({ prompt_tokens: 70, completion_tokens: 0, total_tokens: 70 }), [70, 1, true]],
    ['up/m', chat({ prompt_tokens: 100, completion_tokens: 10, total_tokens: 610 }), [100, 510, true]],
    ['responses/m', responses({ input_tokens: 100, output_tokens: 10, total_tokens: 610 }), [100, 510, true]],
    ['responses/m', responses({ input_tokens: 0, output_tokens: 0, total_tokens: 0 }), [2, 1, true]],
    ['messages/m', claude({ input_tokens: 0, output_tokens: 0 }), [2, 1, true]],
    ['responses/m', responses({ input_tokens: 70 }), [70, 1, true]],
    ['responses/m', responses({ input_tokens: 70, total_tokens: 75 }), [70, 5, false]],
    ['messages/m', claude({ input_tokens: 70 }), [70, 1, true]],
    ['messages/m', claude({ output_tokens: 5 }), [2, 5, true]],
    // MiXaiLL76/auto_ai_router#142
    ['messages/m', claude({ input_tokens: 0, output_tokens: 5 }), [2, 5, true]],
    ['up/m', chat({ prompt_tokens: 0, completion_tokens: 5, total_tokens: 5 }), [2, 5, true]],
    ['up/m', chat({ prompt_tokens: 70, completion_tokens: 4.5 }), [70, 5, false]],
    ['messages/m', claude({ output_tokens: 5, cache_read_input_tokens: 90 }), [90, 5, true]],
  ])('gets the other one: %s, %#', async (model, response, [input, output, isEstimated]) => {
    upstream.respond(response);
    const answer = await gateway.post('/responses', { model, input: 'hello you' });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ usage: { input_tokens: input, output_tokens: output } });
    const id = answer.headers.get('x-generation-id');
    await expect.poll(async () => (await gateway.get(`/generation?id=${id}`)).status).toBe(200);
    const { data } = (await (await gateway.get(`/generation?id=${id}`)).json()) as { data: Record<string, unknown> };
    expect([data['tokens_prompt'], data['tokens_completion'], data['usage_estimated']]).toEqual([
      input,
      output,
      isEstimated,
    ]);
    expect(data['total_cost']).toBeCloseTo(Number(input) * 0.001 + Number(output), 9);
  });
});

describe('counts that contradict each other', () => {
  it('price cached tokens beyond the input beside it, and are marked as an estimate', async () => {
    upstream.respond(
      json({
        id: 'x',
        object: 'chat.completion',
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
        usage: {
          prompt_tokens: 20,
          completion_tokens: 10,
          total_tokens: 30,
          prompt_tokens_details: { cached_tokens: 80 },
        },
      }),
    );
    const response = await gateway.post('/responses', { model: 'up/m', input: 'hi' });
    expect(await response.json()).toMatchObject({
      usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 80 }, output_tokens: 10, total_tokens: 110 },
    });
    const id = response.headers.get('x-generation-id');
    await expect.poll(async () => (await gateway.get(`/generation?id=${id}`)).status).toBe(200);
    const entry = await gateway.get(`/generation?id=${id}`);
    expect(await entry.json()).toMatchObject({ data: { usage_estimated: true } });
  });
});

describe('the cost that a provider reports', () => {
  const priced = (cost: unknown) =>
    json({
      id: 'x',
      object: 'chat.completion',
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30, cost },
    });

  it.each([
    [0.0123, 0.0123],
    [0, 0],
    [-1, null],
    ['0.5', null],
    [undefined, null],
  ])('of %j is the cost %j where no price is known', async (reported, cost) => {
    upstream.respond(priced(reported));
    const response = await gateway.post('/responses', { model: 'free/m', input: 'hi' });
    expect(await response.json()).toMatchObject({ usage: { cost } });
  });

  it('changes nothing where a price is known', async () => {
    upstream.respond(priced(0.0123));
    const response = await gateway.post('/responses', { model: 'up/m', input: 'hi' });
    expect(await response.json()).toMatchObject({ usage: { cost: 20 * 0.001 + 10 } });
  });
});

/** MiniMax sends an empty object with every chunk, and the counts last: zed-industries/zed#42893. */
describe('empty counts in the chunks of a stream', () => {
  const piece = (delta: object, finish_reason: string | null = null) => ({
    id: 'x',
    object: 'chat.completion.chunk',
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
    usage: {},
  });
  const counts = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
  const chat = sse([
    piece({ role: 'assistant', content: 'hi' }),
    piece({}, 'stop'),
    { ...piece({}), choices: [], usage: counts },
    '[DONE]',
  ]);
  const text = { content: { role: 'model', parts: [{ text: 'hi' }] } };
  const google = sse([
    { candidates: [text], usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 } },
    { candidates: [{ finishReason: 'STOP' }], usageMetadata: {} },
  ]);

  it.each([
    ['up/m', chat],
    ['google/m', google],
  ])('do not hide the counts: %s', async (model, script) => {
    upstream.respond(script);
    const response = await gateway.post('/responses', { model, input: 'hi', stream: true });
    expect(await response.text()).toMatch(/"usage":\{"input_tokens":5,.*"output_tokens":2,.*"total_tokens":7/);
  });
});
