import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import {
  answer,
  type Case,
  cases,
  chatChunk,
  complaint,
  type Lab,
  openFrames,
  openLab,
  provider,
  stream,
  streamFrames,
  wholeBody,
} from './lab.ts';
import { newSession, readRows, rowsOf } from './ledger-rows.ts';
import type { Outcome } from './outcome.ts';

/** Prices that are not round, so that sums show every rounding. */
const pricing = {
  prompt: '0.0000012345',
  completion: '0.0000067891',
  cache_read: '0.00000012347',
  request: '0.000001',
};
const foreignKey = 'test-foreign-key-00001';
const names = {
  priced: { pricing },
  unpriced: {},
  free: { pricing: { prompt: 0, completion: 0 } },
  dearest: { pricing: { prompt: 1, completion: 1, request: 10_000 } },
};

let lab: Lab;
beforeAll(async () => {
  lab = await openLab();
  const providers = (['openai-chat', 'openai-responses'] as const).map((wire) =>
    provider(wire, 'shop', lab.upstream, {
      name: 'Shop',
      models: Object.entries(names).map(([name, more]) => ({ model: `${wire}/${name}`, upstream_model: 'm', ...more })),
    }),
  );
  await lab.gateway.reload({
    providers,
    bootstrap: { keys: [{ key: foreignKey, name: 'foreign', workspace: 'other', acts_as: 'organization' }] },
  });
});
afterAll(() => lab.close());

const generationOf = async ({ headers }: Outcome, key?: string): Promise<Response> =>
  lab.gateway.get(`/generation?id=${headers.get('x-generation-id')}`, key === undefined ? {} : { key });

describe.each(cases)('$wire, $mode', (how) => {
  const { wire, mode } = how;

  it('records a response once, exact to the nano-dollar', async () => {
    const session = newSession();
    lab.upstream.always(answer(how));
    const outcome = await lab.ask(how, { model: `${wire}/priced`, body: { session_id: session } });
    // 15 uncached and 5 cached input tokens, 10 output tokens, and the request.
    const input = Math.round(15 * 1234.5 + 5 * 123.47) + 1000;
    const output = Math.round(10 * 6789.1);
    expect(await rowsOf(lab.gateway.dataDir, session)).toMatchObject([
      {
        id: outcome.headers.get('x-generation-id'),
        outcome: 'completed',
        status: 200,
        model: `${wire}/priced`,
        requested_model: `${wire}/priced`,
        provider: 'Shop',
        input_tokens: 20,
        cached_tokens: 5,
        output_tokens: 10,
        cost_nano_usd: input + output,
        priced: 1,
        estimated: 0,
        streamed: mode === 'streamed' ? 1 : 0,
        member_id: 'ada',
      },
    ]);
    expect(outcome.response?.usage).toEqual({
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 5, cache_write_tokens: 0 },
      output_tokens: 10,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 30,
      cost: (input + output) / 1e9,
      cost_details: { upstream_inference_input_cost: input / 1e9, upstream_inference_output_cost: output / 1e9 },
      is_byok: false,
    });
  });

  it('measures durations independently of the clock', async () => {
    lab.upstream.always(answer(how));
    const hour = 3_600_000;
    for (const set of [hour, -hour]) {
      const session = newSession();
      // The clock is changed while the provider works.
      lab.upstream.respond(() => {
        vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + set });
        return answer(how);
      });
      try {
        await lab.ask(how, { model: `${wire}/priced`, body: { session_id: session } });
      } finally {
        vi.useRealTimers();
      }
      const [row] = await rowsOf(lab.gateway.dataDir, session);
      for (const column of ['first_output_ms', 'duration_ms']) {
        expect(row![column]).toBeGreaterThanOrEqual(0);
        expect(row![column]).toBeLessThan(hour / 2);
      }
    }
  });

  it('returns it at /generation to keys of its workspace only', async () => {
    lab.upstream.always(answer(how));
    const outcome = await lab.ask(how, { model: `${wire}/priced` });
    const own = await generationOf(outcome);
    expect(own.status).toBe(200);
    expect(await own.json()).toMatchObject({
      data: {
        id: outcome.headers.get('x-generation-id'),
        model: `${wire}/priced`,
        provider_name: 'Shop',
        streamed: mode === 'streamed',
        cancelled: false,
        finish_reason: 'stop',
        tokens_prompt: 20,
        tokens_completion: 10,
        native_tokens_cached: 5,
        total_cost: outcome.response?.usage?.cost,
        usage_estimated: false,
      },
    });
    expect((await generationOf(outcome, lab.gateway.organizationKey)).status).toBe(200);
    const foreign = await generationOf(outcome, foreignKey);
    expect(foreign.status).toBe(404);
    expect(await foreign.json()).toMatchObject({ error: { code: 404, metadata: { error_type: 'not_found' } } });
  });

  it('returns null, never zero, without a known price', async () => {
    lab.upstream.always(answer(how));
    const session = newSession();
    const outcome = await lab.ask(how, { model: `${wire}/unpriced`, body: { session_id: session } });
    expect(outcome.response?.usage).toMatchObject({ cost: null, input_tokens: 20 });
    expect(outcome.response?.usage).not.toHaveProperty('cost_details');
    expect(await (await generationOf(outcome)).json()).toMatchObject({
      data: { total_cost: null, usage: null, tokens_prompt: 20 },
    });
    expect(await rowsOf(lab.gateway.dataDir, session)).toMatchObject([{ priced: 0, cost_nano_usd: 0 }]);
  });

  it('records at most the maximum cost of a response for any report, and the next responses', async () => {
    const session = newSession();
    lab.upstream.respond(recount(how, 1_000_000_000));
    const outcome = await lab.ask(how, { model: `${wire}/dearest`, body: { session_id: session } });
    expect(outcome.response).toMatchObject({
      status: 'completed',
      usage: { output_tokens: 1_000_000_000, cost: null },
    });
    lab.upstream.always(answer(how));
    await lab.ask(how, { model: `${wire}/priced`, body: { session_id: session } });
    expect(await rowsOf(lab.gateway.dataDir, session, 2)).toMatchObject([
      { cost_nano_usd: 9_000_000 * 1e9, priced: 0, output_tokens: 1_000_000_000 },
      { priced: 1 },
    ]);
  });

  it('returns zero if the price is zero', async () => {
    lab.upstream.always(answer(how));
    const outcome = await lab.ask(how, { model: `${wire}/free` });
    expect(outcome.response?.usage).toMatchObject({ cost: 0 });
    expect(await (await generationOf(outcome)).json()).toMatchObject({ data: { total_cost: 0 } });
  });

  it.each([400, 401, 429, 500])('records a response of status %i without cost', async (status) => {
    lab.upstream.always(json(complaint('No.'), { status }));
    const outcome = await lab.ask(how, { model: `${wire}/priced` });
    const generation = (await (await generationOf(outcome)).json()) as { data: object };
    expect(generation.data).toMatchObject({
      status: outcome.status,
      error_type: outcome.envelope?.error.metadata['error_type'],
      total_cost: 0,
      tokens_prompt: 0,
      tokens_completion: 0,
      provider_name: null,
      finish_reason: 'failed',
      usage_estimated: false,
    });
  });

  it('records an estimate for an interrupted stream', async () => {
    const words = 'four score and seven years ago';
    lab.upstream.always(stream(wire, openFrames(wire, [words]), { done: false }));
    const outcome = await lab.ask(how, { model: `${wire}/priced` });
    const { data } = (await (await generationOf(outcome)).json()) as { data: Record<string, number | boolean> };
    expect(data).toMatchObject({ status: 502, usage_estimated: true, finish_reason: 'failed' });
    expect(data['tokens_completion']).toBe(6);
    expect(data['total_cost']).toBeGreaterThan(0);
    if (mode === 'streamed') expect(outcome.response?.usage).toMatchObject({ cost: data['total_cost'] });
  });

  it('records an estimate for a response without counts', async () => {
    lab.upstream.always(uncounted(how));
    const outcome = await lab.ask(how, { model: `${wire}/priced` });
    expect(outcome.response).toMatchObject({ status: 'completed', usage: { output_tokens: 4 } });
    expect(await (await generationOf(outcome)).json()).toMatchObject({
      data: { status: 200, usage_estimated: true, tokens_completion: 4 },
    });
  });

  it('records the model and the price of the endpoint that responded', async () => {
    lab.upstream.respond(json(complaint('No.'), { status: 500 }));
    lab.upstream.always(answer(how));
    const body = { model: `${wire}/free`, models: [`${wire}/priced`], session_id: newSession() };
    const outcome = await lab.ask(how, { body });
    expect(outcome.response?.model).toBe(`${wire}/priced`);
    const [row] = await rowsOf(lab.gateway.dataDir, body.session_id);
    expect(row).toMatchObject({ requested_model: `${wire}/free`, model: `${wire}/priced`, outcome: 'completed' });
    expect(row?.cost_nano_usd).toBeGreaterThan(0);
  });

  it('truncates the name of an unknown model', async () => {
    const session = newSession();
    const model = `nobody/${'x'.repeat(1_000_000)}`;
    const { status } = await lab.ask(how, { model, body: { session_id: session } });
    expect(status).toBe(400);
    expect(await rowsOf(lab.gateway.dataDir, session)).toMatchObject([
      { status: 400, requested_model: model.slice(0, 200), cost_nano_usd: 0 },
    ]);
  });

  it('truncates the tier that a provider reports', async () => {
    const session = newSession();
    const tier = 'tier'.repeat(25_000);
    lab.upstream.always(json({ ...wholeBody(wire), service_tier: tier }));
    const { response } = await lab.ask(how, { model: `${wire}/priced`, body: { session_id: session } });
    expect(response).toMatchObject({ status: 'completed', service_tier: tier.slice(0, 200) });
    expect(await rowsOf(lab.gateway.dataDir, session)).toMatchObject([{ tier: tier.slice(0, 200) }]);
  });

  it('records nothing for a rejected body', async () => {
    const body = { temperature: 'warm', session_id: newSession() };
    const refused = await lab.ask(how, { model: `${wire}/priced`, body });
    expect(refused.status).toBe(400);
    expect((await generationOf(refused)).status).toBe(404);
    expect(readRows(lab.gateway.dataDir).some((row) => row['session_id'] === body.session_id)).toBe(false);
  });
});

it.each([
  ['', 400],
  ['?id=', 400],
  ['?id=gen-000000000000000000000000', 404],
  ['?id=a&id=b', 400],
])('GET /generation%s is a %i', async (query, status) => {
  expect((await lab.gateway.get(`/generation${query}`)).status).toBe(status);
});

/** A response "Hello there." without counts. */
/** A response with the same count for each kind of token. */
function recount({ wire, mode }: Case, count: number) {
  const counted = <Value extends object>(value: Value): Value =>
    JSON.parse(JSON.stringify(value), (key, member) =>
      key.endsWith('_tokens') && typeof member === 'number' ? count : member,
    );
  return mode === 'buffered' ? json(counted(wholeBody(wire))) : stream(wire, streamFrames(wire).map(counted));
}

function uncounted({ wire, mode }: Case) {
  const without = (value: object): object =>
    JSON.parse(JSON.stringify(value), (key, member) => (key === 'usage' ? null : member)) as object;
  if (mode === 'buffered') return json(without(wholeBody(wire)));
  const frames = streamFrames(wire).map(without);
  return stream(wire, wire === 'openai-chat' ? [...frames.slice(0, -2), chatChunk({}, 'stop')] : frames);
}
