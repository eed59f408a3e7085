import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;

const answer = {
  id: 'x',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: {
    prompt_tokens: 1000,
    completion_tokens: 200,
    total_tokens: 1200,
    prompt_tokens_details: { cached_tokens: 300 },
    completion_tokens_details: { reasoning_tokens: 50 },
  },
};
const pricing = { prompt: '0.000001', completion: '0.000002' };

beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: [
      { id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/*' }] },
      { id: 'up', name: 'Up', wire: 'openai-chat', base_url: upstream.url, models: [{ model: 'up/m', pricing }] },
      { id: 'wild', wire: 'openai-chat', base_url: upstream.url, models: [{ model: 'wild/*' }] },
      { id: 'down', wire: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', models: [{ model: 'down/m' }] },
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

/** Metric with labels → value. */
async function read(from = gateway): Promise<Map<string, number>> {
  const response = await fetch(`${from.url}/metrics`);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

/** Responses are counted after they are sent, which a client may see first. */
const expectSoon = (name: string, from = gateway) => expect.poll(async () => (await read(from)).get(name));

describe('GET /metrics', () => {
  it('counts tokens, cost, attempts and responses of a model', async () => {
    upstream.respond(json(answer));
    expect((await gateway.post('/responses', { model: 'up/m', input: 'hi' })).status).toBe(200);
    const up = 'model="up/m",provider="up"';
    const metrics = await read();
    expect(metrics.get(`headgate_responses_total{${up},status="2xx",streamed="false"}`)).toBe(1);
    expect(metrics.get(`headgate_tokens_total{${up},kind="input"}`)).toBe(1000);
    expect(metrics.get(`headgate_tokens_total{${up},kind="cached"}`)).toBe(300);
    expect(metrics.get(`headgate_tokens_total{${up},kind="output"}`)).toBe(200);
    expect(metrics.get(`headgate_tokens_total{${up},kind="reasoning"}`)).toBe(50);
    expect(metrics.get(`headgate_cost_usd_total{${up}}`)).toBeCloseTo(0.0014, 9);
    expect(metrics.get(`headgate_attempts_total{${up},outcome="ok"}`)).toBe(1);
    expect(metrics.get(`headgate_endpoint_stable{${up}}`)).toBe(1);
    await expectSoon('headgate_http_requests_total{method="POST",route="/api/v1/responses",status="2xx"}').toBe(1);
  });

  it.each([
    ['/responses', { input: 'hi' }],
    ['/responses', { input: 'hi', stream: true }],
    ['/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }],
    ['/messages', { messages: [{ role: 'user', content: 'hi' }], max_tokens: 9, stream: true }],
  ])('counts cost, tokens and responses of a workspace and its keys (%s %j)', async (path, body) => {
    const own = { id: 'own', wire: 'openai-chat', base_url: upstream.url, models: [{ model: 'up/m', pricing }] };
    const teams = await testGateway({ providers: [own], server: { metrics_callers: 'key' } });
    try {
      upstream.respond(json(answer));
      const response = await teams.post(path, { model: 'up/m', ...body });
      expect(response.status).toBe(200);
      await response.text();
      const labels = (await read(teams)).keys().find((name) => name.startsWith('headgate_caller_cost_usd_total'))!;
      expect(labels).toMatch(
        /\{workspace="[0-9a-f-]{36}",workspace_name="main",key_hash="[0-9a-f]{12}",key_name="[^"]+"\}$/,
      );
      const of = labels.slice(labels.indexOf('{'), -1);
      await expectSoon(`headgate_caller_responses_total${of},status="2xx"}`, teams).toBe(1);
      const metrics = await read(teams);
      expect(metrics.get(labels)).toBeCloseTo(0.0014, 9);
      expect(metrics.get(`headgate_caller_tokens_total${of},kind="input"}`)).toBe(1000);
      expect(metrics.get(`headgate_caller_tokens_total${of},kind="output"}`)).toBe(200);
    } finally {
      await teams.close();
    }
  });

  it('names no key unless it is configured', async () => {
    upstream.respond(json(answer));
    await gateway.post('/responses', { model: 'up/m', input: 'hi' });
    const names = [...(await read()).keys()].filter((name) => name.startsWith('headgate_caller_'));
    expect(names).toContainEqual(expect.stringContaining('workspace_name="main"'));
    expect(names.filter((name) => name.includes('key'))).toEqual([]);
  });

  it('folds the slugs of a wildcard into its pattern', async () => {
    for (let at = 0; at < 20; at++) {
      upstream.respond(json(answer));
      await gateway.post('/responses', { model: `wild/n${at}`, input: 'hi' });
    }
    const metrics = await read();
    const names = [...metrics.keys()].filter((name) => name.includes('wild'));
    expect(new Set(names.map((name) => /model="([^"]*)"/.exec(name)?.[1]))).toEqual(new Set(['wild/*']));
    const labels = 'model="wild/*",provider="wild"';
    expect(metrics.get(`headgate_responses_total{${labels},status="2xx",streamed="false"}`)).toBe(20);
  });

  it('has the time to the first output and the parts of the latency of a stream', async () => {
    const before = await read();
    await gateway.stream({ model: 'simulator/echo', input: '[[slow 20]] one two three four' });
    const metrics = await read();
    const labels = 'model="simulator/echo",provider="simulator"';
    expect(metrics.get(`headgate_first_output_seconds_count{${labels}}`)).toBe(1);
    const first = metrics.get(`headgate_first_output_seconds_sum{${labels}}`)!;
    const total = metrics.get(`headgate_response_duration_seconds_sum{${labels},streamed="true"}`)!;
    const overhead = metrics.get('headgate_overhead_seconds_sum{streamed="true"}')!;
    expect(first).toBeGreaterThan(0);
    expect(total).toBeGreaterThan(first);
    expect(total).toBeGreaterThan(0.05); // the provider was slow,
    expect(overhead).toBeLessThan(total - 0.05); // and the gateway was not
    expect(metrics.get('headgate_queue_seconds_count')! - before.get('headgate_queue_seconds_count')!).toBe(1);
    expect(metrics.get(`headgate_response_duration_seconds_bucket{${labels},streamed="true",le="+Inf"}`)).toBe(1);
  });

  it('shows an outage, and why attempts failed', async () => {
    for (let at = 0; at < 3; at++) await gateway.post('/responses', { model: 'down/m', input: 'hi' });
    const labels = 'model="down/m",provider="down"';
    const metrics = await read();
    expect(metrics.get(`headgate_endpoint_stable{${labels}}`)).toBe(0);
    expect(metrics.get(`headgate_responses_total{${labels},status="5xx",streamed="false"}`)).toBe(3);
    expect(metrics.get(`headgate_attempts_total{${labels},outcome="upstream_failed"}`)).toBe(3);
  });

  it('counts requests that never reached a model, by route', async () => {
    await gateway.post('/responses', { model: 'nobody/knows', input: 'hi' });
    await gateway.post('/responses', { nonsense: true });
    await gateway.post('/responses', {}, { key: 'wrong' });
    await gateway.get('/api/v1/no-such-thing');
    const requests = 'headgate_http_requests_total{method="POST",route="/api/v1/responses",status="4xx"}';
    await expectSoon(requests).toBe(3);
    const metrics = await read();
    expect(metrics.get('headgate_responses_total{model="none",provider="none",status="4xx",streamed="false"}')).toBe(1);
    expect(metrics.get('headgate_http_requests_total{method="any",route="other",status="4xx"}')).toBe(1);
  });

  it('counts open requests and streams while they are open, and a client that disconnects as cancelled', async () => {
    const aborter = new AbortController();
    const body = { model: 'simulator/echo', input: '[[slow 50]] [[words 1000]]', stream: true };
    const response = await gateway.post('/responses', body, { signal: aborter.signal });
    expect(response.status).toBe(200);
    const metrics = await read();
    expect(metrics.get('headgate_open_streams')).toBe(1);
    expect(metrics.get('headgate_open_requests')).toBe(1);
    aborter.abort();
    await response.text().catch(() => {});
    await expectSoon('headgate_open_streams').toBe(0);
    await expectSoon('headgate_open_requests').toBe(0);
    await expectSoon(
      'headgate_responses_total{model="simulator/echo",provider="simulator",status="cancelled",streamed="true"}',
    ).toBe(1);
    await expectSoon('headgate_http_requests_total{method="POST",route="/api/v1/responses",status="cancelled"}').toBe(
      1,
    );
  });

  it('describes the journal and the process', async () => {
    const metrics = await read();
    expect(metrics.get('headgate_journal_entries')).toBeGreaterThanOrEqual(0);
    expect(metrics.get('process_resident_memory_bytes')).toBeGreaterThan(1e7);
    expect(metrics.get('process_cpu_seconds_total')).toBeGreaterThan(0);
    expect([...metrics.keys()].some((name) => name.startsWith('headgate_info{version='))).toBe(true);
    expect(metrics.get('nodejs_eventloop_lag_max_seconds')).toBeGreaterThanOrEqual(0);
  });

  it('is text in the Prometheus format: each name once, with type and help, and cumulative buckets', async () => {
    const text = await (await fetch(`${gateway.url}/metrics`)).text();
    const types = new Map<string, string>();
    for (const line of text.trimEnd().split('\n')) {
      const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
      if (type) {
        expect(types.has(type[1]!)).toBe(false);
        types.set(type[1]!, type[2]!);
      } else if (!line.startsWith('# HELP ')) {
        const sample = /^([a-z_]+)(\{[a-z_]+="(?:[^"\\]|\\.)*"(?:,[a-z_]+="(?:[^"\\]|\\.)*")*\})? \S+$/.exec(line);
        expect(sample, line).not.toBeNull();
        const name = sample![1]!;
        expect(types.has(name) || types.get(name.replace(/_(bucket|sum|count)$/, '')) === 'histogram', line).toBe(true);
      }
    }
    const buckets = [...(await read())].filter(([name]) => name.startsWith('headgate_queue_seconds_bucket'));
    const counts = buckets.map(([, value]) => value);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(counts.at(-1)).toBe((await read()).get('headgate_queue_seconds_count'));
  });
});

describe('access to the metrics', () => {
  const status = async (key?: string, headers: Record<string, string> = {}, from = gateway) =>
    (await fetch(`${from.url}/metrics`, { headers: { ...headers, ...(key && { authorization: `Bearer ${key}` }) } }))
      .status;

  it('loopback: without a key on this machine, with a management key behind a proxy', async () => {
    expect(await status()).toBe(200);
    expect(await status(undefined, { 'x-forwarded-for': '203.0.113.7' })).toBe(401);
    expect(await status(gateway.managementKey, { forwarded: 'for=203.0.113.7' })).toBe(200);
  });

  it.each([
    ['127.0.0.1:8787', 200],
    ['LocalHost', 200],
    ['[::1]:8787', 200],
    ['rebound.example.com:8787', 401],
    ['127.0.0.1.example.com', 401],
  ])('loopback: a page with a rebound name is not from this machine: %s', async (host, expected) => {
    const answered = await new Promise<number | undefined>((resolve, reject) => {
      const asked = request(`${gateway.url}/metrics`, { headers: { host } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      asked.on('error', reject).end(); // fetch sends a Host of its own
    });
    expect(answered).toBe(expected);
  });

  it.each([
    ['management', {}, [401, 403, 200]],
    ['loopback', { host: '0.0.0.0' }, [401, 403, 200]],
    ['public', { host: '0.0.0.0' }, [200, 200, 200]],
    ['off', {}, [404, 404, 404]],
  ])('%s %o: without a key, with an inference key, with a management key: %o', async (metrics, server, expected) => {
    const own = await testGateway({ server: { ...server, metrics } });
    const at = { ...own, url: own.url.replace('0.0.0.0', '127.0.0.1') };
    const keys = [undefined, own.key, own.managementKey];
    expect(await Promise.all(keys.map((key) => status(key, {}, at)))).toEqual(expected);
    await own.close();
  });
});

it('every response has X-Request-Id, also for an invalid request', async () => {
  const odd = await fetch(`${gateway.url}/api/v1/models/%zz/x/endpoints`, {
    headers: { 'x-request-id': 'req_of_mine' },
  });
  expect(odd.status).toBe(400);
  expect(odd.headers.get('x-request-id')).toBe('req_of_mine');
  const { port } = new URL(gateway.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write('nonsense\r\n\r\n');
  expect(await text(socket)).toMatch(/\r\nx-request-id: req_\w+\r\n/);
});
