import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { bytes, json, stallBeforeHeaders } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';
import { type ReceivedSpan, startReceiver } from './otlp-receiver.ts';

let receiver: Awaited<ReturnType<typeof startReceiver>>;
let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeEach(async () => {
  [receiver, upstream] = await Promise.all([startReceiver(), startUpstream()]);
});
afterEach(async () => {
  await gateway.close();
  await Promise.all([receiver.upstream.close(), upstream.close()]);
});

const open = async (telemetry: object = {}): Promise<void> => {
  const pricing = { prompt: '0.000001', completion: '0.000002' };
  gateway = await testGateway({
    telemetry: { otlp_endpoint: receiver.url, ...telemetry },
    providers: [
      { id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/*' }] },
      { id: 'down', wire: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', models: [{ model: 'm' }] },
      {
        id: 'google',
        name: 'Up',
        wire: 'openai-chat',
        base_url: upstream.url,
        models: [{ model: 'm', upstream_model: 'm-1', pricing }],
      },
    ],
  });
};

const answer = {
  model: 'm-1-2026',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1000, completion_tokens: 200, total_tokens: 1200 },
};
const spans = async (count: number): Promise<ReceivedSpan[]> => {
  await expect.poll(() => receiver.spans().length).toBeGreaterThanOrEqual(count);
  return receiver.spans();
};

describe('a traced request', () => {
  it('has the times of a clock that was changed after the start', async () => {
    await open();
    upstream.always(json(answer));
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
    try {
      const before = Date.now();
      await gateway.post('/responses', { model: 'm', input: 'Hello' });
      for (const span of await spans(1)) expect(Number(span.startNs / 1_000_000n)).toBeGreaterThan(before - 60_000);
    } finally {
      vi.useRealTimers();
    }
  });

  it('is one span, with a child span for each attempt', async () => {
    await open({ headers: { 'x-collector-key': 'collector-secret' } });
    upstream.always(json(answer));
    const response = await gateway.post(
      '/responses',
      {
        model: 'm',
        input: 'What is in the prompt stays there.',
        provider: { order: ['down', 'google'] },
        user: 'ada@example.com',
        session_id: 'session-1',
        temperature: 0.5,
        trace: { trace_name: 'Order', generation_name: 'Ask', step: 3, team: 'blue', detail: { a: [1] } },
      },
      { headers: { 'x-request-id': 'req_of_mine' } },
    );
    expect(response.status).toBe(200);
    const all = await spans(3);
    expect(all).toHaveLength(3);
    const request = all.find(({ kind }) => kind === 2)!;
    const [failed, answered] = all.filter(({ kind }) => kind === 3) as [ReceivedSpan, ReceivedSpan];
    for (const span of [failed, answered]) {
      expect(span).toMatchObject({ traceId: request.traceId, parentSpanId: request.spanId, name: 'Ask' });
      expect(span.startNs >= request.startNs && span.endNs <= request.endNs).toBe(true);
    }
    expect(request.resource).toMatchObject({ 'service.name': 'headgate' });
    expect(request.parentSpanId ?? '').toBe('');
    expect(request.attributes).toMatchObject({
      'http.route': '/api/v1/responses',
      'http.response.status_code': 200,
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'm',
      'gen_ai.response.model': 'm',
      'headgate.request_id': 'req_of_mine',
      'headgate.generation_id': response.headers.get('x-generation-id'),
      'headgate.attempts': 2,
      'headgate.outcome': 'completed',
      'session.id': 'session-1',
      'trace.name': 'Order',
      'trace.metadata.step': 3,
      'trace.metadata.team': 'blue',
      'trace.metadata.detail': '{"a":[1]}',
    });
    expect(request.attributes['user.id']).toMatch(/^\w{16,}$/);
    expect(request.attributes['headgate.overhead_ms']).toBeGreaterThan(0);
    expect(failed.status).toEqual({ code: 2 });
    expect(failed.attributes).toMatchObject({ 'gen_ai.provider.name': 'down', 'headgate.provider': 'down' });
    expect(failed.attributes['error.type']).toEqual(expect.any(String));
    expect(failed.attributes['gen_ai.usage.input_tokens']).toBeUndefined();
    expect(answered.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'gcp.gemini',
      'gen_ai.request.model': 'm-1',
      'gen_ai.request.temperature': 0.5,
      'gen_ai.response.model': 'm-1-2026',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 1000,
      'gen_ai.usage.output_tokens': 200,
      'headgate.cost_usd': 0.0014,
    });
    const [sent] = receiver.upstream.requests;
    expect(sent).toMatchObject({ path: '/v1/traces', headers: { 'x-collector-key': 'collector-secret' } });
    const text = receiver.upstream.requests.map((each) => each.text).join('');
    for (const hidden of ['What is in the prompt', 'ada@example.com', 'Hello', gateway.key]) {
      expect(text).not.toContain(hidden);
    }
  });

  it('has the attributes of the environment', async () => {
    vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name=staging,k8s.pod.name=a%2Cb');
    onTestFinished(() => void vi.unstubAllEnvs());
    await open();
    await gateway.post('/responses', { model: 'simulator/echo', input: 'hi' });
    const [span] = await spans(2);
    expect(span!.resource).toEqual({
      'service.name': 'headgate',
      'service.version': expect.any(String),
      'deployment.environment.name': 'staging',
      'k8s.pod.name': 'a,b',
    });
  });

  it('is a child of the span in traceparent, or of `trace`, which takes precedence', async () => {
    await open();
    const headers = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    const body = { model: 'simulator/echo', input: 'hi' };
    await gateway.post('/responses', body, { headers });
    const trace = {
      trace_id: 'ffffffffffffffffffffffffffffffff',
      parent_span_id: 'aaaaaaaaaaaaaaaa',
      span_name: 'Mine',
    };
    await gateway.stream({ ...body, trace }, { headers });
    await gateway.post('/responses', { ...body, trace: { trace_id: 'order 17' } });
    const requests = (await spans(6)).filter(({ kind }) => kind === 2);
    expect(requests).toMatchObject([
      { traceId: '0af7651916cd43dd8448eb211c80319c', parentSpanId: 'b7ad6b7169203331' },
      { traceId: trace.trace_id, parentSpanId: trace.parent_span_id, name: 'Mine' },
      { traceId: expect.stringMatching(/^[\da-f]{32}$/), attributes: { 'trace.metadata.trace_id': 'order 17' } },
    ]);
    expect(requests[2]!.parentSpanId ?? '').toBe('');
  });

  it('has the kind of its failure, and no text', async () => {
    await open();
    upstream.always(json({ error: { message: 'You said: my secret prompt' } }, { status: 400 }));
    await gateway.post('/responses', { model: 'm', input: 'hi', provider: { only: ['google'] } });
    const [request] = (await spans(2)).filter(({ kind }) => kind === 2);
    expect(request).toMatchObject({ status: { code: 2 }, attributes: { 'http.response.status_code': 400 } });
    expect(request!.attributes['error.type']).toEqual(expect.any(String));
    expect(receiver.upstream.requests.map((each) => each.text).join('')).not.toContain('secret prompt');
  });

  it('is exported at a shutdown, too', async () => {
    await open();
    await gateway.post('/responses', { model: 'simulator/echo', input: 'hi' });
    await gateway.close();
    expect(receiver.spans()).toHaveLength(2);
  });
});

describe('sampling', () => {
  it('0 traces nothing', async () => {
    await open({ sampling: 0 });
    await gateway.post('/responses', { model: 'simulator/echo', input: 'hi' });
    await gateway.close();
    expect(receiver.upstream.requests).toHaveLength(0);
  });

  it('traces a session completely or not at all', async () => {
    await open({ sampling: 0.5 });
    const sessions = Array.from({ length: 20 }, (_, at) => `session-${at}`);
    for (const session_id of [...sessions, ...sessions, ...sessions]) {
      await gateway.post('/responses', { model: 'simulator/echo', input: 'hi', session_id });
    }
    await gateway.close();
    const traced = Map.groupBy(
      receiver.spans().filter(({ kind }) => kind === 2),
      ({ attributes }) => attributes['session.id'],
    );
    expect(traced.size).toBeGreaterThan(0);
    expect(traced.size).toBeLessThan(20);
    for (const each of traced.values()) expect(each).toHaveLength(3);
  });
});

describe('a collector that', () => {
  it.each([
    ['refuses', bytes('no', { status: 400 })],
    ['fails', bytes('no', { status: 503 })],
    ['says nothing', stallBeforeHeaders()],
  ])('%s affects neither requests nor a shutdown', async (_, script) => {
    receiver.upstream.always(script);
    await open();
    for (let at = 0; at < 50; at++) {
      const response = await gateway.post('/responses', { model: 'simulator/echo', input: 'hi' });
      expect(response.status).toBe(200);
    }
    const begun = performance.now();
    await gateway.close();
    expect(performance.now() - begun).toBeLessThan(30_000);
  });

  it('is unreachable does not affect requests', async () => {
    await receiver.upstream.down();
    await open();
    expect((await gateway.post('/responses', { model: 'simulator/echo', input: 'hi' })).status).toBe(200);
    await gateway.close();
  });
});
