import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { ask, wholeBody } from './lab.ts';

const paths = { 'openai-responses': '/v1/responses', 'openai-chat': '/v1/chat/completions' };
type Spoken = keyof typeof paths;

let upstream: ScriptedUpstream;
let gateway: TestGateway;
let speaks: readonly Spoken[];
let missing: number;

beforeEach(async () => {
  speaks = ['openai-chat'];
  missing = 404;
  upstream = await startUpstream();
  upstream.always((request) => answer(request));
});
afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

/** A server that has the paths of the wires that it speaks, and rejects an empty request. */
function answer({ path, text }: ScriptedRequest) {
  const wire = speaks.find((each) => paths[each] === path);
  if (!wire) return json({ detail: 'Not Found' }, { status: missing });
  return text === '{}' ? json({ error: { message: 'model is required' } }, { status: 400 }) : json(wholeBody(wire));
}

const entry = (more: object = {}) => ({ id: 'openai', base_url: upstream.url, api_key: 'sk-1', ...more });
const open = async (more: object = {}) => {
  gateway = await testGateway({ providers: [entry(more)] });
};
const send = (model = 'openai/m') => ask(gateway, 'buffered', { model });
const realRequests = () => upstream.requests.filter(({ text }) => text !== '{}').map(({ path }) => path);

describe('a built-in provider at another address', () => {
  it.each([404, 405])('is sent chat completions if its server returns %i for /responses', async (status) => {
    missing = status;
    await open();

    const outcomes = [await send(), await send(), await ask(gateway, 'buffered', { model: 'openai/m' })];

    expect(outcomes.map((outcome) => outcome.status)).toEqual([200, 200, 200]);
    expect(realRequests().slice(-2)).toEqual(['/v1/chat/completions', '/v1/chat/completions']);
    expect(upstream.requests.filter(({ text }) => text === '{}').length).toBeLessThanOrEqual(2);
  });

  it('is sent responses if its server has both', async () => {
    speaks = ['openai-chat', 'openai-responses'];
    await open();

    expect((await send()).status).toBe(200);
    expect(new Set(realRequests())).toEqual(new Set(['/v1/responses']));
  });

  it('is detected again after its server has changed', async () => {
    await open();
    await send();
    speaks = ['openai-responses'];

    expect((await send()).status).toBe(200);
    expect(realRequests().at(-1)).toBe('/v1/responses');
  });

  it.each(['buffered', 'streamed'] as const)('has an attempt for each wire if a path is missing: %s', async (mode) => {
    const pricing = { prompt: '0.000001', completion: '0.000002' };
    speaks = ['openai-responses'];
    await open({ models: [{ model: 'openai/m', pricing }] });
    expect((await send()).status).toBe(200);
    speaks = ['openai-chat'];

    const { status, headers, response } = await ask(
      gateway,
      mode,
      { model: 'openai/m' },
      { headers: { 'x-router-metadata': 'enabled' } },
    );

    expect(status).toBe(200);
    expect(response?.router_metadata).toMatchObject({
      attempt: 2,
      attempts: [
        { provider: 'OpenAI', status: 502, message: expect.stringContaining('does not have the path (status 404)') },
        { provider: 'OpenAI', status: 200 },
      ],
    });
    const { data } = (await (await gateway.get(`/generation?id=${headers.get('x-generation-id')}`)).json()) as {
      data: Record<string, unknown>;
    };
    expect(data).toMatchObject({
      provider_name: 'OpenAI',
      tokens_prompt: 20,
      tokens_completion: 10,
      total_cost: 0.00004,
    });
    expect(data['provider_responses']).toMatchObject([
      { provider_name: 'OpenAI', status: 502 },
      { provider_name: 'OpenAI', status: 200 },
    ]);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    const labels = 'model="openai/m",provider="openai"';
    expect(metrics).toContain(`headgate_attempts_total{${labels},outcome="upstream_path_missing"} 1\n`);
    expect(metrics).toContain(`headgate_attempts_total{${labels},outcome="ok"} 2\n`);
    expect(metrics).toContain(`headgate_responses_total{${labels},status="2xx",streamed="${mode === 'streamed'}"}`);
    expect(metrics).toContain(`headgate_endpoint_stable{${labels}} 1\n`);
    expect(metrics).not.toMatch(/headgate_retries_total\{/);
  });

  it('keeps what it found over a reload', async () => {
    await open();
    await send();
    const before = upstream.requests.length;

    await gateway.reload({ providers: [entry({ timeouts: { idle_ms: 1234 } })] });
    await send();

    expect(upstream.requests.slice(before).map(({ path }) => path)).toEqual(['/v1/chat/completions']);
  });

  it('serves as soon as its server is available', async () => {
    await upstream.down();
    await open();
    expect((await send()).status).toBe(502);
    await upstream.up();

    expect((await send()).status).toBe(200);
  });

  it('fails permanently if the server has neither path, and names the correction', async () => {
    speaks = [];
    await open();

    const { status, envelope, headers } = await send();

    expect(status).toBe(502);
    expect(envelope?.error.message).toBe(
      'The provider does not have the path (status 404): Not Found. The server has neither /responses nor /chat/completions there: correct base_url of the provider openai, which often ends in /v1.',
    );
    expect(envelope?.error['availability']).toBeUndefined();
    expect(headers.get('x-should-retry')).toBe('false');
  });

  it('is not probed if its wire is configured', async () => {
    speaks = ['openai-chat'];
    gateway = await testGateway({ providers: [entry({ wire: 'openai-chat', models: [{ model: 'openai/*' }] })] });

    expect((await send()).status).toBe(200);
    expect(upstream.requests.map(({ path }) => path)).toEqual(['/v1/chat/completions']);
  });
});

it('a configured wire that the server lacks is a failure that names the settings', async () => {
  gateway = await testGateway({
    providers: [entry({ wire: 'openai-responses', models: [{ model: 'openai/*' }] })],
  });

  const { status, envelope, headers } = await send();

  expect(status).toBe(502);
  expect(envelope?.error.message).toBe(
    'The provider does not have the path (status 404): Not Found. Correct base_url or wire of the provider openai: openai-responses asks for /responses. With "wire: openai" the gateway finds out what the server has.',
  );
  expect(headers.get('x-should-retry')).toBe('false');
});

it('falls back to another endpoint if a path is missing', async () => {
  const models = [{ model: 'same/m', upstream_model: 'm' }];
  gateway = await testGateway({
    providers: [entry({ id: 'one', wire: 'openai-responses', models }), entry({ id: 'two', wire: 'openai', models })],
  });

  expect((await ask(gateway, 'buffered', { model: 'same/m', provider: { order: ['one', 'two'] } })).status).toBe(200);
});
