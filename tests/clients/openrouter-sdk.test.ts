import { OpenRouter } from '@openrouter/sdk';
import { afterAll, describe, expect, it } from 'vitest';
import { testGateway } from '../../src/testing/test-gateway.ts';
import { startBackEnds } from './back-end.ts';
import type { Turn } from './turn.ts';

/*
 * This client checks the shape of each response, and rejects a null where its schema has none. An unpriced model leaves
 * out more fields than a priced one.
 */

const backEnds = await startBackEnds();
const unpriced = await testGateway({
  providers: [
    {
      id: 'simulator',
      wire: 'simulator',
      models: ['echo', 'embedding', 'rerank'].map((name) => ({ model: `acme/${name}`, upstream_model: name })),
    },
  ],
});
afterAll(async () => {
  await backEnds.close();
  await unpriced.close();
});

const usage = { input: 1000, cached: 400, output: 50, reasoning: 20 };
const bern = { name: 'get_weather', input: { city: 'Bern' } };

describe.each(backEnds.all)('chat completions in the client of OpenRouter with $kind', (backEnd) => {
  const { gateway, model } = backEnd;
  const client = new OpenRouter({ apiKey: gateway.key, serverURL: gateway.baseUrl });
  const ask = (turn: Turn) => ({
    model,
    messages: [{ role: 'user' as const, content: backEnd.script('Well?', turn) }],
  });

  it('are whole, with reasoning and usage', async () => {
    const chatRequest = ask({ reasoning: 'I think.', text: 'Hello.', usage });
    const { choices, usage: counts } = await client.chat.send({ chatRequest });
    expect(choices[0]!.message).toMatchObject({ content: 'Hello.', reasoning: expect.stringContaining('I think.') });
    expect(counts).toMatchObject({ promptTokens: 1000, costDetails: { upstreamInferencePromptCost: 0.00064 } });
  });

  it('have calls', async () => {
    const tools = [{ type: 'function' as const, function: { name: bern.name, parameters: { type: 'object' } } }];
    const { choices } = await client.chat.send({ chatRequest: { ...ask({ calls: [bern] }), tools } });
    expect(choices[0]).toMatchObject({
      finishReason: 'tool_calls',
      message: { toolCalls: [{ function: { name: bern.name, arguments: JSON.stringify(bern.input) } }] },
    });
  });

  it('are streamed, with usage', async () => {
    const chatRequest = {
      ...ask({ reasoning: 'I think.', text: 'Hello.', usage }),
      stream: true as const,
      streamOptions: { includeUsage: true },
    };
    let text = '';
    let total: number | undefined;
    for await (const chunk of await client.chat.send({ chatRequest })) {
      text += chunk.choices[0]?.delta.content ?? '';
      total = chunk.usage?.totalTokens ?? total;
    }
    expect(text).toBe('Hello.');
    expect(total).toBe(1050);
  });
});

describe('models without a price in the client of OpenRouter', () => {
  const client = new OpenRouter({ apiKey: unpriced.key, serverURL: unpriced.baseUrl });

  it('respond to a chat, embed and rank', async () => {
    const messages = [{ role: 'user' as const, content: 'Hello' }];
    const chat = await client.chat.send({ chatRequest: { model: 'acme/echo', messages } });
    const embedded = await client.embeddings.generate({ requestBody: { model: 'acme/embedding', input: 'a' } });
    const ranked = await client.rerank.rerank({
      requestBody: { model: 'acme/rerank', query: 'a', documents: ['a', 'b'] },
    });

    expect(chat).toMatchObject({ usage: { cost: null } });
    expect(embedded).not.toHaveProperty('usage.cost');
    expect(ranked).not.toHaveProperty('usage.cost');
  });

  it('have endpoints', async () => {
    const { data } = await client.endpoints.list({ author: 'acme', slug: 'echo' });
    expect(data).toMatchObject({ id: 'acme/echo', architecture: { tokenizer: null } });
  });
});
