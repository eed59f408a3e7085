import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

const wires = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini'] as const;
let upstream: ScriptedUpstream;
let gateway: TestGateway;
let before: number;

beforeAll(async () => {
  upstream = await startUpstream();
  // The provider fails after it has read the request, which is all that the tests look at.
  upstream.always(json({ error: { message: 'Seen.' } }, { status: 400 }));
  gateway = await testGateway({
    providers: wires.map((wire) => ({
      id: `on-${wire}`,
      wire,
      base_url: upstream.url,
      api_key: 'sk-upstream-secret-1',
      dialect: { body: { top_k_of_operator: 7, chat_template_kwargs: { thinking: true, style: 'short' } } },
      models: [{ model: `acme/${wire}`, upstream_model: 'one' }],
    })),
  });
});
beforeEach(() => {
  before = upstream.requests.length;
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const paths = [
  ['/responses', { input: 'Hi' }],
  ['/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
  ['/messages', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 50 }],
] as const;
const sent = () => upstream.requests.slice(before).map(({ body }) => body as Record<string, unknown>);

describe.each(wires)('provider.options on %s', (wire) => {
  describe.each(paths)('from %s', (path, body) => {
    const send = (options: unknown, stream = false) =>
      gateway.post(path, { model: `acme/${wire}`, ...body, stream, provider: { options } });

    it.each([false, true])('adds the fields of the provider to its body, streamed: %s', async (stream) => {
      const own = { enable_thinking: false, chat_template_kwargs: { thinking: false } };
      await (await send({ [`ON-${wire}`]: own, other: { enable_thinking: true } }, stream)).text();
      expect(sent()).toMatchObject([
        {
          enable_thinking: false,
          chat_template_kwargs: { thinking: false, style: 'short' },
          top_k_of_operator: 7,
        },
      ]);
    });

    it('sends the fields of the operator without them', async () => {
      await (await send(null)).text();
      expect(sent()).toMatchObject([
        { top_k_of_operator: 7, chat_template_kwargs: { thinking: true, style: 'short' } },
      ]);
    });

    it.each([
      ['model', { model: 'other' }],
      ['messages', { messages: [] }],
      ['contents', { contents: [] }],
      ['stream', { stream: true }],
      ['tools', { tools: [] }],
      ['api_key', { api_key: 'x' }],
      ['generationConfig.maxOutputTokens', { generationConfig: { maxOutputTokens: 9 } }],
      ['extra_body.model', { more: 1, vllm: { model: 'x' } }],
    ])('rejects %s', async (_, fields) => {
      const response = await send({ [`on-${wire}`]: fields });
      expect(response.status).toBe(400);
      expect(await response.text()).toContain('provider.options.on-');
      expect(sent()).toEqual([]);
    });
  });
});

it.each([
  [{ a: { text: 'x'.repeat(17_000) } }, 'has more than 16384 bytes'],
  [{ a: { deep: JSON.parse(`${'['.repeat(12)}${']'.repeat(12)}`) } }, 'is nested more than 8 levels deep'],
  [{ a: 'text' }, 'options'],
  [['a'], 'options'],
])('rejects options that are too large or no objects', async (options, says) => {
  const response = await gateway.post('/responses', { model: 'acme/gemini', input: 'Hi', provider: { options } });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain(says);
});

it('rejects options for embeddings', async () => {
  const body = { model: 'acme/openai-chat', input: 'Hi', provider: { options: {} } };
  const response = await gateway.post('/embeddings', body);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('options');
});
