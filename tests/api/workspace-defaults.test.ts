import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { readStream } from '../../src/testing/test-gateway.ts';
import { streamFrames, wholeBody } from './lab.ts';
import { type Json, manage } from './manage.ts';

let gateway: TestGateway;
let upstream: ScriptedUpstream;
const ask = manage(() => gateway);

const usd = (perMillion: number) => ({ prompt: perMillion / 1e6, completion: perMillion / 1e6 });
beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(({ body }) =>
    (body as Json).stream === true
      ? sse(streamFrames('openai-chat') as Json[], { done: true })
      : json(wholeBody('openai-chat')),
  );
  const provider = (id: string, prices: Record<string, number>) => ({
    id,
    name: id,
    wire: 'openai-chat',
    base_url: upstream.url,
    api_key: `key-of-${id}`,
    models: Object.entries(prices).map(([model, price]) => ({ model, pricing: usd(price) })),
  });
  gateway = await testGateway({
    routers: { latest: [{ alias: '~acme/one-latest', pattern: 'acme/one' }] },
    limits: { models: [{ model: 'acme/rare', requests_per_minute: 1 }] },
    providers: [
      provider('Alpha', { 'acme/one': 2, 'acme/two': 1, 'acme/rare': 1, 'acme/dear': 1_000_000 }),
      provider('Beta', { 'acme/one': 1 }),
      provider('Gamma', { 'acme/one': 3 }),
      { id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/image' }] },
    ],
  });
});
afterAll(() => Promise.all([gateway?.close(), upstream.close()]));

interface Place {
  id: string;
  key: string;
  hash: string;
  /** Changes its settings. @returns the body of the response */
  set(settings: object): Promise<Json>;
}

/** Creates a workspace with these settings, and a key of it. */
async function open(settings: object = {}): Promise<Place> {
  const slug = `w-${randomUUID().slice(0, 8)}`;
  const { id } = (await ask('POST', '/workspaces', { name: slug, slug, ...settings })).body.data;
  const { key, data } = (await ask('POST', '/keys', { name: slug, workspace_id: id })).body;
  const set = async (body: object) => {
    const answer = await ask('PATCH', `/workspaces/${id}`, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body;
  };
  return { id, key, hash: data.hash, set };
}

const headers = { 'x-router-metadata': 'enabled' };

async function respond(
  { key }: Pick<Place, 'key'>,
  body: object = {},
): Promise<{ status: number; body: Json; id: string }> {
  const response = await gateway.post('/responses', { input: 'Hello', ...body }, { key, headers });
  return { status: response.status, body: await response.json(), id: response.headers.get('x-generation-id')! };
}
async function draw({ key }: Pick<Place, 'key'>, body: object = {}): Promise<{ status: number; body: Json }> {
  const response = await gateway.post('/images', { prompt: 'A red fox', ...body }, { key, headers });
  return { status: response.status, body: await response.json() };
}
const defaultsOf = ({ body }: { body: Json }): Json => body.router_metadata.params?.workspace_defaults;
const triedFirst = ({ body }: { body: Json }): string => body.router_metadata.endpoints.available[0].provider;

describe('a request that names no model', () => {
  it('is served by the default of its workspace, which is in the response, the metadata and the ledger', async () => {
    const place = await open({ default_text_model: 'acme/two' });
    const { status, body, id } = await respond(place);
    expect(status).toBe(200);
    expect(body).toMatchObject({ model: 'acme/two', status: 'completed' });
    expect(body.router_metadata).toMatchObject({
      requested: 'acme/two',
      strategy: 'direct',
      params: { workspace_defaults: { default_text_model: 'acme/two' } },
    });
    await expect
      .poll(async () => (await gateway.gateway.storage.ledger.list({ limit: 50 })).find((entry) => entry.id === id))
      .toMatchObject({ requestedModel: 'acme/two', model: 'acme/two', workspaceId: place.id });
  });

  it('is streamed by it, too', async () => {
    const { key } = await open({ default_text_model: 'acme/two' });
    const stream = await readStream(
      await gateway.post('/responses', { input: 'Hello', stream: true }, { key, headers }),
    );
    expect(stream.status).toBe(200);
    expect(stream.events.at(-1)).toMatchObject({ type: 'response.completed', response: { model: 'acme/two' } });
  });

  it('is one with an empty list of models as well', async () => {
    const place = await open({ default_text_model: 'acme/two' });
    expect((await respond(place, { models: [] })).body.model).toBe('acme/two');
  });

  it.each([{ model: 'acme/one' }, { models: ['acme/one'] }])('has a model with %j', async (named) => {
    const place = await open({ default_text_model: 'nobody/none' });
    const { status, body } = await respond(place, named);
    expect({ status, model: body.model }).toEqual({ status: 200, model: 'acme/one' });
    expect(defaultsOf({ body })).toBeUndefined();
  });

  it('is a 400 if the workspace has no default, whatever others have', async () => {
    await open({ default_text_model: 'acme/two' });
    const { status, body } = await respond(await open({ default_image_model: 'simulator/image' }));
    expect(status).toBe(400);
    expect(body.error.metadata.issues).toEqual([{ path: 'model', message: expect.stringContaining('is missing') }]);
  });

  it('reports its other problems, too', async () => {
    const { status, body } = await respond(await open({ default_text_model: 'acme/two' }), { input: '' });
    expect(status).toBe(400);
    expect(body.error.metadata.issues.map((issue: Json) => issue.path)).toEqual(['input']);
  });

  it.each([
    ['a router', 'router/auto', 'auto', /^acme\//],
    ['an alias', '~acme/one-latest', 'latest', /^acme\/one$/],
    ['a slug with a suffix', 'acme/one:floor', 'direct', /^acme\/one$/],
  ])('may go to %s', async (_, slug, strategy, model) => {
    const { status, body } = await respond(await open({ default_text_model: slug }));
    expect(status).toBe(200);
    expect(body.router_metadata).toMatchObject({ requested: slug, strategy });
    expect(body.model).toMatch(model);
  });

  it.each([
    ['that nobody has', 'acme/onne', 400, 'model_not_found'],
    ['that the catalog alone knows', 'openai/gpt-5', 404, 'no_endpoints'],
    ['whose panel has no route', 'router/fusion', 404, 'constraint_filtered'],
  ])('fails like one that names it if the default is one %s, and the error names its origin', async (_, slug, status, code) => {
    const [place, plain] = [await open({ default_text_model: slug }), await open()];
    for (const stream of [false, true]) {
      const [answer, named] = [await respond(place, { stream }), await respond(plain, { model: slug, stream })];
      expect({ status: answer.status, code: answer.body.error.availability?.code }).toEqual({ status, code });
      const whose = 'The request names no model; this one is the `default_text_model` of its workspace.';
      const { message, ...rest } = named.body.error;
      expect(answer.body.error).toEqual({ ...rest, message: `${message} ${whose}` });
    }
  });

  it('follows a change at once', async () => {
    const place = await open({ default_text_model: 'acme/one' });
    expect((await respond(place)).body.model).toBe('acme/one');
    await place.set({ default_text_model: 'acme/two' });
    expect((await respond(place)).body.model).toBe('acme/two');
    await place.set({ default_text_model: null });
    expect((await respond(place)).status).toBe(400);
  });

  it('passes the guardrails of its workspace and its key, or is a 403', async () => {
    const place = await open({ default_text_model: 'acme/one' });
    const { default_guardrail_id: id } = (await ask('GET', `/workspaces/${place.id}`)).body.data;
    await ask('PATCH', `/guardrails/${id}`, { ignored_models: ['acme/one'] });
    const refused = await respond(place);
    expect(refused.status).toBe(403);
    expect(refused.body.error.message).toMatch(
      /This key must not use acme\/one: .* `default_text_model` of its workspace/,
    );
    await ask('PATCH', `/guardrails/${id}`, { ignored_models: null });

    const { data } = (
      await ask('POST', '/guardrails', { name: 'few', workspace_id: place.id, allowed_models: ['acme/two'] })
    ).body;
    await ask('POST', `/guardrails/${data.id}/assignments/keys`, { key_hashes: [place.hash] });
    expect((await respond(place)).status).toBe(403);
    await place.set({ default_text_model: 'acme/two' });
    expect((await respond(place)).status).toBe(200);
  });

  it('counts for the limit of its model', async () => {
    const place = await open({ default_text_model: 'acme/rare' });
    expect((await respond(place)).status).toBe(200);
    const refused = await respond(place);
    expect(refused.status).toBe(429);
    expect(refused.body.error.message).toContain('The model "acme/rare" is limited to 1 request a minute');
  });

  it('obeys the price limit for its model', async () => {
    const place = await open({ default_text_model: 'acme/dear' });
    await ask('PUT', `/workspaces/${place.id}/budgets/daily`, { limit_usd: 1 });
    const refused = await respond(place);
    expect(refused.status).toBe((await respond(place, { model: 'acme/dear' })).status);
    expect(refused.status).toBe(403);
    expect(refused.body.error.message).not.toContain('default_text_model');
    await place.set({ default_text_model: 'acme/two' });
    expect((await respond(place)).status).toBe(200);
  });
});

describe('an image without a model', () => {
  it('is generated by the default of its workspace as soon as there is one', async () => {
    const place = await open({ default_text_model: 'acme/one' });
    const missing = await draw(place);
    expect(missing.status).toBe(400);
    expect(missing.body.error.metadata.param).toBe('model');
    await place.set({ default_image_model: 'simulator/image' });
    const { status, body } = await draw(place);
    expect(status).toBe(200);
    expect(body.data).toHaveLength(1);
    expect(body.router_metadata).toMatchObject({
      requested: 'simulator/image',
      params: { workspace_defaults: { default_image_model: 'simulator/image' } },
    });
    const named = await draw(place, { model: 'acme/one' });
    expect(named.status).toBe(400);
    expect(named.body.error.message).not.toContain('default_image_model');
  });

  it.each([
    ['that nobody has', 'acme/painter', 'model_not_found'],
    ['that does not draw', 'acme/one', 'wrong_endpoint'],
  ])('is a 400 if the default is one %s, and the error names its origin', async (_, slug, code) => {
    const { status, body } = await draw(await open({ default_image_model: slug }));
    expect(status).toBe(400);
    expect(body.error.availability.code).toBe(code);
    expect(body.error.message).toContain(slug);
    expect(body.error.message).toContain('this one is the `default_image_model` of its workspace.');
  });

  it('counts for the limit of its model', async () => {
    const limited = await testGateway({ limits: { models: [{ model: 'simulator/image', requests_per_minute: 1 }] } });
    try {
      const [workspace] = (await manage(() => limited)('GET', '/workspaces')).body.data;
      await manage(() => limited)('PATCH', `/workspaces/${workspace.id}`, { default_image_model: 'simulator/image' });
      const statuses = [];
      for (let count = 0; count < 2; count++) statuses.push((await limited.post('/images', { prompt: 'x' })).status);
      expect(statuses).toEqual([200, 429]);
    } finally {
      await limited.close();
    }
  });
});

describe('default_provider_sort', () => {
  it('orders the endpoints of a request without a sort, and is in the metadata', async () => {
    const place = await open({ default_provider_sort: 'price' });
    for (let count = 0; count < 10; count++) {
      const answer = await respond(place, { model: 'acme/one' });
      const order = answer.body.router_metadata.endpoints.available.map(({ provider }: Json) => provider);
      expect(order).toEqual(['Beta', 'Alpha', 'Gamma']);
      expect(defaultsOf(answer)).toEqual({ default_provider_sort: 'price' });
    }
  });

  it.each([
    ['provider.sort', { model: 'acme/one', provider: { sort: 'price' } }, 'Beta'],
    ['provider.order', { model: 'acme/one', provider: { order: ['Gamma'] } }, 'Gamma'],
    ['a suffix', { model: 'acme/one:floor' }, 'Beta'],
  ])('gives way to %s', async (_, body, first) => {
    const answer = await respond(await open({ default_provider_sort: 'latency' }), body);
    expect(triedFirst(answer)).toBe(first);
    expect(defaultsOf(answer)).toBeUndefined();
  });

  it('applies together with the rest of `provider`', async () => {
    const place = await open({ default_provider_sort: 'price' });
    const answer = await respond(place, { model: 'acme/one', provider: { ignore: ['Beta'], sort: null } });
    expect(triedFirst(answer)).toBe('Alpha');
  });

  it('gives way to the suffix of a default model', async () => {
    const place = await open({ default_provider_sort: 'throughput', default_text_model: 'acme/one:floor' });
    const answer = await respond(place);
    expect(triedFirst(answer)).toBe('Beta');
    expect(defaultsOf(answer)).toEqual({ default_text_model: 'acme/one:floor' });
  });

  it('applies to images', async () => {
    const place = await open({ default_provider_sort: 'price' });
    const answer = await draw(place, { model: 'simulator/image' });
    expect(defaultsOf(answer)).toEqual({ default_provider_sort: 'price' });
    const own = await draw(place, { model: 'simulator/image', provider: { sort: 'latency' } });
    expect(defaultsOf(own)).toBeUndefined();
  });

  it('ends as soon as it is removed', async () => {
    const place = await open({ default_provider_sort: 'price' });
    await place.set({ default_provider_sort: null });
    expect(defaultsOf(await respond(place, { model: 'acme/one' }))).toBeUndefined();
  });
});

describe('an unknown default', () => {
  it('is stored, because a model may be added later, and reported with the nearest name', async () => {
    const slug = `w-${randomUUID().slice(0, 8)}`;
    const made = await ask('POST', '/workspaces', { name: slug, slug, default_text_model: 'Acme/onne' });
    expect(made.status).toBe(201);
    expect(made.body.data.default_text_model).toBe('Acme/onne');
    expect(made.body.warnings).toEqual([
      'default_text_model: no model of this gateway matches "Acme/onne" yet; the nearest name is acme/one.',
    ]);
    const path = `/workspaces/${slug}`;
    const changed = await ask('PATCH', path, {
      default_text_model: 'router/aut',
      default_image_model: 'simulator/imag',
    });
    expect(changed.body.warnings).toEqual([
      'default_text_model: no model of this gateway matches "router/aut" yet; the nearest name is router/auto.',
      'default_image_model: no model of this gateway matches "simulator/imag" yet; the nearest name is simulator/image.',
    ]);
    const odd = await ask('PATCH', path, { default_text_model: 'router/fusion', default_image_model: 'acme/one' });
    expect(odd.body.warnings).toEqual([
      expect.stringMatching(/^default_text_model: .*no route to any model of the panel/),
      expect.stringMatching(/^default_image_model: acme\/one cannot serve this route/),
    ]);
  });

  it('is not reported for a router, an alias, a suffix or a wildcard, and without a default', async () => {
    const place = await open();
    for (const slug of ['router/auto', '~acme/one-latest', 'acme/one:nitro', 'ACME/One', null]) {
      expect(await place.set({ default_text_model: slug })).not.toHaveProperty('warnings');
    }
    expect(await place.set({ default_image_model: 'simulator/image' })).not.toHaveProperty('warnings');
    expect(await place.set({ description: 'x' })).not.toHaveProperty('warnings');
  });
});
