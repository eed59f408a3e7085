import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';

const otherKey = 'test-key-of-other-0001';

/** The catalog of the operator, which replaces the built-in one. */
const catalogFile = {
  models: [
    {
      id: 'acme/one',
      name: 'Acme One',
      description: 'The first of its kind.',
      created: '2026-01-10',
      context_length: 100_000,
      max_output_tokens: 8000,
      input: ['text', 'image'],
      output: ['text'],
      parameters: ['temperature', 'tools', 'tool_choice', 'reasoning', 'made_up'],
      reasoning: { supported_efforts: ['low', 'high', 'odd'], default_effort: 'high' },
      knowledge_cutoff: '2025-06-30',
    },
    { id: 'acme/two', name: 'Acme Two', created: '2026-03-01', context_length: 1_000_000, parameters: ['temperature'] },
    { id: 'acme/painter', created: '2026-02-01', input: ['text'], output: ['image'] },
    { id: 'acme/old', created: '2024-01-01', hidden: true },
    { id: 'bolt/free', created: '2025-05-05', context_length: 8000 },
    { id: 'bolt/free:free', created: '2025-05-05', context_length: 8000 },
    { id: 'nobody/has', created: '2025-01-01' },
  ],
  endpoints: [
    { model: 'acme/one', provider: 'first', usd_per_million: { prompt: 2, completion: 8, cache_read: 0.2 } },
    { model: 'nobody/has', provider: 'elsewhere', usd_per_million: { prompt: 1, completion: 1 } },
  ],
};

const providers = [
  {
    id: 'first',
    name: 'First',
    wire: 'simulator',
    models: [
      { model: 'acme/one', quantization: 'fp8', tag: 'eu' },
      { model: 'acme/one', tier: 'flex', pricing: { prompt: '0.0000001', completion: '0.0000001' } },
      {
        model: 'acme/two',
        pricing: {
          prompt: '0.000001',
          completion: '0.000002',
          above: [{ prompt_tokens: 200_000, prompt: '0.000004' }],
        },
      },
      { model: 'acme/painter' },
      { model: 'acme/old' },
    ],
  },
  {
    id: 'second',
    name: 'Second',
    wire: 'simulator',
    data_policy: { retains: false },
    models: [
      {
        model: 'acme/one',
        upstream_model: 'echo',
        pricing: { prompt: '0.000001', completion: '0.000004' },
        context_length: 50_000,
        max_output_tokens: 4000,
      },
      { model: 'bolt/free', capabilities: { tools: true } },
      { model: 'bolt/free:free', pricing: { prompt: 0, completion: 0 } },
      { model: 'wild/*' },
    ],
  },
  {
    id: 'own',
    name: 'Own',
    wire: 'simulator',
    workspace: 'other',
    data_policy: { retains: false },
    models: [{ model: 'secret/one' }, { model: 'acme/two' }],
  },
];

let folder: string;
let gateway: TestGateway;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-models-'));
  const overrides = join(folder, 'catalog.json');
  writeFileSync(overrides, JSON.stringify(catalogFile));
  gateway = await testGateway({
    catalog: { builtin: false, overrides },
    providers,
    routers: {
      latest: [
        { alias: '~acme/latest', pattern: 'acme/*' },
        { alias: '~gone/latest', pattern: 'gone/*' },
      ],
    },
    bootstrap: {
      keys: [{ key: otherKey, name: 'other', workspace: 'other', acts_as: 'organization' }],
    },
  });
});
afterAll(async () => {
  await gateway?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Listed {
  data: Record<string, unknown>[];
  total_count: number;
  links: { next: string | null };
}
async function list(query = '', key?: string, path = '/models'): Promise<Listed> {
  const response = await gateway.get(`${path}${query}`, key === undefined ? {} : { key });
  expect(response.status).toBe(200);
  return (await response.json()) as Listed;
}
const idsOf = ({ data }: Listed) => data.map(({ id }) => id);
async function get(path: string, key?: string) {
  const response = await gateway.get(path, key === undefined ? {} : { key });
  // These tests check the shapes.
  return {
    status: response.status,
    body: (await response.json()) as { data: Record<string, unknown>; error: { message: string } },
  };
}
const routers = [
  'router/auto',
  'router/auto-beta',
  'router/bodybuilder',
  'router/free',
  'router/fusion',
  'router/fusion-flash',
  'router/pareto-code',
];
const everyone = ['~acme/latest', 'acme/two', 'acme/one', 'bolt/free', 'bolt/free:free'];

describe('GET /models', () => {
  it('lists models for text, newest first: models, aliases with a target, routers', async () => {
    const listed = await list();
    expect(idsOf(listed)).toEqual(['acme/two', '~acme/latest', 'acme/one', 'bolt/free', 'bolt/free:free', ...routers]);
    expect(listed.total_count).toBe(12);
    expect(listed.links).toEqual({ next: null });
  });

  it('returns a model with every required field', async () => {
    const { data } = await list('?q=acme/one');
    expect(data).toEqual([
      {
        id: 'acme/one',
        canonical_slug: 'acme/one-20260110',
        name: 'Acme One',
        description: 'The first of its kind.',
        created: Date.UTC(2026, 0, 10) / 1000,
        context_length: 100_000,
        architecture: {
          modality: 'text+image->text',
          input_modalities: ['text', 'image'],
          output_modalities: ['text'],
          instruct_type: null,
        },
        // The cheapest endpoint, without one of a tier that is used only on request.
        pricing: { prompt: '0.000001', completion: '0.000004' },
        top_provider: { context_length: 50_000, max_completion_tokens: 4000, is_moderated: false },
        per_request_limits: null,
        supported_parameters: ['temperature', 'tools', 'tool_choice', 'reasoning'],
        default_parameters: null,
        supported_voices: null,
        links: { details: '/api/v1/models/acme/one/endpoints' },
        object: 'model',
        owned_by: 'acme',
        hugging_face_id: null,
        knowledge_cutoff: '2025-06-30',
        expiration_date: null,
        reasoning: { supported_efforts: ['low', 'high'], default_effort: 'high', mandatory: false },
      },
    ]);
  });

  it('returns unknown prices and those of routers as -1, and free ones as 0', async () => {
    const { data } = await list('?q=bolt/free');
    expect(data.map(({ pricing }) => pricing)).toEqual([
      { prompt: '-1', completion: '-1' },
      { prompt: '0', completion: '0' },
    ]);
    const auto = await get('/model/router/auto');
    expect(auto.body.data).toMatchObject({
      pricing: { prompt: '-1', completion: '-1' },
      architecture: { tokenizer: 'Router', input_modalities: ['text', 'image'] },
      context_length: 1_000_000,
      created: 0,
    });
    expect((await get('/model/router/free')).body.data).toMatchObject({ context_length: 8000 });
  });

  it('returns prices for long prompts as overrides', async () => {
    const { data } = await list('?q=two&model_authors=acme');
    expect(data[0]).toMatchObject({
      pricing: {
        prompt: '0.000001',
        completion: '0.000002',
        overrides: [{ min_prompt_tokens: 200_000, prompt: '0.000004' }],
      },
    });
  });

  it('shows an alias with the fields of its target', async () => {
    const { data } = await list('?q=~acme');
    expect(data).toEqual([
      expect.objectContaining({
        id: '~acme/latest',
        canonical_slug: '~acme/latest',
        name: 'Acme Two (latest)',
        context_length: 1_000_000,
        alias_target: { name: 'Acme Two', slug: 'acme/two' },
      }),
    ]);
  });

  it('is the same for the organization, and as /models/user', async () => {
    const listed = await list();
    expect(await list('', gateway.organizationKey)).toEqual(listed);
    expect(await list('', undefined, '/models/user')).toEqual(listed);
  });

  it('shows the endpoints of a workspace to that workspace only', async () => {
    expect(idsOf(await list('?providers=own', otherKey))).toEqual(['acme/two', '~acme/latest', 'secret/one']);
    expect(idsOf(await list('?q=secret', otherKey))).toEqual(['secret/one']);
    for (const key of [gateway.key, gateway.managementKey]) {
      expect(idsOf(await list('?q=secret', key))).toEqual([]);
      expect(idsOf(await list('?providers=own', key))).toEqual([]);
      expect((await get('/model/secret/one', key)).status).toBe(404);
      expect((await get('/models/secret/one/endpoints', key)).status).toBe(404);
      expect((await get('/models/secret/one:free/endpoints', key)).status).toBe(404);
    }
    expect((await get('/model/secret/one', otherKey)).status).toBe(200);
  });

  it('accepts a management key, which sees the shared models', async () => {
    expect(idsOf(await list('', gateway.managementKey)).toSorted()).toEqual([...everyone, ...routers].toSorted());
  });

  it.each([
    '/models',
    '/models/user',
    '/models/count',
    '/model/acme/one',
    '/models/acme/one/endpoints',
    '/providers',
  ])('requires a key: %s', async (path) => {
    expect((await gateway.get(path, { key: null })).status).toBe(401);
    expect((await gateway.get(path, { key: 'wrong-key-wrong-key' })).status).toBe(401);
  });

  it.each([
    ['?output_modalities=image', ['acme/painter']],
    ['?output_modalities=text,image&q=acme', ['acme/two', '~acme/latest', 'acme/painter', 'acme/one']],
    ['?output_modalities=all&q=painter', ['acme/painter']],
    ['?q=ACME+one', ['acme/one']],
    ['?q=first%20kind', ['acme/one']],
    ['?q=no-such-thing', []],
    ['?supported_parameters=tools,temperature&model_authors=acme', ['acme/one']],
    ['?supported_parameters=tools&supported_parameters=tool_choice&model_authors=bolt,acme', ['acme/one', 'bolt/free']],
    ['?input_modalities=image&q=acme', ['acme/one']],
    ['?context=100001', ['acme/two', '~acme/latest', ...routers.filter((id) => id !== 'router/free')]],
    ['?max_price=1', ['acme/two', '~acme/latest', 'acme/one', 'bolt/free:free']],
    ['?max_price=0', ['bolt/free:free']],
    ['?min_price=0.5&max_price=.9', []],
    ['?min_price=0.000001', ['acme/two', '~acme/latest', 'acme/one']],
    ['?providers=SECOND', ['acme/one', 'bolt/free', 'bolt/free:free']],
    ['?providers=first/eu,nobody', ['acme/one']],
    ['?model_authors=bolt', ['bolt/free', 'bolt/free:free']],
    ['?model_authors=router&q=free', ['router/free']],
    ['?made_up=1&q=&context=&sort=&offset=&limit=&model_authors=bolt', ['bolt/free', 'bolt/free:free']],
  ])('filters by %s', async (query, expected) => {
    expect(idsOf(await list(query))).toEqual(expected);
  });

  it.each([
    ['newest', ['acme/two', 'acme/one', 'bolt/free', 'bolt/free:free']],
    ['most-popular', ['acme/two', 'acme/one', 'bolt/free', 'bolt/free:free']],
    ['pricing-low-to-high', ['bolt/free:free', 'acme/two', 'acme/one', 'bolt/free']],
    ['pricing-high-to-low', ['acme/one', 'acme/two', 'bolt/free:free', 'bolt/free']],
    ['context-high-to-low', ['acme/two', 'acme/one', 'bolt/free', 'bolt/free:free']],
  ])('sorts by %s', async (sort, expected) => {
    const ids = idsOf(await list(`?sort=${sort}&model_authors=acme,bolt`));
    expect(ids.filter((id) => !String(id).startsWith('~'))).toEqual(expected);
  });

  it('returns pages on request, with a link to the next one', async () => {
    const all = idsOf(await list('?sort=newest&output_modalities=all'));
    const seen: unknown[] = [];
    let next: string | null = '/api/v1/models?output_modalities=all&limit=4';
    while (next !== null) {
      const page: Listed = (await (await gateway.get(next)).json()) as Listed;
      expect(page.total_count).toBe(all.length);
      expect(page.data.length).toBeLessThanOrEqual(4);
      seen.push(...idsOf(page));
      next = page.links.next;
    }
    expect(seen).toEqual(all);
    expect(idsOf(await list('?offset=1&output_modalities=all'))).toEqual(all.slice(1));
    expect(await list('?offset=1000')).toEqual({ object: 'list', data: [], total_count: 12, links: { next: null } });
  });

  it.each([
    ['?limit=0', 'limit: "0" is not an integer from 1 to 1000.'],
    ['?limit=1001', 'limit: "1001" is not an integer from 1 to 1000.'],
    ['?limit=ten', 'limit: "ten" is not an integer from 1 to 1000.'],
    ['?offset=-1', 'offset: "-1" is not an integer from 0 to 9007199254740991.'],
    ['?context=0', 'context: "0" is not an integer from 1 to 9007199254740991.'],
    ['?context=1e3', 'context: "1e3" is not an integer'],
    ['?min_price=-1', 'min_price: "-1" is not a number from 0 to 1000000'],
    ['?max_price=cheap', 'max_price: "cheap" is not a number from 0 to 1000000'],
    ['?sort=best', 'sort: "best" is not one of newest, most-popular'],
    ['?supported_parameters=tools,flying', 'supported_parameters: "flying" is not one of temperature, top_p'],
    ['?input_modalities=smell', 'input_modalities: "smell" is not one of text, image, file, audio, video.'],
    ['?output_modalities=smell', 'output_modalities: "smell" is not one of all, text'],
    ['?sort=newest&sort=newest', 'sort: "newest, newest" is not one value: the parameter is repeated.'],
    ['?limit=0&offset=x', '(and 1 more: see error.metadata.issues)'],
  ])('returns 400 for %s', async (query, message) => {
    for (const path of ['/models', '/models/user', '/models/count']) {
      const { status, body } = await get(`${path}${query}`);
      expect(status).toBe(400);
      const code = path === '/models' ? 'invalid_request' : 400;
      expect(body.error).toMatchObject({ code, metadata: { error_type: 'invalid_request' } });
      expect(body.error.message).toContain(message);
    }
  });

  it('rejects a POST', async () => {
    expect((await gateway.post('/models', {})).status).toBe(405);
  });
});

describe('GET /models/count', () => {
  it.each([
    '',
    '?output_modalities=all',
    '?q=acme',
    '?providers=second&limit=1',
  ])('counts the models of the list: %s', async (query) => {
    const { total_count: count } = await list(query);
    expect((await get(`/models/count${query}`)).body).toEqual({ data: { count } });
  });
});

describe('GET /model/{author}/{slug}', () => {
  it.each([
    ['acme/one', 'acme/one'],
    ['ACME/One', 'acme/one'],
    ['acme%2Fone', 'acme/one'],
    ['acme/one-20260110', 'acme/one'],
    ['acme/one:nitro', 'acme/one'],
    ['acme/one:floor:exacto', 'acme/one'],
    ['bolt/free:free', 'bolt/free:free'],
    ['bolt/free:nitro:free', 'bolt/free:free'],
    ['bolt%2Ffree%3Afree', 'bolt/free:free'],
    ['acme/painter', 'acme/painter'],
    ['acme/old', 'acme/old'],
    ['~acme/latest', '~acme/latest'],
    ['~acme/latest:nitro', '~acme/latest'],
    ['router/auto', 'router/auto'],
    ['Router/Auto:floor', 'router/auto'],
  ])('finds %s', async (slug, id) => {
    const { status, body } = await get(`/model/${slug}`);
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ id });
  });

  it.each([
    ['acme/three', 'There is no model acme/three here'],
    ['acme', 'There is no model acme here'],
    ['acme/one:free', 'it has no variant :free'],
    ['acme/one:batch:nitro', 'it has no variant :batch'],
    [
      'nobody/has',
      'its providers (elsewhere) are not configured here. See https://headgate.dev/docs/guides/providers.',
    ],
    ['wild/thing', 'Second passes on every name of its shape'],
    ['~gone/latest', 'There is no model ~gone/latest here'],
    ['router/fission', 'There is no model router/fission here'],
    ['__proto__', 'There is no model __proto__ here'],
  ])('returns 404 for %s', async (slug, message) => {
    const { status, body } = await get(`/model/${slug}`);
    expect(status).toBe(404);
    expect(body.error).toMatchObject({ code: 404, metadata: { error_type: 'not_found' } });
    expect(body.error.message).toContain(message);
  });

  it('returns 400 for an invalid encoding of the path', async () => {
    expect((await get('/model/acme/%zz')).status).toBe(400);
  });
});

describe('GET /models/{author}/{slug}/endpoints', () => {
  const tags = ({ body }: { body: { data: Record<string, unknown> } }) =>
    (body.data['endpoints'] as { tag: string }[]).map(({ tag }) => tag);

  it('lists the endpoints of a model', async () => {
    const { status, body } = await get('/models/acme/one/endpoints');
    expect(status).toBe(200);
    const { endpoints, ...model } = body.data;
    expect(model).toEqual({
      id: 'acme/one',
      name: 'Acme One',
      created: Date.UTC(2026, 0, 10) / 1000,
      description: 'The first of its kind.',
      architecture: {
        modality: 'text+image->text',
        input_modalities: ['text', 'image'],
        output_modalities: ['text'],
        tokenizer: null,
        instruct_type: null,
      },
    });
    expect(endpoints).toHaveLength(3);
    const [first, flex, second] = endpoints as [unknown, unknown, unknown];
    expect(first).toEqual({
      name: 'First | acme/one',
      model_id: 'acme/one',
      model_name: 'Acme One',
      provider_name: 'First',
      tag: 'first/eu',
      context_length: 100_000,
      max_completion_tokens: 8000,
      max_prompt_tokens: null,
      quantization: 'fp8',
      status: 0,
      supported_parameters: ['temperature', 'tools', 'tool_choice', 'reasoning'],
      pricing: { prompt: '0.000002', completion: '0.000008', input_cache_read: '0.0000002' },
      uptime_last_5m: null,
      uptime_last_30m: null,
      uptime_last_1d: null,
      latency_last_30m: null,
      throughput_last_30m: null,
      supports_implicit_caching: true,
      supports_tool_choice: { auto: true, none: true, required: true, function: true },
    });
    expect(flex).toMatchObject({ tag: 'first/flex', pricing: { prompt: '0.0000001' } });
    expect(second).toMatchObject({
      tag: 'second',
      context_length: 50_000,
      quantization: null,
      supported_parameters: [],
      supports_implicit_caching: false,
      supports_tool_choice: { auto: false, none: false, required: false, function: false },
    });
  });

  it.each([
    ['acme/two', 'app', ['first']],
    ['acme/two', 'other', ['first', 'own']],
    ['acme/one:nitro', 'app', ['first/eu', 'first/flex', 'second']],
    ['acme/one-20260110', 'app', ['first/eu', 'first/flex', 'second']],
    ['acme/one:free', 'app', []],
    ['acme/one:free:nitro', 'app', []],
    ['bolt/free:free', 'app', ['second']],
    ['bolt/free%3Afree', 'app', ['second']],
    ['router/auto', 'app', []],
    ['~acme/latest', 'app', ['first']],
    ['acme/old', 'app', ['first']],
    ['wild/thing', 'app', ['second']],
    ['wild/a%2Fb', 'app', ['second']],
    ['wild/thing:free', 'app', ['second']],
  ])('of %s', async (slug, key, expected) => {
    const found = await get(`/models/${slug}/endpoints`, key === 'other' ? otherKey : undefined);
    expect(found.status).toBe(200);
    expect(tags(found)).toEqual(expected);
  });

  it('names the model of an unknown variant', async () => {
    expect((await get('/models/acme/one:free/endpoints')).body.data).toMatchObject({
      id: 'acme/one:free',
      endpoints: [],
    });
  });

  it('returns the known facts of a slug that only a wildcard matches', async () => {
    expect((await get('/models/wild/thing/endpoints')).body.data).toMatchObject({
      id: 'wild/thing',
      name: 'wild/thing',
      created: 0,
      description: '',
      endpoints: [{ model_id: 'wild/thing', context_length: 0, pricing: { prompt: '-1', completion: '-1' } }],
    });
  });

  it('names the target of an alias in its endpoints', async () => {
    expect((await get('/models/~acme/latest/endpoints')).body.data).toMatchObject({
      id: '~acme/latest',
      endpoints: [{ name: 'First | acme/two', model_id: 'acme/two', model_name: 'Acme Two' }],
    });
  });

  it.each([
    'acme/three',
    'acme/three:free',
    'nobody/has',
    '~gone/latest',
    'x/y%2Fz',
  ])('returns 404 for %s', async (slug) => {
    expect((await get(`/models/${slug}/endpoints`)).status).toBe(404);
  });

  it('shows the health of an endpoint after a request', async () => {
    const asked = await gateway.post('/responses', {
      model: 'acme/one',
      input: 'hello',
      provider: { only: ['second'], allow_fallbacks: false },
      stream: true,
    });
    expect(asked.status).toBe(200);
    await asked.text();
    const { body } = await get('/models/acme/one/endpoints');
    const { latency_last_30m: latency } = (body.data['endpoints'] as { latency_last_30m: object }[])[2]!;
    expect(latency).toEqual({
      p50: expect.any(Number),
      p75: expect.any(Number),
      p90: expect.any(Number),
      p99: expect.any(Number),
    });
    const fastest = idsOf(await list('?sort=latency-low-to-high&q=acme'));
    expect(fastest[0]).toBe('acme/one');
    expect(idsOf(await list('?sort=throughput-high-to-low&q=acme'))[0]).toBe('acme/one');
  });
});

describe('GET /endpoints/zdr', () => {
  it('lists the endpoints of models in the list that retain no data', async () => {
    const { status, body } = await get('/endpoints/zdr');
    const data = body.data as unknown as Record<string, unknown>[];
    expect(status).toBe(200);
    expect(data.map(({ model_id, tag }) => [model_id, tag])).toEqual([
      ['acme/one', 'second'],
      ['bolt/free', 'second'],
      ['bolt/free:free', 'second'],
    ]);
    const { body: one } = await get('/models/acme/one/endpoints');
    expect(one.data['endpoints']).toContainEqual(data[0]);
  });

  it('lists the endpoints of a workspace to that workspace only, and no alias', async () => {
    const { body } = await get('/endpoints/zdr', otherKey);
    const data = body.data as unknown as Record<string, unknown>[];
    expect(data.map(({ model_id, tag }) => `${String(model_id)} ${String(tag)}`).sort()).toEqual([
      'acme/one second',
      'acme/two own',
      'bolt/free second',
      'bolt/free:free second',
      'secret/one own',
    ]);
    expect((await get('/endpoints/zdr', 'wrong')).status).toBe(401);
  });
});

describe('GET /providers', () => {
  it('lists those that the caller can use', async () => {
    const nothing = {
      privacy_policy_url: null,
      terms_of_service_url: null,
      status_page_url: null,
      headquarters: null,
      datacenters: null,
    };
    const shared = [
      { name: 'First', slug: 'first', ...nothing },
      { name: 'Second', slug: 'second', ...nothing },
    ];
    expect((await get('/providers')).body).toEqual({ data: shared });
    expect((await get('/providers', gateway.managementKey)).body).toEqual({ data: shared });
    expect((await get('/providers', otherKey)).body).toEqual({
      data: [...shared, { name: 'Own', slug: 'own', ...nothing }],
    });
  });
});

describe('a reload', () => {
  it('changes the list', async () => {
    const bare = await testGateway({ catalog: { builtin: false } });
    try {
      const read = async () => idsOf((await (await bare.get('/models')).json()) as Listed);
      expect(await read()).toEqual(routers);
      await bare.reload({
        catalog: { builtin: false },
        providers: [{ id: 'a', wire: 'simulator', models: [{ model: 'a/new' }, { model: 'plain' }] }],
      });
      expect(await read()).toEqual(['a/new', 'plain', ...routers]);
      const plain = (await (await bare.get('/model/plain')).json()) as { data: object };
      expect(plain.data).toMatchObject({ id: 'plain', links: { details: '/api/v1/model/plain' } });
    } finally {
      await bare.close();
    }
  });
});
