import { GoogleGenAI } from '@google/genai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

/** Clients of Google with `vertexai: true` have other paths: https://github.com/googleapis/python-genai/pull/1684. */

let gateway: TestGateway;
beforeAll(async () => {
  const models = ['acme/echo', 'mine'].map((model) => ({ model, upstream_model: 'echo' }));
  gateway = await testGateway({ providers: [{ id: 'sim', wire: 'simulator', models }] });
});
afterAll(() => gateway.close());

it.each([
  ['without a project', '/api', {}],
  ['with a project', '', { project: 'acme', location: 'us-central1' }],
  ['with the newer version', '/api/v1', { apiVersion: 'v1' }],
])('the client of Vertex AI works %s', async (_, path, { apiVersion, ...place }: Record<string, string>) => {
  const httpOptions = { baseUrl: gateway.url + path, ...(apiVersion !== undefined && { apiVersion }) };
  const client = new GoogleGenAI({ vertexai: true, apiKey: gateway.key, httpOptions, ...place });
  for (const model of ['acme/echo', 'mine']) {
    expect((await client.models.generateContent({ model, contents: 'Hello' })).text).toContain('Hello');
    const texts: string[] = [];
    for await (const { text } of await client.models.generateContentStream({ model, contents: 'Hello' }))
      texts.push(text ?? '');
    expect(texts.join('')).toContain('Hello');
    expect((await client.models.countTokens({ model, contents: 'Hello' })).totalTokens).toBeGreaterThan(0);
  }
});
