import type { ChatCompletionChunk } from 'openai/resources/chat/completions';
import { afterAll, describe, expect, it } from 'vitest';
import { startBackEnds } from './back-end.ts';
import { openaiClient } from './openai-client.ts';

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

const usage = { input: 1000, cached: 400, output: 50, reasoning: 20 };

describe.each(backEnds.all)('chat completions in the openai client with $kind', (backEnd) => {
  const client = openaiClient(backEnd);
  const { model } = backEnd;

  it('returns a text, its usage and its cost', async () => {
    const content = backEnd.script('Who are you?', { text: 'I am a gateway.', usage });

    const { data, response } = await client.chat.completions
      .create({ model, messages: [{ role: 'user', content }] })
      .withResponse();

    expect(data).toMatchObject({
      id: response.headers.get('x-generation-id'),
      object: 'chat.completion',
      model,
      choices: [
        { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'I am a gateway.', refusal: null } },
      ],
      usage: {
        prompt_tokens: 1000,
        prompt_tokens_details: { cached_tokens: 400 },
        completion_tokens: 50,
        completion_tokens_details: { reasoning_tokens: backEnd.can.countReasoning ? 20 : 0 },
        total_tokens: 1050,
        cost: 0.00114, // 600 at 1, 400 at 0.1 and 50 at 10 USD per million
      },
    });
  });

  it('streams a text: the role first, the usage last', async () => {
    const content = backEnd.script('Count', { text: 'One two three.', usage });

    const stream = await client.chat.completions.create({
      model,
      messages: [{ role: 'user', content }],
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks: ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);

    expect(chunks[0]!.choices[0]!.delta).toEqual({ role: 'assistant', content: '' });
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('One two three.');
    expect(chunks.at(-2)!.choices[0]).toMatchObject({ finish_reason: 'stop', delta: {} });
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 1050, cost: 0.00114 } });
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });
});
