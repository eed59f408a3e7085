import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mistral } from '../../src/testing/strict/providers/mistral.ts';
import { openStrictLab, type StrictLab } from './strict-lab.ts';

let lab: StrictLab;
beforeAll(async () => {
  lab = await openStrictLab(mistral);
});
afterAll(() => lab.close());

const weather = { name: 'get_weather', description: 'The weather.', parameters: { type: 'object', properties: {} } };
const call = (id: string) => ({ id, type: 'function', function: { name: 'get_weather', arguments: '{}' } });
const tools = [{ type: 'function', function: weather }];
const asked = { role: 'user', content: 'How is the weather?' };

describe.each([false, true])('a request to Mistral, streamed: %s', (stream) => {
  const chat = (messages: object[], more: object = {}) => lab.send('chat', { messages, stream, ...more });

  it('has call ids of nine letters and digits, alike in the call and its result', async () => {
    const id = 'functions.get_weather:0';
    const history = [asked, { role: 'assistant', content: null, tool_calls: [call(id)] }];
    const { status, sent } = await chat([...history, { role: 'tool', tool_call_id: id, content: 'Sunny.' }], { tools });
    expect(status).toBe(200);
    const [, called, result] = sent.messages as { tool_calls: { id: string }[]; tool_call_id: string }[];
    expect(called!.tool_calls[0]!.id).toMatch(/^[A-Za-z0-9]{9}$/);
    expect(result!.tool_call_id).toBe(called!.tool_calls[0]!.id);
  });

  it('keeps ids that Mistral made', async () => {
    const history = [asked, { role: 'assistant', content: null, tool_calls: [call('abcDEF123')] }];
    const { sent } = await chat([...history, { role: 'tool', tool_call_id: 'abcDEF123', content: 'Sunny.' }], {
      tools,
    });
    expect(JSON.stringify(sent.messages)).toContain('abcDEF123');
  });

  it.each([
    [
      'a user message after a result',
      [
        { role: 'tool', tool_call_id: 'a', content: 'Sunny.' },
        { role: 'user', content: 'And now?' },
      ],
      'a',
    ],
    ['a text beside a call', [{ role: 'tool', tool_call_id: 'a', content: 'Sunny.' }], 'a', 'I look.'],
  ] as const)('is accepted with %s', async (_name, rest, id, content: string | null = null) => {
    const history = [asked, { role: 'assistant', content, tool_calls: [call(id)] }, ...rest];
    expect((await chat(history, { tools })).status).toBe(200);
  });

  it('ends with a prefix if the assistant began the answer', async () => {
    const { status, sent } = await chat([asked, { role: 'assistant', content: 'It is' }]);
    expect(status).toBe(200);
    expect((sent.messages as object[]).at(-1)).toEqual({ role: 'assistant', content: 'It is', prefix: true });
  });

  it('ends with a message of the user if an instruction was last', async () => {
    expect((await chat([asked, { role: 'system', content: 'Be brief.' }])).status).toBe(200);
  });

  it('names the seed random_seed, and drops what Mistral forbids', async () => {
    const { status, sent, headers } = await chat([asked], {
      seed: 7,
      logprobs: true,
      top_logprobs: 2,
      logit_bias: { 5: 1 },
    });
    expect(status).toBe(200);
    expect(sent).toMatchObject({ random_seed: 7 });
    expect(headers.get('x-router-dropped-fields')?.split(', ').sort()).toEqual([
      'logit_bias',
      'logprobs',
      'top_logprobs',
    ]);
  });
});

it('names its changes in the metadata', async () => {
  const { body } = await lab.send('chat', { messages: [asked, { role: 'assistant', content: 'It is' }] });
  expect(JSON.stringify(body)).toContain('"adapted":["prefix"]');
});
