import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ResponseObject } from '../../src/domain/response.ts';
import { type ScriptedResponse, json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { wholeBody } from './lab.ts';

const metadata = { 'x-router-metadata': 'enabled' };

let gateway: TestGateway;
let alpha: ScriptedUpstream;
let beta: ScriptedUpstream;
beforeEach(async () => {
  [alpha, beta] = await Promise.all([startUpstream(), startUpstream()]);
  for (const upstream of [alpha, beta]) upstream.always(good());
});
afterEach(() => Promise.all([gateway?.close(), alpha.close(), beta.close()]));

const good = (usage?: object): ScriptedResponse => {
  const body = wholeBody('openai-chat', 'Hello there.');
  return json(usage ? { ...body, usage } : body);
};
const failed = (status: number, headers: Record<string, string> = {}): ScriptedResponse =>
  json({ error: { message: `Failed with ${status}.` } }, { status, headers });

interface Row {
  model: string;
  [field: string]: unknown;
}

/** Providers Alpha and Beta, each with the models that it is given. */
async function open(alphas: Row[], betas: Row[] = [], more: Record<string, unknown> = {}): Promise<void> {
  const entry = (id: string, upstream: ScriptedUpstream, models: Row[], fields: object = {}) =>
    models.length === 0
      ? []
      : [{ id, name: id, wire: 'openai-chat', base_url: upstream.url, api_key: `key-of-${id}`, models, ...fields }];
  const { alpha: alphaFields, beta: betaFields, ...parts } = more;
  gateway = await testGateway({
    catalog: { builtin: false },
    ...parts,
    providers: [
      ...entry('Alpha', alpha, alphas, alphaFields as object),
      ...entry('Beta', beta, betas, betaFields as object),
    ],
  });
}

interface Answered {
  status: number;
  body: ResponseObject & { error?: { message: string; availability?: object; metadata?: object } };
  headers: Headers;
}

async function ask(body: object, headers: Record<string, string> = {}): Promise<Answered> {
  const response = await gateway.post(
    '/responses',
    { input: 'Hello', ...body },
    { headers: { ...metadata, ...headers } },
  );
  return { status: response.status, body: (await response.json()) as Answered['body'], headers: response.headers };
}

const usd = (perMillion: number) => ({ prompt: perMillion / 1e6, completion: perMillion / 1e6 });
const sent = (upstream: ScriptedUpstream, index = -1) => upstream.requests.at(index)?.body as Record<string, unknown>;
const providerOf = ({ body }: Answered) =>
  body.router_metadata?.endpoints.available.find(({ selected }) => selected)?.provider;

describe('preferences', () => {
  it('choose, and the metadata has the reasons for the others', async () => {
    await open([{ model: 'acme/m', pricing: usd(1) }], [{ model: 'acme/m', pricing: usd(2) }]);
    const answer = await ask({ model: 'acme/m', provider: { max_price: { prompt: 1 } } });
    expect(answer.body.router_metadata).toMatchObject({
      strategy: 'direct',
      summary: 'available=1, selected=Alpha',
      endpoints: { total: 2 },
      params: { excluded: [{ provider: 'Beta', model: 'acme/m', reason: 'costs 2 USD per million input tokens' }] },
    });
    expect(providerOf(answer)).toBe('Alpha');
  });

  it('that exclude everything are a 404 with availability and metadata, streamed or not, without a call to a provider', async () => {
    await open([{ model: 'acme/m', pricing: usd(1) }]);
    for (const stream of [false, true]) {
      const { status, body } = await ask({ model: 'acme/m', stream, provider: { only: ['nobody'] } });
      expect(status).toBe(404);
      expect(body.error).toMatchObject({
        message: expect.stringContaining('No allowed providers are available for the selected model.'),
        availability: { code: 'constraint_filtered', retryable: false, excluded_by: ['allowed_providers'] },
      });
      expect(body.router_metadata).toMatchObject({
        attempt: 0,
        endpoints: { total: 1, available: [{ provider: 'Alpha', model: 'acme/m', selected: false }] },
      });
    }
    expect(alpha.requests).toHaveLength(0);
  });

  it('with an unknown key are a 400', async () => {
    await open([{ model: 'acme/m' }]);
    const { status, body } = await ask({ model: 'acme/m', provider: { fastest: true } });
    expect(status).toBe(400);
    expect(body.error?.message).toContain('provider');
  });

  it('allow_fallbacks: false returns the error of the first unchanged', async () => {
    await open([{ model: 'acme/m' }], [{ model: 'acme/m' }]);
    alpha.always(failed(500));
    const { status, body } = await ask({ model: 'acme/m', provider: { order: ['alpha'], allow_fallbacks: false } });
    expect(status).toBe(502);
    const message = 'The provider failed (status 500): Failed with 500.';
    expect(body.router_metadata?.attempts).toEqual([{ provider: 'Alpha', model: 'acme/m', status: 502, message }]);
    expect(beta.requests).toHaveLength(0);
  });
});

describe('an input with unknown values', () => {
  it.each([
    { role: 'user', content: 'hi', output: [null] },
    { type: 'item_reference', id: 'a', content: [null] },
  ])('is read without a failure: %j', async (item) => {
    await open([{ model: 'acme/m', context_length: 1000, capabilities: { input: ['text'] } }]);
    const { status } = await ask({ model: 'acme/m', input: [{ role: 'user', content: 'hi' }, item] });
    expect([200, 400]).toContain(status);
  });
});

describe('an unsupported parameter', () => {
  it('is dropped and reported', async () => {
    await open([{ model: 'acme/m', supported_parameters: ['max_tokens', 'tools'] }]);
    const answer = await ask({ model: 'acme/m', temperature: 0.5, top_p: 0.9, max_output_tokens: 50 });
    expect(sent(alpha)).not.toHaveProperty('temperature');
    expect(sent(alpha)).not.toHaveProperty('top_p');
    expect(JSON.stringify(sent(alpha))).toContain('50');
    expect(answer.body.router_metadata?.params?.['dropped_fields']).toEqual(['temperature', 'top_p']);
    expect(answer.headers.get('x-router-dropped-fields')).toBe('temperature, top_p');
  });

  it('is in a header of buffered and streamed responses, also without metadata', async () => {
    await open(
      [{ model: 'acme/m', supported_parameters: ['max_tokens'] }],
      [{ model: 'acme/m', supported_parameters: ['temperature'] }],
    );
    const body = {
      model: 'acme/m',
      input: 'Hello',
      temperature: 0.5,
      top_k: 4,
      colour: 1,
      provider: { order: ['Alpha', 'Beta'] },
    };
    const dropped = async (request: object) => {
      const response = await gateway.post('/responses', request);
      await response.text();
      return response.headers.get('x-router-dropped-fields');
    };
    expect(await dropped(body)).toBe('temperature, top_k, colour');
    alpha.always(failed(500)); // the next endpoint supports one of them
    expect(await dropped({ ...body, stream: true })).toBe('top_k, colour');
    expect(await dropped({ model: 'acme/m', input: 'Hello' })).toBeNull();
  });

  it('is named by every format, by the name that it has there', async () => {
    await open([{ model: 'acme/m', supported_parameters: ['max_tokens'] }]);
    const messages = [{ role: 'user', content: 'Hello' }];
    const bodies = {
      '/chat/completions': { messages, seed: 5, response_format: { type: 'json_object' }, colour: 1 },
      '/messages': { messages, max_tokens: 50, top_k: 4, stop_sequences: ['.'], colour: 1 },
    };
    for (const [path, body] of Object.entries(bodies)) {
      for (const stream of [false, true]) {
        const response = await gateway.post(path, { model: 'acme/m', ...body, stream });
        expect((await response.text()).length, path).toBeGreaterThan(0);
        const fields = response.headers.get('x-router-dropped-fields')?.split(', ');
        const expected = Object.keys(body).filter((name) => name !== 'messages' && name !== 'max_tokens');
        expect([response.status, fields?.toSorted()], path).toEqual([200, expected.toSorted()]);
      }
    }
  });

  it('is sent if its support is unknown', async () => {
    await open([{ model: 'acme/m' }]);
    await ask({ model: 'acme/m', temperature: 0.5 });
    expect(sent(alpha)).toMatchObject({ temperature: 0.5 });
  });

  it('excludes the endpoint with require_parameters', async () => {
    await open(
      [{ model: 'acme/m', supported_parameters: ['tools'] }],
      [{ model: 'acme/m', supported_parameters: ['temperature'] }],
    );
    const answer = await ask({ model: 'acme/m', temperature: 0.5, provider: { require_parameters: true } });
    expect(providerOf(answer)).toBe('Beta');
  });
});

describe('a tier', () => {
  const tiered: Row[] = [
    { model: 'acme/m', tier: 'default', pricing: usd(2) },
    { model: 'acme/m', tier: 'flex', pricing: usd(1) },
    { model: 'acme/m', tier: 'priority', pricing: usd(4) },
  ];

  it.each([
    ['flex', 'flex', 0.000001],
    ['priority', 'priority', 0.000004],
    ['default', 'default', 0.000002],
    [undefined, undefined, 0.000002],
  ])('%s is sent as %s, and its price is recorded', async (tier, upstream, price) => {
    await open(tiered);
    const { body } = await ask({ model: 'acme/m', ...(tier && { service_tier: tier }) });
    expect(sent(alpha)['service_tier']).toBe(upstream);
    expect(body.usage?.cost).toBeCloseTo(30 * price, 9);
  });

  it('that failed falls back to the normal endpoints, without the tier; flex does not', async () => {
    await open(tiered);
    alpha.respond(failed(503));
    const answer = await ask({ model: 'acme/m', service_tier: 'priority' });
    expect(answer.status).toBe(200);
    expect(sent(alpha)).not.toHaveProperty('service_tier');
    expect(answer.body.router_metadata?.params?.['dropped_fields']).toContain('service_tier (priority)');

    alpha.respond(failed(503));
    expect((await ask({ model: 'acme/m', service_tier: 'flex' })).status).toBe(529);
  });
});

describe('several keys of one provider', () => {
  const keyOf = ({ headers }: ScriptedRequest) => headers.authorization;

  it('serve in turn, and a rejected one pauses while another one serves the same request', async () => {
    await open([{ model: 'acme/m' }], [], { alpha: { api_key: ['good-key-1', 'bad-key-22'] } });
    alpha.always((request) => (keyOf(request) === 'Bearer bad-key-22' ? failed(401) : good()));
    for (let count = 0; count < 6; count++) expect((await ask({ model: 'acme/m' })).status).toBe(200);
    expect(alpha.requests.filter((request) => keyOf(request) === 'Bearer bad-key-22')).toHaveLength(1);
  });

  it('that are limited for zero seconds are each used once, and then the next endpoint', async () => {
    await open([{ model: 'acme/m' }], [{ model: 'acme/m' }], { alpha: { api_key: ['key-number-1', 'key-number-2'] } });
    alpha.always(failed(429, { 'retry-after': '0' }));
    const { status } = await ask({ model: 'acme/m', provider: { order: ['alpha'] } });
    expect(status).toBe(200);
    expect(alpha.requests).toHaveLength(2);
  });

  it('that are all rejected are the fault of the gateway, reported once for each', async () => {
    await open([{ model: 'acme/m' }], [], { alpha: { api_key: ['bad-key-11', 'bad-key-22'] } });
    alpha.always(failed(401));
    const { status, body } = await ask({ model: 'acme/m' });
    expect(status).toBe(502);
    expect(body.router_metadata?.attempts).toHaveLength(2);
    expect(JSON.stringify(body)).not.toContain('bad-key');
  });
});

describe('a session', () => {
  const prices: [Row[], Row[]] = [[{ model: 'acme/m', pricing: usd(1) }], [{ model: 'acme/m', pricing: usd(1) }]];

  it.each([
    ['session_id', { session_id: 's1' }, {}],
    ['x-session-id', {}, { 'x-session-id': 's1' }],
    ['prompt_cache_key', { prompt_cache_key: 's1' }, {}],
    ['the header of a coding agent', {}, { session_id: 's1' }],
  ])('named by %s stays with the endpoint that responded first', async (_, fields, headers) => {
    await open(...prices);
    const first = providerOf(await ask({ model: 'acme/m', ...fields }, headers));
    for (let count = 0; count < 12; count++) {
      expect(providerOf(await ask({ model: 'acme/m', ...fields }, headers))).toBe(first);
    }
  });

  it('does not move after a failure, and uses another endpoint in the meantime', async () => {
    await open(...prices);
    const first = providerOf(await ask({ model: 'acme/m', session_id: 's' }));
    const home = first === 'Alpha' ? alpha : beta;
    home.respond(failed(500));
    expect(providerOf(await ask({ model: 'acme/m', session_id: 's' }))).not.toBe(first);
  });

  it('without a name is remembered after a cache read of the provider', async () => {
    const cached = {
      prompt_tokens: 20,
      completion_tokens: 5,
      total_tokens: 25,
      prompt_tokens_details: { cached_tokens: 10 },
    };
    const pricing = { ...usd(1), cache_read: 0.0000001 };
    await open([{ model: 'acme/m', pricing }], [{ model: 'acme/m', pricing }]);
    for (const upstream of [alpha, beta]) upstream.always(good(cached));
    const input = [{ role: 'user', content: 'The same beginning' }];
    const first = providerOf(await ask({ model: 'acme/m', input }));
    for (let count = 0; count < 12; count++) {
      const next = [...input, { role: 'assistant', content: `${count}` }, { role: 'user', content: 'And then?' }];
      expect(providerOf(await ask({ model: 'acme/m', input: next }))).toBe(first);
    }
  });
});

describe('a BYOK key', () => {
  it('serves its workspace only, before all others, and is reported', async () => {
    const parts = {
      alpha: { workspace: 'main' },
      bootstrap: {
        keys: [{ key: 'key-of-the-side', name: 'side', workspace: 'other', acts_as: 'organization' }],
      },
    };
    await open([{ model: 'acme/m', pricing: usd(1000) }], [{ model: 'acme/m', pricing: usd(0.001) }], parts);
    const own = await ask({ model: 'acme/m' });
    expect(providerOf(own)).toBe('Alpha');
    expect(own.body.router_metadata?.is_byok).toBe(true);
    expect(own.body.usage?.is_byok).toBe(true);

    const other = await gateway.post(
      '/responses',
      { model: 'acme/m', input: 'x' },
      { headers: metadata, key: 'key-of-the-side' },
    );
    const text = await other.text();
    expect(JSON.parse(text).router_metadata).toMatchObject({ is_byok: false, endpoints: { total: 1 } });
    expect(text).not.toContain('Alpha');
  });

  it('of an unknown workspace prevents the start', async () => {
    await expect(open([{ model: 'acme/m' }], [], { alpha: { workspace: 'nowhere' } })).rejects.toThrow(
      'Provider Alpha: there is no workspace nowhere',
    );
    gateway = await testGateway();
  });
});

describe('if every attempt fails', () => {
  it.each([
    [429, 'capacity_exhausted', 429],
    [503, 'temporarily_unavailable', 529],
    [500, 'temporarily_unavailable', 502],
  ])('with %i, the error says %s and when to retry', async (status, code, seen) => {
    await open([{ model: 'acme/m' }], [{ model: 'acme/m' }]);
    alpha.always(failed(status, { 'retry-after': '9' }));
    beta.always(failed(status, { 'retry-after': '4' }));
    const { status: got, body, headers } = await ask({ model: 'acme/m' });
    expect(got).toBe(seen);
    expect(body.error?.availability).toMatchObject({ code, retryable: true, retry_after: 4 });
    expect(headers.get('retry-after')).toBe(seen === 502 ? null : '4');
  });

  it.each([
    ['the rate of the last one', 401, 429, 429, 'capacity_exhausted'],
    ['a last one that is down', 429, 500, 502, 'temporarily_unavailable'],
  ])('in different ways, status and code are those of %s', async (_, first, last, seen, code) => {
    await open([{ model: 'acme/m' }], [{ model: 'acme/m' }]);
    alpha.always(failed(first));
    beta.always(failed(last));
    const { status, body } = await ask({ model: 'acme/m', provider: { order: ['Alpha', 'Beta'] } });
    expect(status).toBe(seen);
    expect(body.error?.availability).toMatchObject({ code, retryable: true });
    expect(body.error?.metadata).toMatchObject({ previous_errors: [{ provider: 'Alpha' }] });
  });

  it('stops after routing.max_attempts', async () => {
    await open([{ model: 'acme/m' }], [{ model: 'acme/m' }], { routing: { max_attempts: 1 } });
    for (const upstream of [alpha, beta]) upstream.always(failed(500));
    const { body } = await ask({ model: 'acme/m' });
    expect(body.router_metadata?.attempts).toHaveLength(1);
    expect(alpha.requests.length + beta.requests.length).toBe(1);
  });
});

describe('routers', () => {
  const models: Row[] = [
    { model: 'acme/cheap', pricing: usd(1) },
    { model: 'acme/middle', pricing: usd(10) },
    { model: 'acme/dear', pricing: usd(100) },
    { model: 'acme/gift:free', pricing: usd(0) },
  ];

  it('auto returns the chosen model and the task; the generation keeps the router', async () => {
    await open(models, [], { routers: { auto: { rankings: { translation: ['acme/dear', 'acme/middle'] } } } });
    const plugins = [{ id: 'auto-router', cost_tier: 'max' }];
    const { body } = await ask({ model: 'router/auto', input: 'Translate this into French: hello', plugins });
    expect(body.model).toBe('acme/dear');
    expect(body.router_metadata).toMatchObject({
      requested: 'router/auto',
      strategy: 'auto',
      pipeline: [
        {
          type: 'router',
          name: 'auto-router',
          data: { task_type: 'translation', ranking: 'table', resolved_to: 'acme/dear' },
        },
      ],
    });
  });

  describe('auto with a classifier', () => {
    const says = (text: string) => json(wholeBody('openai-chat', text));
    const routersOf = (timeout_ms: number) => ({
      auto: {
        rankings: { math: ['acme/dear'], default: ['acme/cheap'] },
        classifier: { model: 'small/one', timeout_ms },
      },
    });
    const routers = routersOf(10_000);
    const withClassifier = (given: object = routers) =>
      open(models, [{ model: 'small/one', pricing: usd(1) }], { routers: given });
    const stageOf = ({ body }: Answered) => body.router_metadata?.pipeline?.[0]?.data;

    it('sends it the turns and the names of the tools, and records that separately', async () => {
      await withClassifier();
      beta.always(says('{"task": "math"}'));
      const tools = [{ type: 'function', name: 'lookup', parameters: { secret: 'x' } }];
      const answer = await ask({ model: 'router/auto', input: 'How many?', tools });
      expect(answer.body.model).toBe('acme/dear');
      expect(stageOf(answer)).toMatchObject({ task_type: 'math', classified_by: 'model' });
      const question = JSON.stringify(sent(beta));
      expect(question).toContain('user: How many?');
      expect(question).toContain('tools: lookup');
      expect(question).not.toContain('secret');
      await expect.poll(async () => (await gateway.gateway.storage.ledger.readTotals()).entries).toBe(2);
    });

    it('adds its cost to the response, and to no other sum', async () => {
      await withClassifier();
      beta.always(says('{"task": "math"}'));
      const answer = await ask({ model: 'router/auto', input: 'How many?' });
      const { ledger } = gateway.gateway.storage;
      await expect.poll(async () => (await ledger.readTotals()).entries).toBe(2);
      const entries = await ledger.list({ limit: 10 });
      const outer = entries.find(({ parentId }) => parentId === undefined)!;
      const inner = entries.find(({ parentId }) => parentId === outer.id)!;
      expect(inner).toMatchObject({ model: 'small/one', outcome: 'completed' });
      expect(inner.costNanoUsd).toBeGreaterThan(0n);
      expect(outer).toMatchObject({ model: 'acme/dear' });
      expect(answer.body.usage).toMatchObject({ cost: Number(outer.costNanoUsd + inner.costNanoUsd) / 1e9 });
      expect(answer.body.router_metadata?.params).toMatchObject({ inner_generations: [inner.id] });
      const ofOuter = (await (await gateway.get(`/generation?id=${outer.id}`)).json()) as { data: object };
      expect(ofOuter.data).toMatchObject({ total_cost: Number(outer.costNanoUsd) / 1e9 });
    });

    it('obeys the limit of its model', async () => {
      const limits = { models: [{ model: 'small/one', requests_per_minute: 1 }] };
      await open(models, [{ model: 'small/one', pricing: usd(1) }], { routers, limits });
      beta.always(says('{"task": "math"}'));
      expect(stageOf(await ask({ model: 'router/auto', input: 'How many?' }))).toMatchObject({
        classified_by: 'model',
      });
      expect(stageOf(await ask({ model: 'router/auto', input: 'How many?' }))).toMatchObject({
        classified_by: 'words',
      });
      expect(beta.requests).toHaveLength(1);
    });

    it.each([
      ['fails', () => failed(500)],
      ['talks', () => says('It is about maths.')],
      ['invents', () => says('{"task": "juggling"}')],
    ])('classifies by words if it %s', async (_, answer) => {
      await withClassifier();
      beta.always(answer());
      const answered = await ask({ model: 'router/auto', input: 'Translate hello into French' });
      expect(answered.status).toBe(200);
      expect(stageOf(answered)).toMatchObject({ task_type: 'translation', classified_by: 'words' });
    });

    it('does not wait for it', async () => {
      await withClassifier(routersOf(300));
      beta.always(async (request) => {
        await request.closed;
        return json({});
      });
      const answered = await ask({ model: 'router/auto', input: 'Translate hello into French' });
      expect(answered.status).toBe(200);
      expect(await (await beta.nextRequest()).closed).toBe('aborted');
    });

    it('does not get data that its provider must not see', async () => {
      await withClassifier();
      const provider = { only: ['Alpha'] };
      const answered = await ask({ model: 'router/auto', input: 'Translate hello into French', provider });
      expect(answered.status).toBe(200);
      expect(stageOf(answered)).toMatchObject({ classified_by: 'words' });
      expect(beta.requests).toHaveLength(0);
    });

    it('that is late does not affect the health of its endpoint', async () => {
      await withClassifier();
      beta.always(async (request) => {
        await request.closed;
        return json({});
      });
      for (let count = 0; count < 3; count++) await ask({ model: 'router/auto', input: `${count}?` });
      const answer = (await (await gateway.get('/models/small/one/endpoints')).json()) as {
        data: { endpoints: { status: number }[] };
      };
      expect(answer.data.endpoints[0]?.status).toBe(0);
    });

    it('is not called for other models', async () => {
      await withClassifier();
      await ask({ model: 'acme/cheap' });
      expect(beta.requests).toHaveLength(0);
    });
  });

  it('auto falls back to its next model if the first fails', async () => {
    await open(models, [], { routers: { auto: { rankings: { default: ['acme/cheap', 'acme/middle'] } } } });
    alpha.respond(failed(500));
    const plugins = [{ id: 'auto-router', cost_quality_tradeoff: 0 }];
    const { body } = await ask({ model: 'router/auto', plugins });
    expect(body.model).toBe('acme/middle');
  });

  it('auto is a 404 if the restrictions exclude everything', async () => {
    await open(models);
    const plugins = [{ id: 'auto-router', allowed_models: ['acme/*'], excluded_models: ['*'] }];
    const { status, body } = await ask({ model: 'router/auto', plugins });
    expect(status).toBe(404);
    expect(body.error?.message).toBe('No models match your request and model restrictions');
  });

  it('settings of another slug have no effect', async () => {
    await open(models);
    const plugins = [{ id: 'pareto-router', max_price: 0 }];
    expect((await ask({ model: 'router/auto', plugins })).status).toBe(200);
  });

  it('pareto uses the table of the operator, and a cap below every price is a 404', async () => {
    const table = [
      { slug: 'acme/cheap', coding_score: 86 },
      { slug: 'acme/dear', coding_score: 99 },
    ];
    await open(models, [], { routers: { pareto_code: { models: table } } });
    const plain = await ask({ model: 'router/pareto-code' });
    expect(plain.body).toMatchObject({ model: 'acme/cheap', router_metadata: { strategy: 'pareto' } });
    const capped = await ask({ model: 'router/pareto-code', plugins: [{ id: 'pareto-router', max_price: 200 }] });
    expect(capped.body.model).toBe('acme/dear');
    const { status, body } = await ask({
      model: 'router/pareto-code',
      plugins: [{ id: 'pareto-router', max_price: 0.1 }],
    });
    expect(status).toBe(404);
    expect(body.error).toMatchObject({
      message: expect.stringContaining('max_price (0.1)'),
      metadata: { max_price: 0.1 },
    });
  });

  it('free keeps the suffix of the model', async () => {
    await open(models);
    const { body } = await ask({ model: 'router/free' });
    expect(body).toMatchObject({ model: 'acme/gift:free', usage: { cost: 0 }, router_metadata: { strategy: 'free' } });
  });

  it('an alias names the newest of the operator’s family, and a family without members is a 404', async () => {
    const latest = [
      { alias: '~acme/any-latest', pattern: 'acme/*', exclude: ['*dear'] },
      { alias: '~acme/none-latest', pattern: 'other/*' },
    ];
    await open(models, [], { routers: { latest } });
    const { body } = await ask({ model: '~acme/any-latest' });
    expect(body).toMatchObject({
      model: 'acme/middle',
      router_metadata: { strategy: 'latest', requested: '~acme/any-latest' },
    });
    expect((await ask({ model: '~acme/none-latest' })).status).toBe(404);
    expect((await ask({ model: '~acme/nobody-latest' })).status).toBe(400);
  });

  it('bodybuilder requests bodies for the available models, and costs nothing', async () => {
    await open(models, [], { routers: { bodybuilder: { model: 'acme/dear' } } });
    const input = [
      { role: 'system', content: 'Speak like a pirate.' },
      { role: 'user', content: 'Ask cheap and dear for a joke.' },
    ];
    const { body } = await ask({ model: 'router/bodybuilder', input });
    const text = JSON.stringify(sent(alpha));
    expect(text).toContain('acme/cheap');
    expect(text).toContain('Speak like a pirate.');
    expect(text).toContain('json_schema');
    expect(body).toMatchObject({ usage: { cost: 0 }, router_metadata: { strategy: 'bodybuilder' } });
    expect(body).toMatchObject({ instructions: null, text: { format: { type: 'text' } } }); // as in the request of the caller
  });

  it('free never uses an endpoint with a price', async () => {
    await open([{ model: 'acme/m', pricing: usd(0) }], [{ model: 'acme/m', pricing: usd(5) }]);
    alpha.always(failed(500));
    expect((await ask({ model: 'router/free' })).status).toBe(502);
    expect(beta.requests).toHaveLength(0);
    expect((await ask({ model: 'router/free', provider: { only: ['beta'] } })).status).toBe(404);
  });

  it('pareto applies the cap to the endpoints of its model, too', async () => {
    const table = [{ slug: 'acme/m', coding_score: 90 }];
    const routers = { pareto_code: { models: table } };
    await open([{ model: 'acme/m', pricing: usd(1) }], [{ model: 'acme/m', pricing: usd(10) }], { routers });
    alpha.always(failed(500));
    const plugins = [{ id: 'pareto-router', max_price: 2 }];
    expect((await ask({ model: 'router/pareto-code', plugins })).status).toBe(502);
    expect(beta.requests).toHaveLength(0);
  });

  it('the changes of a router do not apply to other models of the list', async () => {
    await open(models, [], { routers: { bodybuilder: { model: 'acme/cheap' } } });
    const { body } = await ask({ models: ['acme/dear', 'router/bodybuilder'] });
    expect(body).toMatchObject({ model: 'acme/dear', usage: { cost: 0.003 } });
    expect(JSON.stringify(sent(alpha))).not.toContain('json_schema');
  });

  it('auto never pins a model that is excluded', async () => {
    await open(models);
    const input = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'hello', model: 'acme/dear' },
      { role: 'user', content: 'again' },
    ];
    const pinned = await ask({ model: 'router/auto', input, plugins: [{ id: 'auto-router', pin_model: true }] });
    expect(pinned.body.model).toBe('acme/dear');
    const plugins = [{ id: 'auto-router', pin_model: true, excluded_models: ['acme/d*'] }];
    expect((await ask({ model: 'router/auto', input, plugins })).body.model).not.toBe('acme/dear');
  });

  it('that finds nothing falls back to the next model of the list', async () => {
    await open([{ model: 'acme/m', pricing: usd(1) }]);
    const { body } = await ask({ models: ['router/free', 'acme/m'] });
    expect(body).toMatchObject({
      model: 'acme/m',
      router_metadata: { strategy: 'fallback', requested: 'router/free' },
    });
  });

  it('reject with the metadata of a route', async () => {
    await open(models);
    const { body } = await ask({ model: 'router/pareto-code', plugins: [{ id: 'pareto-router', max_price: 0 }] });
    expect(body.router_metadata).toMatchObject({ requested: 'router/pareto-code', strategy: 'pareto', attempt: 0 });
  });

  it('a list of models can contain a router, which expands in its place', async () => {
    await open(models, [], { routers: { latest: [{ alias: '~acme/any-latest', pattern: 'acme/dear' }] } });
    alpha.respond(failed(500));
    const { body } = await ask({ models: ['acme/cheap', '~acme/any-latest'] });
    expect(body).toMatchObject({
      model: 'acme/dear',
      router_metadata: { strategy: 'fallback', requested: 'acme/cheap' },
    });
  });
});

describe('the catalog', () => {
  const overrides = (folder: string) => join(folder, 'catalog.yaml');

  it('supplies facts that the configuration lacks, and the file of the operator overrides it at the next reload', async () => {
    const provider = (more: object = {}) => ({
      providers: [
        {
          id: 'openai',
          wire: 'openai-chat',
          base_url: alpha.url,
          api_key: 'k',
          models: [{ model: 'openai/gpt-4o-mini', ...more }],
        },
      ],
    });
    gateway = await testGateway(provider());
    const { body } = await ask({ model: 'openai/gpt-4o-mini' });
    expect(body.usage?.cost).toBeGreaterThan(0);

    const file = overrides(gateway.dataDir);
    writeFileSync(
      file,
      'endpoints: [{ model: openai/gpt-4o-mini, provider: openai, usd_per_million: { prompt: 1000, completion: 1000, cache_read: 1000 } }]',
    );
    await gateway.reload({ ...provider(), catalog: { overrides: file } });
    expect((await ask({ model: 'openai/gpt-4o-mini' })).body.usage?.cost).toBeCloseTo(0.03, 6);

    writeFileSync(file, 'endpoints: [{ model: openai/gpt-4o-mini, provider: openai, usd_per_milion: {} }]');
    await expect(gateway.reload({ ...provider(), catalog: { overrides: file } })).rejects.toThrow(
      /catalog\.overrides: .*endpoints\[0\]/,
    );
    expect((await ask({ model: 'openai/gpt-4o-mini' })).status).toBe(200); // running requests continue
  });

  it('knows models without a configured provider, and their providers', async () => {
    gateway = await testGateway({
      providers: [{ id: 'x', wire: 'openai-chat', base_url: alpha.url, models: [{ model: 'x/y' }] }],
    });
    const { status, body } = await ask({ model: 'anthropic/claude-opus-4.5' });
    expect(status).toBe(404);
    expect(body.error).toMatchObject({
      message: expect.stringContaining('anthropic'),
      availability: { code: 'no_endpoints', affected_providers: ['anthropic'] },
    });
  });

  it('knows which models always reason', async () => {
    gateway = await testGateway({
      providers: [
        {
          id: 'groq',
          wire: 'openai-chat',
          base_url: alpha.url,
          api_key: 'k',
          models: [{ model: 'openai/gpt-oss-120b' }],
        },
      ],
      routers: { latest: [{ alias: '~openai/oss-latest', pattern: 'openai/gpt-oss-*' }] },
    });
    const off = await ask({ model: 'openai/gpt-oss-120b', reasoning: { effort: 'none' } });
    expect(off.status).toBe(400);
    expect(off.body.error?.message).toContain('cannot respond without reasoning');
    const settled = await ask({ model: '~openai/oss-latest', reasoning: { effort: 'none' } });
    expect(settled.status).toBe(200);
    expect(JSON.stringify(sent(alpha))).toContain('"low"');
  });
});
