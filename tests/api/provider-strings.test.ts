import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { ask, type Mode, provider, providerKey, type WireName } from './lab.ts';
import { newSession, rowsOf } from './ledger-rows.ts';
import { startReceiver } from './otlp-receiver.ts';

/*
 * A provider that repeats its key in names: in the model, the tier and unknown fields. tests/lifecycle/log.test.ts has
 * the same for the log.
 */
let upstream: ScriptedUpstream;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let gateway: TestGateway;
beforeAll(async () => {
  [upstream, receiver] = await Promise.all([startUpstream(), startReceiver()]);
  gateway = await testGateway({
    telemetry: { otlp_endpoint: receiver.url },
    providers: (['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini'] as const).map((wire) =>
      provider(wire, 'leaky', upstream),
    ),
  });
});
afterAll(async () => {
  await gateway.close();
  await Promise.all([upstream.close(), receiver.upstream.close()]);
});

const model = `model-${providerKey}`;
const service_tier = `tier-${providerKey}-${'x'.repeat(3000)}`;
const odd = { [`field-${providerKey}`]: { note: [providerKey] }, [`${'y'.repeat(195)}${providerKey}`]: 1 };

const bodies: Record<WireName, object> = {
  'openai-chat': {
    id: 'c',
    model,
    service_tier,
    ...odd,
    usage: { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 },
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop', ...odd }],
  },
  'openai-responses': {
    id: 'r',
    object: 'response',
    status: 'completed',
    model,
    service_tier,
    ...odd,
    output: [{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [part('Hello')] }],
    usage: { input_tokens: 2, output_tokens: 1, total_tokens: 3 },
  },
  'anthropic-messages': {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model,
    stop_reason: 'end_turn',
    ...odd,
    content: [{ type: 'text', text: 'Hello' }],
    usage: { input_tokens: 2, output_tokens: 1, service_tier },
  },
  gemini: {
    modelVersion: model,
    ...odd,
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 1, totalTokenCount: 3, serviceTier: service_tier },
  },
};

function part(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** The same as a stream. */
function framesOf(wire: WireName): object[] {
  const { choices, content, ...rest } = bodies[wire] as Record<string, unknown[]>;
  switch (wire) {
    case 'openai-chat': {
      const [choice] = choices as { message: object }[];
      return [{ ...rest, choices: [{ ...choice, message: undefined, delta: choice!.message }] }];
    }
    case 'openai-responses':
      return [
        { type: 'response.created', response: { ...bodies[wire], status: 'in_progress', output: [] } },
        { type: 'response.completed', response: bodies[wire] },
      ];
    case 'anthropic-messages':
      return [
        { type: 'message_start', message: { ...rest, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: content![0] },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: rest['usage'] },
        { type: 'message_stop' },
      ];
    case 'gemini':
      return [bodies[wire]];
  }
}

const wires = Object.keys(bodies) as WireName[];
const cases = wires.flatMap((wire) => (['buffered', 'streamed'] as const).map((mode) => ({ wire, mode })));

describe.each(cases)('a key that $wire repeats, $mode', ({ wire, mode }: { wire: WireName; mode: Mode }) => {
  it('is in no response, ledger entry, generation or trace', async () => {
    const frames = sse(framesOf(wire), { named: wire === 'anthropic-messages', done: wire === 'openai-chat' });
    upstream.respond(mode === 'buffered' ? json(bodies[wire]) : frames);
    const session_id = newSession();
    const body = { model: `${wire}/leaky`, session_id };
    const outcome = await ask(gateway, mode, body, { headers: { 'x-router-metadata': 'enabled' } });

    expect(outcome.status).toBe(200);
    expect(outcome.response).toMatchObject({ status: 'completed', output: [{ content: [{ text: 'Hello' }] }] });
    expect(outcome.response!.router_metadata?.params).toMatchObject({ upstream_model: 'model-[masked]' });
    expect(outcome.text).not.toContain(providerKey);
    expect(outcome.response!.service_tier ?? '').not.toHaveLength(service_tier.length);
    expect((outcome.response!.service_tier ?? '').length).toBeLessThanOrEqual(200);
    expect([...outcome.headers].join()).not.toContain(providerKey);

    const [row] = await rowsOf(gateway.dataDir, session_id);
    expect(row).toMatchObject({ outcome: 'completed' });
    expect(JSON.stringify(row)).not.toContain(providerKey);
    const generation = await (await gateway.get(`/generation?id=${row!.id}`)).text();
    expect(generation).toContain(row!.id);
    expect(generation).not.toContain(providerKey);
    const spans = () => receiver.spans().filter(({ attributes }) => Object.values(attributes).includes(session_id));
    await expect.poll(() => spans().length).toBeGreaterThan(0);
    const text = (value: unknown) => JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}` : each));
    expect(text(receiver.spans())).toContain('model-[masked]');
    expect(text(receiver.spans())).not.toContain(providerKey);
  });
});
