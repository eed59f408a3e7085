import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/test-gateway.ts';
import { wholeBody } from './lab.ts';

let gateway: TestGateway;
let upstream: ScriptedUpstream;
beforeEach(async () => {
  upstream = await startUpstream();
  upstream.always(answer());
  gateway = await testGateway({
    catalog: { builtin: false },
    providers: [
      {
        id: 'acme',
        wire: 'openai-chat',
        base_url: upstream.url,
        models: [
          { model: 'acme/m', pricing: { prompt: 0, completion: 0.001 } },
          { model: 'acme/free', pricing: { prompt: 0, completion: 0 } },
        ],
      },
    ],
  });
});
afterEach(() => Promise.all([gateway.close(), upstream.close()]));

/** Ten output tokens: one cent. */
const answer = () =>
  json({
    ...wholeBody('openai-chat', 'Hello there.'),
    usage: { prompt_tokens: 5, completion_tokens: 10, total_tokens: 15 },
  });

interface Made {
  key: string;
  data: { hash: string; limit_remaining: number | null };
}

const manage = (method: string, path: string, body?: object) =>
  fetch(`${gateway.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${testKeys.managementKey}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : undefined),
  });

async function makeKey(limit: number | null, more: object = {}): Promise<Made> {
  const workspaceId = '00000000-0000-4000-8000-0000000000a1';
  const response = await manage('POST', '/keys', { name: 'limited', limit, workspace_id: workspaceId, ...more });
  expect(response.status).toBe(201);
  return (await response.json()) as Made;
}

const ask = (key: string, more: object = {}) =>
  gateway.post('/responses', { model: 'acme/m', input: 'Hello', max_output_tokens: 10, ...more }, { key });

describe('the limit of a key', () => {
  it('admits requests that fit, then returns 402 with the limit, and other keys continue', async () => {
    const { key } = await makeKey(0.02);
    expect((await ask(key)).status).toBe(200);
    expect((await ask(key)).status).toBe(200);
    const refused = await ask(key, { stream: true });
    expect(refused.status).toBe(402);
    const { error, ...rest } = (await refused.json()) as { error: { message: string; metadata: object } };
    expect(error.message).toMatch(/^The key "limited" may spend 0\.02 USD in total and has spent 0\.02 USD/);
    expect(error.metadata).toMatchObject({ error_type: 'payment_required', limit_source: 'router_key_limit' });
    expect(rest).toEqual({});
    expect((await ask(testKeys.key)).status).toBe(200);
    expect((await ask(key, { model: 'acme/free' })).status).toBe(402); // also for a free model
  });

  it('names the time of its reset', async () => {
    const { key } = await makeKey(0.01, { limit_reset: 'monthly' });
    await ask(key);
    const { error } = (await (await ask(key)).json()) as { error: { message: string } };
    expect(error.message).toMatch(/0\.01 USD per month .* It resets on \d{4}-\d{2}-01T00:00:00\.000Z\./);
  });

  it('counts requests in flight: only as many of two hundred concurrent ones are admitted as fit', async () => {
    const { key } = await makeKey(0.1);
    upstream.always(async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return answer();
    });
    const statuses = await Promise.all(Array.from({ length: 200 }, async () => (await ask(key)).status));
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 402)).toHaveLength(190);
    expect(upstream.requests).toHaveLength(10);
  });

  it('follows corrections of the ledger, up and down', async () => {
    const { key, data } = await makeKey(0.03);
    const { ledger } = gateway.gateway.storage;
    const id = (await ask(key)).headers.get('x-generation-id')!;
    const correct = async (costNanoUsd: bigint) => {
      await expect.poll(() => ledger.find(undefined, id)).toBeDefined();
      await ledger.correct([{ entry: (await ledger.find(undefined, id))!, costNanoUsd, inputCostNanoUsd: 0n }], 1);
      await manage('PATCH', `/keys/${data.hash}`, { name: `after ${costNanoUsd}` }); // reloads the sums
    };
    await correct(20_000_000n);
    expect((await ask(key)).status).toBe(402);
    await correct(-25_000_000n);
    expect((await ask(key)).status).toBe(200);
    const generation = await gateway.get(`/generation?id=${id}`, { key });
    expect(await generation.json()).toMatchObject({ data: { total_cost: 0.005, usage: 0.005 } });
  });

  it('can be set in the configuration', async () => {
    const own = await testGateway({
      bootstrap: {
        keys: [{ key: 'sk-rt-poor-key', name: 'poor', workspace: 'main', acts_as: 'organization', credit_usd: 0 }],
      },
    });
    const answer = await own.post('/responses', { model: 'simulator/echo', input: 'Hi' }, { key: 'sk-rt-poor-key' });
    expect(answer.status).toBe(402);
    expect(((await answer.json()) as { error: { message: string } }).error.message).toContain(
      'may spend 0 USD in total',
    );
    const told = (await (await own.get('/key', { key: 'sk-rt-poor-key' })).json()) as object;
    expect(told).toMatchObject({ data: { limit: 0, limit_remaining: 0, limit_reset: null } });
    await own.close();
  });

  it('releases the reservation of a failed request', async () => {
    const { key } = await makeKey(0.01);
    upstream.respond(json({ error: { message: 'No.' } }, { status: 500 }));
    expect((await ask(key)).status).toBe(502);
    expect((await ask(key)).status).toBe(200);
  });

  it('can be retried if only requests in flight use it up', async () => {
    const { key } = await makeKey(0.015);
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    upstream.respond(async () => {
      await released;
      return answer();
    });
    const first = ask(key);
    await upstream.nextRequest();
    for (const body of [{}, { stream: true }]) {
      const refused = await ask(key, body);
      expect(refused.status).toBe(402);
      expect(refused.headers.get('retry-after')).toBe('5');
      expect(refused.headers.get('x-should-retry')).toBe('true');
      expect(((await refused.json()) as { error: object }).error).toMatchObject({
        metadata: { limit_source: 'router_in_flight_budget', reason: 'in_flight_budget_exhausted' },
      });
    }
    const large = await ask(key, { max_output_tokens: 1000 });
    expect(large.headers.get('retry-after')).toBeNull(); // it never fits
    expect(((await large.json()) as { error: object }).error).toMatchObject({
      metadata: { reason: 'weight_exceeds_budget' },
    });
    release();
    expect((await first).status).toBe(200);
    const refused = await ask(key); // 0.005 are left
    expect(refused.headers.get('retry-after')).toBeNull();
  });

  it('differs from the error for a request that is too expensive for the rest', async () => {
    const { key } = await makeKey(0.02);
    const refused = await ask(key, { max_output_tokens: 1000 });
    expect(refused.status).toBe(402);
    const { error } = (await refused.json()) as { error: { message: string; metadata: object } };
    expect(error.message).toContain('may cost up to 1 USD (about 2 tokens of input and 1000 of output).');
    expect(error.metadata).toMatchObject({
      limit_source: 'router_in_flight_budget',
      reason: 'weight_exceeds_budget',
    });
    const short = await ask(key, { input: 'hi', max_output_tokens: 1000 });
    expect(await short.text()).toContain('(about 1 token of input and 1000 of output)');
    expect((await ask(key)).status).toBe(200);
  });

  it('names the assumed output of a request without max_output_tokens', async () => {
    const { key } = await makeKey(1);
    const refused = await ask(key, { max_output_tokens: undefined });
    expect(refused.status).toBe(402);
    const { error } = (await refused.json()) as { error: { message: string } };
    expect(error.message).toContain(
      'this request may cost up to 4.096 USD (about 2 tokens of input and 4096 of output assumed; set max_output_tokens).',
    );
  });

  it('admits requests at once after it is raised', async () => {
    const { key, data } = await makeKey(0.01);
    await ask(key);
    expect((await ask(key)).status).toBe(402);
    expect((await manage('PATCH', `/keys/${data.hash}`, { limit: 1 })).status).toBe(200);
    expect((await ask(key)).status).toBe(200);
  });
});

describe('the budget of a workspace', () => {
  const path = '/workspaces/00000000-0000-4000-8000-0000000000a1/budgets/daily';

  it('applies to all of its keys with 403, and counts spending from before it was set', async () => {
    await ask(testKeys.key);
    expect((await manage('PUT', path, { limit_usd: 0.015 })).status).toBe(200);
    const { key } = await makeKey(null);
    const refused = await ask(key);
    expect(refused.status).toBe(403);
    const { error } = (await refused.json()) as { error: { message: string } };
    expect(error.message).toMatch(/^The workspace "main" may spend 0\.015 USD per day and has spent 0\.01 USD/);
    expect((await manage('DELETE', path)).status).toBe(200);
    expect((await ask(key)).status).toBe(200);
  });
});

it('sums are those of the ledger after a restart', async () => {
  const { key } = await makeKey(0.02);
  await ask(key);
  const { dataDir } = gateway;
  await gateway.close({ keepData: true });
  gateway = await testGateway(
    {
      catalog: { builtin: false },
      providers: [
        {
          id: 'acme',
          wire: 'openai-chat',
          base_url: upstream.url,
          models: [{ model: 'acme/m', pricing: { prompt: 0, completion: 0.001 } }],
        },
      ],
    },
    dataDir,
  );
  expect((await ask(key)).status).toBe(200);
  expect((await ask(key)).status).toBe(402);
});

describe('spending on a BYOK key of the workspace', () => {
  let own: TestGateway;
  const workspaceId = '00000000-0000-4000-8000-0000000000a1';
  beforeEach(async () => {
    const entry = (id: string, more: object) => ({
      id,
      wire: 'openai-chat',
      base_url: upstream.url,
      ...more,
      models: [{ model: 'acme/m', pricing: { prompt: 0, completion: 0.001 } }],
    });
    own = await testGateway({
      catalog: { builtin: false },
      providers: [entry('own', { workspace: 'main' }), entry('shared', { name: 'Shared' })],
    });
  });
  afterEach(() => own.close());

  const send = async (method: string, path: string, body?: object) => {
    const response = await own.send(method, path, body, { key: testKeys.managementKey });
    return (await response.json()) as { key: string; data: { hash: string } };
  };
  const make = (more: object) =>
    send('POST', '/keys', { name: 'own', workspace_id: workspaceId, limit: 0.01, ...more });
  const askOwn = (key: string, more: object = {}) =>
    own.post('/responses', { model: 'acme/m', input: 'Hello', max_output_tokens: 10, ...more }, { key });

  it('is separate in responses, generations and keys, and does not count toward the limit', async () => {
    const { key, data } = await make({});
    const only = { provider: { only: ['own'] } };
    const first = await askOwn(key, only);
    expect(await first.json()).toMatchObject({
      usage: { is_byok: true, cost: 0.01, cost_details: { upstream_inference_cost: 0.01 } },
    });
    for (let count = 0; count < 3; count++) expect((await askOwn(key, only)).status).toBe(200);

    const id = first.headers.get('x-generation-id');
    const { data: generation } = (await (await own.get(`/generation?id=${id}`, { key })).json()) as { data: object };
    expect(generation).toMatchObject({ is_byok: true, total_cost: 0.01, upstream_inference_cost: 0.01 });
    await expect
      .poll(async () => (await send('GET', `/keys/${data.hash}`)).data)
      .toMatchObject({
        usage: 0,
        limit_remaining: 0.01,
        byok_usage: 0.04,
        byok_usage_daily: 0.04,
        byok_usage_monthly: 0.04,
      });

    const shared = { provider: { only: ['shared'] } };
    expect(await (await askOwn(key, shared)).json()).toMatchObject({ usage: { is_byok: false, cost: 0.01 } });
    expect((await askOwn(key, shared)).status).toBe(402);
    expect((await askOwn(key, only)).status).toBe(200); // only the BYOK key is possible
    expect((await askOwn(key)).status).toBe(402); // may fall back to a shared provider
  });

  it('counts if the key or the workspace includes it', async () => {
    const { key } = await make({ include_byok_in_limit: true });
    expect((await askOwn(key)).status).toBe(200);
    expect((await askOwn(key)).status).toBe(402);

    const budget = `/workspaces/${workspaceId}/budgets/lifetime`;
    await send('PUT', budget, { limit_usd: 0.02, include_byok_in_budgets: false });
    const only = { provider: { only: ['own'] } };
    for (let count = 0; count < 3; count++) expect((await askOwn(testKeys.key, only)).status).toBe(200);
    await send('PUT', budget, { limit_usd: 0.02, include_byok_in_budgets: true });
    expect((await askOwn(testKeys.key, only)).status).toBe(403);
  });
});

describe('the budget of a guardrail', () => {
  const main = '00000000-0000-4000-8000-0000000000a1';
  async function makeGuardrail(body: object): Promise<string> {
    const response = await manage('POST', '/guardrails', { name: 'G', workspace_id: main, ...body });
    expect(response.status).toBe(201);
    return ((await response.json()) as { data: { id: string } }).data.id;
  }
  const limit = { limit_usd: 0.02, reset_interval: 'monthly' };
  async function expectRefusal(key: string, name: string): Promise<void> {
    const response = await ask(key, { model: 'acme/free' });
    expect(response.status).toBe(403);
    const { error } = (await response.json()) as { error: { message: string; metadata: object } };
    expect(error.message).toContain(
      `Under the guardrail G, the ${name} may spend 0.02 USD per month and has spent 0.02 USD`,
    );
    expect(error.message).toMatch(/It resets on \d{4}-\d\d-01T00:00:00.000Z\./);
    expect(error.metadata).toMatchObject({ limit_source: 'guardrail_budget', interval: 'monthly' });
  }
  const spend = async (key: string, times: number): Promise<void> => {
    for (let time = 0; time < times; time++) expect((await ask(key)).status).toBe(200);
  };

  it('applies to each key separately', async () => {
    const [one, two, free] = [await makeKey(null), await makeKey(null), await makeKey(null)];
    const id = await makeGuardrail(limit);
    const sent = { key_hashes: [one.data.hash, two.data.hash] };
    expect((await manage('POST', `/guardrails/${id}/assignments/keys`, sent)).status).toBe(200);
    await spend(one.key, 2);
    await expectRefusal(one.key, 'key "limited"');
    await spend(two.key, 1);
    await spend(free.key, 3);
  });

  it('counts the spending of a key from before the assignment', async () => {
    const { key, data } = await makeKey(null);
    await spend(key, 2);
    const id = await makeGuardrail(limit);
    await manage('POST', `/guardrails/${id}/assignments/keys`, { key_hashes: [data.hash] });
    await expectRefusal(key, 'key "limited"');
  });

  it('applies to a member with all of its keys, in addition to the limit of a key', async () => {
    const [one, two] = [
      await makeKey(null, { creator_user_id: 'ada' }),
      await makeKey(0.01, { creator_user_id: 'ada' }),
    ];
    const id = await makeGuardrail(limit);
    await manage('POST', `/guardrails/${id}/assignments/members`, { member_user_ids: ['ada'] });
    await spend(two.key, 1);
    expect((await ask(two.key)).status).toBe(402); // its own
    await spend(one.key, 1);
    await expectRefusal(one.key, 'member "ada"');
    await manage('PATCH', `/guardrails/${id}`, { limit_usd: 1 });
    await spend(one.key, 1);
  });

  it('of a workspace applies to each of its keys and each of its members', async () => {
    const { data } = (await (await manage('GET', '/workspaces/main')).json()) as {
      data: { default_guardrail_id: string };
    };
    const path = `/guardrails/${data.default_guardrail_id}`;
    expect((await manage('PATCH', path, { name: 'G', ...limit })).status).toBe(200);
    const [one, two, other] = [
      await makeKey(null, { creator_user_id: 'ada' }),
      await makeKey(null, { creator_user_id: 'ada' }),
      await makeKey(null),
    ];
    await spend(one.key, 1);
    await spend(two.key, 1);
    await expectRefusal(one.key, 'member "ada"');
    await spend(other.key, 2);
    await expectRefusal(other.key, 'key "limited"');
  });

  it('that includes BYOK keys has a separate sum from the limit that does not', async () => {
    const key = await makeKey(0.03);
    const id = await makeGuardrail({ ...limit, include_byok_in_budgets: true });
    await manage('POST', `/guardrails/${id}/assignments/keys`, { key_hashes: [key.data.hash] });
    await spend(key.key, 2);
    await expectRefusal(key.key, 'key "limited"');
  });
});
