import Anthropic from '@anthropic-ai/sdk';
import { createCohere } from '@ai-sdk/cohere';
import { createOpenAI } from '@ai-sdk/openai';
import { OpenAIEmbeddings } from '@langchain/openai';
import { embed, embedMany, rerank } from 'ai';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway?.close());

const model = 'simulator/embedding';
const values = ['the red fox', 'a fox that is red', 'blue birds'];
const likeness = (a: readonly number[], b: readonly number[]) => a.reduce((sum, part, at) => sum + part * b[at]!, 0);

describe('embeddings', () => {
  it('come to the openai client as base64 by default, and as numbers on request', async () => {
    const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, maxRetries: 0 });

    const usual = await client.embeddings.create({ model, input: values });
    const numbers = await client.embeddings.create({ model, input: values, encoding_format: 'float' });
    const base64 = await client.embeddings.create({ model, input: values, encoding_format: 'base64', dimensions: 8 });

    expect(usual.data.map(({ index, embedding }) => [index, embedding.length])).toEqual([
      [0, 256],
      [1, 256],
      [2, 256],
    ]);
    expect(numbers.data).toEqual(usual.data);
    expect(usual.usage).toMatchObject({ prompt_tokens: 11, total_tokens: 11, cost: 0 });
    expect(base64.data[0]!.embedding).toMatch(/^[\w+/]+=*$/);
    const [first, second, third] = usual.data.map(({ embedding }) => embedding);
    expect(likeness(first!, second!)).toBeGreaterThan(likeness(first!, third!));
  });

  it('come to the AI SDK', async () => {
    const openai = createOpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key });

    const one = await embed({ model: openai.embedding(model), value: values[0]!, maxRetries: 0 });
    const many = await embedMany({ model: openai.embedding(model), values, maxRetries: 0 });

    expect(one.embedding).toHaveLength(256);
    expect(many.embeddings).toHaveLength(3);
    expect(many.embeddings[0]).toEqual(one.embedding);
    expect(many.usage.tokens).toBe(11);
  });

  it('come to the client of Google, with its settings', async () => {
    const client = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: `${gateway.url}/api` } });
    const config = { taskType: 'RETRIEVAL_DOCUMENT', outputDimensionality: 8 };

    const one = await client.models.embedContent({ model, contents: values[0]! });
    const many = await client.models.embedContent({ model, contents: values, config });

    expect([one, many].map(({ embeddings }) => embeddings?.map((each) => each.values?.length))).toEqual([
      [256],
      [8, 8, 8],
    ]);
    await expect(client.models.embedContent({ model: 'a/none', contents: 'A' })).rejects.toMatchObject({ status: 400 });
  });

  it('come to LangChain', async () => {
    const embeddings = new OpenAIEmbeddings({
      model,
      apiKey: gateway.key,
      maxRetries: 0,
      configuration: { baseURL: gateway.baseUrl },
    });

    const documents = await embeddings.embedDocuments(values);

    expect(documents.map(({ length }) => length)).toEqual([256, 256, 256]);
    expect(await embeddings.embedQuery(values[1]!)).toEqual(documents[1]);
  });
});

describe('reranking', () => {
  it('orders documents for the AI SDK', async () => {
    const cohere = createCohere({ baseURL: gateway.baseUrl, apiKey: gateway.key });

    const { ranking } = await rerank({
      model: cohere.reranking('simulator/rerank'),
      maxRetries: 0,
      query: 'a red fox',
      documents: values,
      topN: 2,
    });

    expect(ranking.map(({ originalIndex, document }) => [originalIndex, document])).toEqual([
      [1, values[1]],
      [0, values[0]],
    ]);
  });
});

describe('a wrong base URL', () => {
  it.each(['', '/v1', '/api', '/api/v1/v1', '/api//v1'])('that ends in "%s" is served', async (end) => {
    const openai = new OpenAI({ baseURL: gateway.url + end, apiKey: gateway.key, maxRetries: 0 });
    const cohere = createCohere({ baseURL: gateway.url + end, apiKey: gateway.key });
    const ranking = { model: cohere.reranking('simulator/rerank'), query: 'a', documents: values, maxRetries: 0 };

    expect((await openai.embeddings.create({ model, input: 'a' })).data).toHaveLength(1);
    expect((await rerank(ranking)).ranking).toHaveLength(values.length);
  });

  it('of another version is explained', async () => {
    const openai = new OpenAI({ baseURL: `${gateway.url}/api/v2`, apiKey: gateway.key, maxRetries: 0 });

    await expect(openai.embeddings.create({ model, input: 'a' })).rejects.toThrow(
      'ends in /api/v1, to which clients add /embeddings',
    );
  });

  it.each([
    '/v2',
    '/api/v2',
    '/api/v1/v2',
    '//v2',
    '/v2/v2',
    '/v2/v1',
  ])('that ends in "%s" is served to clients of Cohere', async (end) => {
    const cohere = createCohere({ baseURL: gateway.url + end, apiKey: gateway.key });
    const ranking = { model: cohere.reranking('simulator/rerank'), query: 'a', documents: values, maxRetries: 0 };

    expect((await rerank(ranking)).ranking).toHaveLength(values.length);
    // The client shows the `message` of the body.
    await expect(rerank({ ...ranking, model: cohere.reranking('simulator/none') })).rejects.toThrow('no model "none"');
  });

  it('with many versions is not served: each one would have to be read again', async () => {
    const headers = { authorization: `Bearer ${gateway.key}` };
    const response = await fetch(`${gateway.url}${'/v2'.repeat(4)}/rerank`, { method: 'POST', headers });
    expect(response.status).toBe(404);
  });

  it.each(['', '/v1', '/api/v1', '/anthropic'])('that ends in "%s" is served to clients of Anthropic', async (end) => {
    const client = new Anthropic({ baseURL: gateway.url + end, apiKey: gateway.key, maxRetries: 0 });
    const message = { model: 'simulator/echo', max_tokens: 10, messages: [{ role: 'user' as const, content: 'a' }] };

    expect(await client.messages.create(message)).toMatchObject({ content: [{ type: 'text', text: 'a' }] });
    expect((await client.messages.countTokens(message)).input_tokens).toBeGreaterThan(0);
  });
});

describe('the list of models', () => {
  it('has the shape of the openai client', async () => {
    const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, maxRetries: 0 });

    const page = await client.models.list();
    const found = await client.models.retrieve('simulator/echo');

    expect(page.object).toBe('list');
    expect(page.data).toContainEqual(found);
    expect(found).toMatchObject({ id: 'simulator/echo', object: 'model', owned_by: 'simulator' });
    await expect(client.models.retrieve('simulator/none')).rejects.toMatchObject({ status: 404 });
  });

  it('has the shape of the Anthropic client, page by page', async () => {
    const client = new Anthropic({ baseURL: `${gateway.url}/api`, apiKey: gateway.key, maxRetries: 0 });

    const ids: string[] = [];
    for await (const { id, type, display_name: name, created_at: created } of client.models.list({ limit: 2 })) {
      expect([type, name !== '', Number.isNaN(Date.parse(created))]).toEqual(['model', true, false]);
      ids.push(id);
    }
    const { data, has_more: more } = await client.models.list({ limit: 2, before_id: ids[3]! });

    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toContain('simulator/echo');
    expect([data.map(({ id }) => id), more]).toEqual([ids.slice(1, 3), true]);
    expect(await client.models.retrieve('simulator/echo')).toMatchObject({
      id: 'simulator/echo',
      type: 'model',
      lifecycle: 'active',
      max_input_tokens: null, // the simulator has no limit
      retires_at: null,
    });
    await expect(client.models.list({ limit: 0 })).rejects.toMatchObject({ status: 400 });
    await expect(client.models.list({ after_id: 'none' })).rejects.toMatchObject({ status: 400 });
  });
});
