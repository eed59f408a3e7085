import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { provider } from './lab.ts';

/** Half of an answer must not look whole: https://github.com/WordPress/ai-provider-for-anthropic/issues/29. */

let upstream: ScriptedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({ providers: [provider('anthropic-messages', 'm', upstream)] });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const model = 'anthropic-messages/m';
const messages = [{ role: 'user', content: 'Search.' }];
const said = { type: 'text', text: '# Results' };
const whole = { type: 'message', role: 'assistant', content: [said], stop_reason: 'pause_turn', usage: {} };
const frames = [
  { type: 'message_start', message: { ...whole, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: said },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'pause_turn' }, usage: { output_tokens: 3 } },
  { type: 'message_stop' },
];
const contents = [{ role: 'user', parts: [{ text: 'Search.' }] }];

describe.each([
  ['/responses', { model, input: 'Search.' }, '"status":"incomplete"', '"reason":"max_output_tokens"'],
  ['/chat/completions', { model, messages }, '"finish_reason":"length"', '"native_finish_reason":"pause_turn"'],
  ['/messages', { model, messages, max_tokens: 9 }, '"stop_reason":"pause_turn"', '# Results'],
  [`/api/v1beta/models/${model}`, { contents }, '"finishReason":"MAX_TOKENS"', '# Results'],
])('a turn that Claude pauses, for %s', (path, body, first, second) => {
  const isGemini = path.startsWith('/api');

  it.each([false, true])('is not a complete one, streamed: %s', async (stream) => {
    upstream.respond(stream ? sse(frames, { named: true }) : json(whole));
    const action = stream ? ':streamGenerateContent?alt=sse' : ':generateContent';
    const response = await gateway.post(isGemini ? path + action : path, isGemini ? body : { ...body, stream });
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).toContain(first);
    expect(text).toContain(second);
  });
});
