import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  json,
  type ScriptedUpstream,
  sse,
  startUpstream,
  type TestGateway,
  testGateway,
} from '../../src/testing/index.ts';

/* Tokens that Claude keeps for an hour cost more, and `usage` names them in each API: BerriAI/litellm#15056. */

const pricing = { prompt: 0.000001, completion: 0, cache_write: 0.00000125, cache_write_1h: 0.000002 };
const parts = { ephemeral_5m_input_tokens: 253, ephemeral_1h_input_tokens: 1000 };
const usage = {
  input_tokens: 31,
  output_tokens: 5,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 1253,
  cache_creation: parts,
};
const cost = 31e-6 + 253 * 1.25e-6 + 1000 * 2e-6;
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' };
const block = { type: 'text', text: 'ok' };

let upstream: ScriptedUpstream;
let inner: TestGateway;
let outer: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(({ body }) =>
    (body as { stream?: boolean }).stream
      ? sse([
          { type: 'message_start', message: { ...message, content: [], usage: { ...usage, output_tokens: 1 } } },
          { type: 'content_block_start', index: 0, content_block: block },
          { type: 'content_block_stop', index: 0 },
          { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
          { type: 'message_stop' },
        ])
      : json({ ...message, content: [block], stop_reason: 'end_turn', usage }),
  );
  const model = { model: 'claude', pricing };
  inner = await testGateway({
    providers: [{ id: 'claude', wire: 'anthropic-messages', base_url: upstream.url, models: [model] }],
  });
  outer = await testGateway({
    providers: ['openai-chat', 'openai-responses'].map((wire) => ({
      id: wire,
      wire,
      base_url: inner.baseUrl,
      api_key: inner.key,
      models: [{ model: `${wire}/claude`, upstream_model: 'claude', pricing }],
    })),
  });
});
afterAll(async () => {
  await outer.close();
  await inner.close();
  await upstream.close();
});

const apis = [
  ['/responses', { input: 'Hi' }],
  ['/chat/completions', { messages: [{ role: 'user', content: 'Hi' }], stream_options: { include_usage: true } }],
  ['/messages', { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] }],
] as const;

describe.each([false, true])('tokens written for an hour, streamed: %s', (stream) => {
  it.each(apis)('are in the usage of %s, and a gateway in front has the same counts and cost', async (path, body) => {
    const { stream_options: options, ...rest } = body as Record<string, unknown>;
    const ask = async (gateway: TestGateway, model: string) => {
      const response = await gateway.post(path, {
        model,
        stream,
        ...rest,
        ...(stream && options ? { stream_options: options } : {}),
      });
      return response.text();
    };
    for (const text of [
      await ask(inner, 'claude'),
      await ask(outer, 'openai-chat/claude'),
      await ask(outer, 'openai-responses/claude'),
    ]) {
      expect(text).toContain(`"cache_creation":${JSON.stringify(parts)}`);
      expect(Number(/"cost":([\d.e-]+)(?!.*"cost":)/s.exec(text)![1])).toBeCloseTo(cost, 9);
    }
  });
});
