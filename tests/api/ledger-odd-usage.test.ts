import { afterAll, beforeAll, expect, it } from 'vitest';
import { json, type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: [
      {
        id: 'up',
        wire: 'openai-chat',
        base_url: upstream.url,
        models: [{ model: 'up/m', pricing: { prompt: 0.001, completion: 1 } }],
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
  1.5,
  '12',
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
