import { createOpenAI } from '@ai-sdk/openai';
import { Agent, OpenAIResponsesModel, run, setTracingDisabled } from '@openai/agents';
import { streamText } from 'ai';
import { afterAll, expect, it } from 'vitest';
import { startBackEnd } from './back-end.ts';
import { openaiClient } from './openai-client.ts';
import { patient } from '../../src/testing/patience.ts';

setTracingDisabled(true);
const origin = 'https://app.example.com';
const backEnd = await startBackEnd('simulator', { server: { cors_origins: [origin] } });
const { gateway, model } = backEnd;
afterAll(() => backEnd.close());

/** Headers that a browser sends without a preflight, or never exposes. @see Fetch Standard, CORS-safelisted request-header */
const neverAsked = ['accept', 'accept-language', 'content-language'];

/** A `fetch` that records its request headers. */
function spy() {
  const names = new Set<string>();
  const spied: typeof fetch = (url, init) => {
    for (const name of new Headers(init?.headers).keys()) names.add(name);
    return fetch(url, init);
  };
  return { names, fetch: spied };
}

it.each([
  [
    'the openai client',
    async (spied: typeof fetch) => {
      const client = openaiClient(backEnd, { fetch: spied, dangerouslyAllowBrowser: true, timeout: patient(5000) });
      await client.responses.stream({ model, input: 'Hello' }).finalResponse();
    },
  ],
  [
    'the AI SDK',
    async (spied: typeof fetch) => {
      const provider = createOpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, fetch: spied });
      await streamText({ model: provider.responses(model), prompt: 'Hello' }).consumeStream();
    },
  ],
  [
    'the Agents SDK',
    async (spied: typeof fetch) => {
      const client = openaiClient(backEnd, { fetch: spied, dangerouslyAllowBrowser: true });
      await run(new Agent({ name: 'Helper', model: new OpenAIResponsesModel(client, model) }), 'Hello');
    },
  ],
])('lets a page of an allowed origin send what %s sends', async (_, ask) => {
  const sent = spy();
  await ask(sent.fetch);
  const asked = [...sent.names].filter((name) => !neverAsked.includes(name));

  const preflight = await fetch(`${gateway.baseUrl}/responses`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': asked.join(','),
    },
  });

  expect(asked).toEqual(expect.arrayContaining(['authorization', 'content-type']));
  expect(preflight.ok).toBe(true);
  const allowed = preflight.headers.get('access-control-allow-headers')!.split(/\s*,\s*/);
  expect(asked.filter((name) => !allowed.includes(name))).toEqual([]);
});
