import OpenAI, { AzureOpenAI } from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({});
});
afterAll(() => gateway.close());

const messages = [{ role: 'user' as const, content: 'Hello' }];

it.each(['', '/api', '/api/v1'])('the client of Azure works with the endpoint "%s"', async (path) => {
  const azure = new AzureOpenAI({
    endpoint: gateway.url + path,
    apiKey: gateway.key,
    apiVersion: '2024-10-21',
    maxRetries: 0,
  });
  const completion = await azure.chat.completions.create({ model: 'simulator/echo', messages });
  expect(completion).toMatchObject({ model: 'simulator/echo', choices: [{ message: { content: 'Hello' } }] });
  const { data } = await azure.embeddings.create({ model: 'simulator/embedding', input: 'a' });
  expect(data[0]!.embedding.length).toBeGreaterThan(1);
  const stream = await azure.chat.completions.create({ model: 'simulator/echo', messages, stream: true });
  let text = '';
  for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
  expect(text).toBe('Hello');
  const first = await azure.responses.create({ model: 'simulator/echo', input: 'Hello' });
  expect(first).toMatchObject({ model: 'simulator/echo', output_text: 'Hello' });
  let last = '';
  for await (const { type } of await azure.responses.create({ model: 'simulator/echo', input: 'a', stream: true })) {
    last = type;
  }
  expect(last).toBe('response.completed');
  expect((await azure.models.list()).data.map(({ id }) => id)).toContain('simulator/echo');
});

it.each(['', '/api', '/api/v1'])('the v1 API of Azure works with the endpoint "%s"', async (path) => {
  const client = new OpenAI({ baseURL: `${gateway.url}${path}/openai/v1`, apiKey: gateway.key, maxRetries: 0 });
  const model = 'simulator/echo';
  expect((await client.chat.completions.create({ model, messages })).choices[0]!.message.content).toBe('Hello');
  expect((await client.responses.create({ model, input: 'Hello' })).output_text).toBe('Hello');
  expect((await client.completions.create({ model, prompt: 'Hello' })).choices[0]!.text).toBe('Hello');
  expect((await client.embeddings.create({ model: 'simulator/embedding', input: 'a' })).data).toHaveLength(1);
  expect((await client.models.list()).data.map(({ id }) => id)).toContain(model);
  expect(await client.models.retrieve(model)).toMatchObject({ id: model });
});

it('paths below those of responses work', async () => {
  const client = new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: gateway.key, maxRetries: 0 });
  const counted = await client.responses.inputTokens.count({ model: 'simulator/echo', input: 'Hello' });
  expect(counted.input_tokens).toBeGreaterThan(0);
});

const post = (path: string, body: object, headers: object = { 'api-key': gateway.key }) =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

it.each([
  ['/api/openai/deployments/simulator/echo/chat/completions?api-version=1', { messages }],
  ['/openai/deployments/simulator%2Fecho/chat/completions', { messages }],
  ['/openai/deployments/simulator%2Fecho/completions?api-version=1', { prompt: 'Hello' }],
  ['/openai/deployments/simulator%2Fecho/responses?api-version=1', { input: 'Hello' }],
])('%s names the model', async (path, body) => {
  const response = await post(path, body);
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ model: 'simulator/echo' });
});

it('the model of the body counts', async () => {
  const response = await post('/openai/deployments/gpt-4o/chat/completions', { messages, model: 'simulator/echo' });
  expect(await response.json()).toMatchObject({ model: 'simulator/echo' });
});

it.each([
  ['/openai/deployments/%ZZ/chat/completions', 400],
  ['/openai/deployments/a/images', 404],
  ['/openai/deployments/unknown%2Fmodel/chat/completions', 400],
  ['/openai/deployments//chat/completions', 404],
  ['/openai/v1/nothing', 404],
  ['/openai/responsesx', 404],
  ['/api/v2/openai/responses', 404],
])('%s is a %i', async (path, status) => {
  const response = await post(path, { messages });
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
});

it('a wrong key is an error of the API', async () => {
  const response = await post(
    '/openai/deployments/simulator%2Fecho/chat/completions',
    { messages },
    { 'api-key': 'x' },
  );
  expect(response.status).toBe(401);
  expect(await response.json()).toMatchObject({ error: { message: expect.any(String), type: 'authentication' } });
});
