import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  json,
  type ScriptedUpstream,
  sse,
  startUpstream,
  type TestGateway,
  testGateway,
} from '../../src/testing/index.ts';
import { answer } from './lab.ts';

/* Gemini names the tier of a response in a header: https://ai.google.dev/gemini-api/docs/priority-inference */

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  const served = { base_url: upstream.url, models: [{ model: 'acme/one' }] };
  gateway = await testGateway({
    providers: [
      { id: 'gemini', wire: 'gemini', ...served },
      { id: 'chat', wire: 'openai-chat', ...served, models: [{ model: 'acme/two' }] },
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

const geminiBody = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hi.' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
};

const tierOf = async (model: string, wire: 'gemini' | 'openai-chat', mode: 'buffered' | 'streamed', tier: string) => {
  const whole = mode === 'buffered';
  const given = wire === 'gemini' ? (whole ? json(geminiBody) : sse([geminiBody])) : answer({ wire, mode });
  upstream.respond({ ...given, headers: { ...given.headers, 'x-gemini-service-tier': tier } });
  const body = { model, input: 'Hi', service_tier: 'priority', stream: mode === 'streamed' };
  const text = await (await gateway.post('/responses', body)).text();
  return [...text.matchAll(/"service_tier":"(\w+)"/g)].at(-1)?.[1] ?? text;
};

it.each([
  ['buffered', 'standard', 'default'],
  ['streamed', 'standard', 'default'],
  ['buffered', 'priority', 'priority'],
  ['streamed', 'Flex', 'flex'],
] as const)('a %s response with the header %s was served as %s', async (mode, header, tier) => {
  expect(await tierOf('acme/one', 'gemini', mode, header)).toBe(tier);
});

it('other providers do not have the header', async () => {
  expect(await tierOf('acme/two', 'openai-chat', 'buffered', 'flex')).not.toBe('flex');
});
