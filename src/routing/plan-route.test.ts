import { describe, expect, it } from 'vitest';
import { createCatalog } from '../catalog/catalog.ts';
import { describeModel } from '../catalog/describe-model.ts';
import type { ModelRecord } from '../catalog/records.ts';
import type { EndpointFacts, Pricing } from '../domain/endpoint.ts';
import { GatewayError } from '../domain/errors.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { SortKey } from '../domain/request-defaults.ts';
import { perMillionTokens } from '../metering/price.ts';
import type { Endpoint } from '../providers/provider.ts';
import { bareEndpoint, type Provider } from '../providers/provider.ts';
import { planRoute } from './plan-route.ts';
import { createRoutingContext } from './routing-context.ts';

type Facts = Partial<Omit<EndpointFacts, 'pricing' | 'provider'>> & {
  usd?: number | [number, number];
  pricing?: Pricing;
};

/** `author/model@provider`, priced per million tokens. */
function endpoint(name: string, { usd, ...facts }: Facts = {}): Endpoint {
  const [model = '', provider = ''] = name.split('@');
  const [id = ''] = provider.split('/');
  const [prompt, completion] = Array.isArray(usd) ? usd : [usd, usd];
  const pricing =
    prompt === undefined
      ? undefined
      : {
          promptNanoUsdPerMillion: perMillionTokens(prompt),
          completionNanoUsdPerMillion: perMillionTokens(completion!),
        };
  const where = { id, name: id.toUpperCase() } as Provider;
  return { ...bareEndpoint(where, model, model), id: name, tag: provider, pricing, ...facts };
}

const nameOf = ({ id }: EndpointFacts) => id;

interface Setting {
  endpoints: Endpoint[];
  models?: ModelRecord[];
  seed?: number;
}

function routingContext({ endpoints, models = [], seed = 1 }: Setting) {
  const described = new Map(models.map((record) => [record.id, describeModel(record)]));
  const listed = endpoints.map(({ model }) => [model, described.get(model) ?? describeModel({ id: model })] as const);
  const records = { models: new Map(models.map((record) => [record.id, record])), endpoints: new Map() };
  return createRoutingContext(createCatalog(endpoints, new Map(listed), records), { seed });
}

type Body = Omit<Partial<ResponseRequest>, 'input'> & { input?: unknown };
const read = (body: Body): ResponseRequest => ({ input: [], ...body }) as ResponseRequest;

const plan = (setting: Setting, body: Body, workspaceId = 'w') =>
  planRoute(read(body), { workspaceId }, routingContext(setting));
const names = (setting: Setting, body: Body, workspace?: string) =>
  plan(setting, body, workspace).endpoints.map(nameOf);

/** Returns the thrown error. */
function refusal(run: () => unknown): GatewayError {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('Nothing was thrown.');
}

const two = [endpoint('one@a', { usd: 1 }), endpoint('one@b', { usd: 1 })];

describe('the default sort of a workspace', () => {
  const setting = {
    endpoints: [
      endpoint('m@a', { usd: 3 }),
      endpoint('m@b', { usd: 1 }),
      endpoint('m@c/priority', { usd: 2, tier: 'priority' }),
      endpoint('n@a', { usd: 9 }),
      endpoint('n@b', { usd: 8 }),
    ],
  };
  const ask = (body: Body, providerSort: SortKey = 'price') => {
    const defaults = { textModel: undefined, imageModel: undefined, providerSort };
    const made = planRoute(read(body), { workspaceId: 'w', defaults }, routingContext(setting));
    return [made.endpoints.map(nameOf), made.usualSort] as const;
  };

  it.each<[Body]>([
    [{ model: 'm' }],
    [{ model: 'm', provider: {} }],
    [{ model: 'm', provider: { order: [], sort: null } }],
    [{ model: 'm', provider: { sort: { by: null } }, service_tier: 'default' }],
    [{ model: 'm', tools: [{ type: 'function', name: 'f', parameters: {} }] as never }],
  ])('orders %j', (body) => {
    expect(ask(body)).toEqual([['m@b', 'm@a'], 'price']);
  });

  it.each<[Body, string[]]>([
    [{ model: 'm', provider: { order: ['a'] } }, ['m@a', 'm@b']],
    [{ model: 'm', provider: { sort: 'price' } }, ['m@b', 'm@a']],
    [{ model: 'm:floor' }, ['m@b', 'm@a']],
    [{ model: 'm', service_tier: 'priority' }, ['m@c/priority', 'm@a', 'm@b']],
  ])('yields to %j', (body, order) => {
    expect(ask(body, 'latency')).toEqual([order, undefined]);
  });

  it('sorts the endpoints of all models if the request mixes them', () => {
    const body = { models: ['n', 'm'], provider: { sort: { partition: 'none' } } };
    expect(ask(body)).toEqual([['m@b', 'm@a', 'n@b', 'n@a'], 'price']);
  });

  it('applies to the models of a list without a suffix', () => {
    expect(ask({ models: ['m:nitro', 'n'] })[0].slice(-2)).toEqual(['n@b', 'n@a']);
    expect(ask({ models: ['m:nitro', 'n'] })[1]).toBe('price');
  });
});

describe('the models of a request', () => {
  const setting = { endpoints: [endpoint('one@a'), endpoint('two@c'), endpoint('three@a')] };

  it('are tried in order, each once', () => {
    const made = plan(setting, { model: 'one', models: ['two', 'one', 'three', 'two'] });
    expect(made.endpoints.map(nameOf)).toEqual(['one@a', 'two@c', 'three@a']);
    expect(made).toMatchObject({ requested: 'one', strategy: 'fallback' });
  });

  it('start with the first of `models` if `model` is absent', () => {
    expect(plan(setting, { models: ['two', 'three'] })).toMatchObject({ requested: 'two', strategy: 'fallback' });
  });

  it.each([
    { models: ['two'] },
    { model: 'two', models: ['two'] },
    { model: 'two', models: [] },
  ])('have the strategy direct if %j names one', (body) => {
    expect(plan(setting, body)).toMatchObject({ requested: 'two', strategy: 'direct' });
  });

  it.each([
    { model: 'none' },
    { model: 'one', models: ['none'] },
    { models: ['none', 'one'] },
  ])('are rejected if one of %j is unknown', (body) => {
    expect(refusal(() => plan(setting, body))).toMatchObject({
      kind: 'model_not_found',
      message: 'none is not a valid model ID: no provider of this gateway has it.',
      availability: { code: 'model_not_found', requested_models: ['none'], retryable: false },
    });
  });

  it('are truncated in messages', () => {
    expect(refusal(() => plan(setting, { model: 'x'.repeat(10_000) })).message).toMatch(/^x{200} is not/);
  });

  it('may be known without an endpoint: 404 with the providers that have them', () => {
    const known = { ...setting, models: [{ id: 'acme/known' }] };
    expect(refusal(() => plan(known, { model: 'acme/known' }))).toMatchObject({
      kind: 'not_found',
      availability: { code: 'no_endpoints' },
    });
  });

  it('fall back to the next if the first has no permitted endpoint', () => {
    const priced = { endpoints: [endpoint('one@a', { usd: 9 }), endpoint('two@c', { usd: 1 })] };
    expect(names(priced, { models: ['one', 'two'], provider: { max_price: { prompt: 5 } } })).toEqual(['two@c']);
  });
});

describe('suffixes', () => {
  const endpoints = [
    endpoint('acme/one@a', { usd: 3 }),
    endpoint('acme/one@b', { usd: 1 }),
    endpoint('acme/one@b/flex', { usd: 0.5, tier: 'flex' }),
    endpoint('acme/one@a/priority', { usd: 6, tier: 'priority' }),
    endpoint('acme/one:free@c', { usd: 0 }),
  ];
  const setting = { endpoints };

  it(':floor sorts by price and admits flex', () => {
    expect(names(setting, { model: 'acme/one:floor' })).toEqual(['acme/one@b/flex', 'acme/one@b', 'acme/one@a']);
  });

  it(':nitro admits priority', () => {
    expect(names(setting, { model: 'acme/one:nitro' })).toContain('acme/one@a/priority');
    expect(names(setting, { model: 'acme/one:nitro' })).not.toContain('acme/one@b/flex');
  });

  it('plain sorts admit neither', () => {
    expect(names(setting, { model: 'acme/one', provider: { sort: 'price' } })).toEqual(['acme/one@b', 'acme/one@a']);
  });

  it('an order or the default tier excludes tiers; with the latter, the suffix still sorts', () => {
    expect(names(setting, { model: 'acme/one:floor', provider: { order: ['a'] } })).toEqual([
      'acme/one@a',
      'acme/one@b',
    ]);
    expect(names(setting, { model: 'acme/one:floor', service_tier: 'default' })).toEqual(['acme/one@b', 'acme/one@a']);
  });

  it('the last sort wins, and the sort of the body wins over it', () => {
    expect(names(setting, { model: 'acme/one:nitro:floor' })[0]).toBe('acme/one@b/flex');
    const body = { model: 'acme/one:nitro', provider: { sort: 'price' } };
    expect(names(setting, body)).toEqual(['acme/one@b', 'acme/one@a', 'acme/one@a/priority']);
  });

  it('a catalog suffix names a separate entry, in any order with others, and never falls back', () => {
    expect(names(setting, { model: 'acme/one:free:nitro' })).toEqual(['acme/one:free@c']);
    expect(names(setting, { model: 'acme/one:nitro:free' })).toEqual(['acme/one:free@c']);
    expect(refusal(() => plan(setting, { model: 'acme/one:batch' }))).toMatchObject({
      status: 404,
      availability: { code: 'no_endpoints' },
    });
  });

  it('an unknown suffix is part of the name, and an unknown name is a 400', () => {
    const tagged = { endpoints: [endpoint('local/llama:3b@a')] };
    expect(names(tagged, { model: 'local/llama:3b' })).toEqual(['local/llama:3b@a']);
    expect(names(tagged, { model: 'local/llama:3b:nitro' })).toEqual(['local/llama:3b@a']);
    expect(refusal(() => plan(setting, { model: 'acme/one:other' })).kind).toBe('model_not_found');
  });

  it('slugs ignore case', () => {
    expect(names(setting, { model: 'ACME/One:FREE' })).toEqual(['acme/one:free@c']);
  });
});

describe('preferences', () => {
  const a = endpoint('m@a', { usd: [1, 4], quantization: 'fp8', retainsData: false, trainsOnData: false });
  const b = endpoint('m@b', { usd: [3, 12], quantization: 'mxfp4', trainsOnData: true });
  const c = endpoint('m@c', { usd: [2, 8], tag: 'c/eu', contextLength: 1000 });
  const setting = { endpoints: [a, b, c] };
  const ask = (provider: object, more: Body = {}) => names(setting, { model: 'm', provider: { ...provider }, ...more });

  it.each<[object, string[]]>([
    [{ order: ['c', 'A'] }, ['m@c', 'm@a', 'm@b']],
    [{ order: ['b'], allow_fallbacks: false }, ['m@b']],
    [{ only: ['b', 'C/EU'], sort: 'price' }, ['m@c', 'm@b']],
    [{ ignore: ['c'], sort: 'price' }, ['m@a', 'm@b']],
    [{ only: ['a', 'b'], ignore: ['a'] }, ['m@b']],
    [{ sort: 'price' }, ['m@a', 'm@c', 'm@b']],
    [{ sort: { by: 'price' }, allow_fallbacks: false }, ['m@a']],
    [{ quantizations: ['fp8'] }, ['m@a']],
    [{ quantizations: ['fp4'] }, ['m@b']],
    [{ quantizations: ['unknown'] }, ['m@c']],
    [{ data_collection: 'deny' }, ['m@a']],
    [{ zdr: true }, ['m@a']],
    [{ zdr: false, sort: 'price' }, ['m@a', 'm@c', 'm@b']],
    [{ max_price: { prompt: 1 } }, ['m@a']],
    [{ max_price: { completion: '8' }, sort: 'price' }, ['m@a', 'm@c']],
    [{ max_price: { prompt: 1, completion: 3.9999 } }, []],
    [{ only: ['nobody'] }, []],
    [{ enforce_distillable_text: true }, []],
  ])('%j leaves %j', (provider, expected) => {
    if (expected.length > 0) expect(ask(provider)).toEqual(expected);
    else expect(refusal(() => ask(provider)).status).toBe(404);
  });

  it('null is the same as absent', () => {
    expect(ask({ order: null, only: null, sort: null, zdr: null }).toSorted()).toEqual(['m@a', 'm@b', 'm@c']);
  });

  it('report the excluded endpoints and the rule', () => {
    const error = refusal(() => ask({ only: ['nobody'] }));
    expect(error.message).toContain('No allowed providers are available for the selected model.');
    expect(error.availability).toMatchObject({ code: 'constraint_filtered', excluded_by: ['allowed_providers'] });
    expect(refusal(() => ask({ ignore: ['a'], zdr: true, only: ['b'] })).availability?.excluded_by).toEqual(
      ['data_policy:zdr', 'allowed_providers'].toSorted(() => 0).toReversed(),
    );
    expect(refusal(() => ask({ max_price: { prompt: 0.1 } })).availability?.constraint?.field).toBe('max_price');
    expect(refusal(() => ask({ zdr: true, only: ['b', 'c'], data_collection: 'deny' })).availability?.code).toBe(
      'constraint_filtered',
    );
    const kept = refusal(() => names({ endpoints: [b] }, { model: 'm', provider: { zdr: true } }));
    expect(kept.availability?.code).toBe('privacy_restricted');
  });

  it('partition `none` sorts all models as one list', () => {
    const mixed = {
      endpoints: [endpoint('x@a', { usd: 3 }), endpoint('y@a', { usd: 1 }), endpoint('x@b', { usd: 2 })],
    };
    const body = { models: ['x', 'y'] };
    expect(names(mixed, { ...body, provider: { sort: 'price' } })).toEqual(['x@b', 'x@a', 'y@a']);
    const sort = { by: 'price', partition: 'none' };
    expect(names(mixed, { ...body, provider: { sort } })).toEqual(['y@a', 'x@b', 'x@a']);
  });
});

describe('what a request needs', () => {
  const text = endpoint('m@text', { usd: 1, capabilities: { input: ['text'], tools: false } });
  const all = endpoint('m@all', { usd: 1, capabilities: { input: ['text', 'image'], tools: true } });
  const setting = { endpoints: [text, all] };
  const image = {
    type: 'message',
    role: 'user',
    content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }],
  };

  it('an image goes to endpoints that support images', () => {
    expect(names(setting, { model: 'm', input: [image] })).toEqual(['m@all']);
    expect(refusal(() => names({ endpoints: [text] }, { model: 'm', input: [image] })).message).toContain(
      'does not support image input',
    );
  });

  it('tools go to endpoints that support tools, or to the others if none does', () => {
    const tools = [{ type: 'function', name: 'f', parameters: null }] as ResponseRequest['tools'];
    expect(names(setting, { model: 'm', tools: tools! })).toEqual(['m@all']);
    expect(names({ endpoints: [text] }, { model: 'm', tools: tools! })).toEqual(['m@text']);
  });

  it('required parameters keep only endpoints that are known to support them', () => {
    const known = { endpoints: [text, endpoint('m@k', { usd: 1, parameters: new Set(['temperature', 'top_k']) })] };
    const body = { model: 'm', temperature: 1, provider: { require_parameters: true } };
    expect(names(known, body)).toEqual(['m@k']);
    expect(refusal(() => names(known, { ...body, top_p: 0.5 })).availability?.excluded_by).toEqual([
      'require_parameters',
    ]);
  });

  it('an input that fits with no tokenizer excludes the endpoint, and is a 400 if none is left', () => {
    const short = endpoint('m@short', { usd: 1, contextLength: 100 });
    const long = { type: 'message', role: 'user', content: 'x'.repeat(501 + 5) };
    const body = { model: 'm', input: [long] };
    expect(names({ endpoints: [short, endpoint('m@long', { usd: 9, contextLength: 1000 })] }, body)).toEqual([
      'm@long',
    ]);
    expect(refusal(() => names({ endpoints: [short] }, body))).toMatchObject({ kind: 'context_length_exceeded' });
    const fits = { type: 'message', role: 'user', content: 'x'.repeat(500) };
    expect(names({ endpoints: [short] }, { model: 'm', input: [fits] })).toEqual(['m@short']);
  });

  it('a Chinese input is as long as its tokens, not as its characters', () => {
    const short = endpoint('m@short', { usd: 1, contextLength: 100 });
    const input = (length: number) => [{ type: 'message', role: 'user', content: '港'.repeat(length) }];
    expect(names({ endpoints: [short] }, { model: 'm', input: input(200) })).toEqual(['m@short']);
    expect(refusal(() => names({ endpoints: [short] }, { model: 'm', input: input(300) }))).toMatchObject({
      kind: 'context_length_exceeded',
    });
  });

  it('more output than an endpoint supports excludes it, unless none has the room', () => {
    const brief = endpoint('m@brief', { usd: 1, maxOutputTokens: 10 });
    const body = { model: 'm', max_output_tokens: 11 };
    expect(names({ endpoints: [brief, endpoint('m@more', { usd: 9, maxOutputTokens: 11 })] }, body)).toEqual([
      'm@more',
    ]);
    expect(names({ endpoints: [brief] }, body)).toEqual(['m@brief']);
    const full = endpoint('m@full', { usd: 1, contextLength: 100 });
    const fills = { model: 'm', input: [{ type: 'message', role: 'user', content: 'x'.repeat(500) }] };
    expect(names({ endpoints: [full] }, fills)).toEqual(['m@full']);
    expect(refusal(() => names({ endpoints: [full] }, { ...fills, max_output_tokens: 1 }))).toMatchObject({
      kind: 'context_length_exceeded',
      tokens: { input: 100, max: 100 },
    });
  });
});

describe('tiers', () => {
  const usual = endpoint('m@a', { usd: 2, tier: 'default' });
  const flex = endpoint('m@a/flex', { usd: 1, tier: 'flex' });
  const priority = endpoint('m@a/priority', { usd: 4, tier: 'priority' });
  const setting = { endpoints: [usual, flex, priority] };

  it.each<[Body, string[]]>([
    [{}, ['m@a']],
    [{ service_tier: 'auto' }, ['m@a']],
    [{ service_tier: 'default' }, ['m@a']],
    [{ service_tier: 'scale' }, ['m@a']],
    [{ service_tier: 'flex' }, ['m@a/flex']],
    [{ service_tier: 'priority' }, ['m@a/priority', 'm@a']],
    [{ provider: { only: ['a/flex'] } }, ['m@a/flex']],
    [{ provider: { only: ['a'] } }, ['m@a']],
    [{ provider: { order: ['a/priority'] } }, ['m@a/priority', 'm@a']],
  ])('%j goes to %j', (body, expected) => {
    expect(names(setting, { model: 'm', ...body })).toEqual(expected);
  });

  it('flex goes to the default endpoints if there is no flex', () => {
    expect(names({ endpoints: [usual, priority] }, { model: 'm', service_tier: 'flex' })).toEqual(['m@a']);
  });
});

describe('the draw', () => {
  it('uses the squared price: a third of the price comes first nine times as often', () => {
    const setting = { endpoints: [endpoint('m@a', { usd: 1 }), endpoint('m@c', { usd: 3 })] };
    const where = routingContext(setting);
    const firsts = Array.from(
      { length: 20_000 },
      () => planRoute(read({ model: 'm' }), { workspaceId: 'w' }, where).endpoints[0]!.id,
    );
    const share = firsts.filter((id) => id === 'm@a').length / firsts.length;
    expect(share).toBeGreaterThan(0.885);
    expect(share).toBeLessThan(0.915);
  });

  it('shares equally among free endpoints', () => {
    const setting = { endpoints: [endpoint('m@a', { usd: 0 }), endpoint('m@b', { usd: 0 })] };
    const where = routingContext(setting);
    const firsts = Array.from(
      { length: 5000 },
      () => planRoute(read({ model: 'm' }), { workspaceId: 'w' }, where).endpoints[0]!.id,
    );
    expect(firsts.filter((id) => id === 'm@a').length / 5000).toBeCloseTo(0.5, 1);
  });
});

describe('health', () => {
  const failure = new GatewayError('upstream_failed', 'It broke.', { retryable: true });
  const fail = (where: ReturnType<typeof routingContext>, id: string, times: number, error = failure) => {
    for (let count = 0; count < times; count++) where.health.record(id, { atMs: Date.now(), error });
  };

  it('moves an endpoint to the end after three failures in a row, and back after one success', () => {
    const where = routingContext({ endpoints: [endpoint('m@a', { usd: 0.001 }), endpoint('m@b', { usd: 100 })] });
    const first = () => planRoute(read({ model: 'm' }), { workspaceId: 'w' }, where).endpoints.map(nameOf);
    fail(where, 'm@a', 2);
    expect(first()).toEqual(['m@a', 'm@b']);
    fail(where, 'm@a', 1);
    expect(first()).toEqual(['m@b', 'm@a']);
    where.health.record('m@a', { atMs: Date.now(), error: undefined });
    where.health.record('m@a', { atMs: Date.now(), error: undefined });
    where.health.record('m@a', { atMs: Date.now(), error: undefined });
    expect(first()).toEqual(['m@a', 'm@b']);
  });

  it('ignores faults of the client', () => {
    const where = routingContext({ endpoints: two });
    for (const kind of ['upstream_rejected', 'context_length_exceeded', 'content_policy', 'client_closed'] as const) {
      fail(where, 'one@a', 10, new GatewayError(kind, 'No.'));
    }
    expect(where.health.view({ id: 'one@a' })?.isStable).toBe(true);
  });

  it('counts slowness', () => {
    const where = routingContext({ endpoints: two });
    fail(where, 'one@a', 3, new GatewayError('upstream_timeout', 'Too slow.'));
    expect(where.health.view({ id: 'one@a' })?.isStable).toBe(false);
  });

  it('puts an endpoint with a Retry-After last', () => {
    const where = routingContext({ endpoints: two });
    fail(where, 'one@a', 1, new GatewayError('rate_limited', 'Wait.', { retryAfterSeconds: 5 }));
    expect(planRoute(read({ model: 'one' }), { workspaceId: 'w' }, where).endpoints.map(nameOf)).toEqual([
      'one@b',
      'one@a',
    ]);
  });

  it('does not override the order of the caller', () => {
    const where = routingContext({ endpoints: two });
    fail(where, 'one@a', 5);
    const body = read({ model: 'one', provider: { order: ['a', 'b'] } });
    expect(planRoute(body, { workspaceId: 'w' }, where).endpoints.map(nameOf)).toEqual(['one@a', 'one@b']);
  });

  it('puts endpoints that meet the latency or throughput first, and excludes none', () => {
    const where = routingContext({ endpoints: [...two, endpoint('one@c', { usd: 1 })] });
    const at = Date.now();
    where.health.record('one@a', {
      atMs: at,
      error: undefined,
      firstOutputMs: 900,
      durationMs: 1000,
      outputTokens: 50,
    });
    where.health.record('one@b', {
      atMs: at,
      error: undefined,
      firstOutputMs: 100,
      durationMs: 1000,
      outputTokens: 10,
    });
    const order = (provider: object) =>
      planRoute(read({ model: 'one', provider: { ...provider } }), { workspaceId: 'w' }, where).endpoints.map(nameOf);
    expect(order({ preferred_max_latency: 0.5 })[0]).toBe('one@b');
    expect(order({ preferred_min_throughput: { p90: 20, p50: null } })[0]).toBe('one@a');
    expect(order({ preferred_min_throughput: 20 })).toHaveLength(3);
    expect(order({ sort: 'latency' })).toEqual(['one@b', 'one@a', 'one@c']);
    expect(order({ sort: 'throughput' })).toEqual(['one@a', 'one@b', 'one@c']);
  });
});

describe('a session', () => {
  const setting = { endpoints: [endpoint('m@cheap', { usd: 0.001 }), endpoint('m@dear', { usd: 1000 })] };
  const session = { key: 's:one', isExplicit: true };

  function remembering() {
    const where = routingContext(setting);
    const sticky = new (where.sticky.constructor as new (ms: () => number) => typeof where.sticky)(() => 600_000);
    sticky.remember('w', 'm', session, 'm@dear', 'm');
    return { ...where, sticky };
  }

  it('keeps the endpoint that served it', () => {
    const first = (body: Body, workspaceId = 'w') =>
      planRoute(read(body), { workspaceId }, remembering()).endpoints[0]!.id;
    expect(first({ model: 'm', session_id: 'one' })).toBe('m@dear');
    expect(first({ model: 'm', session_id: 'two' })).toBe('m@cheap');
    expect(first({ model: 'm', session_id: 'one' }, 'another')).toBe('m@cheap');
    expect(first({ model: 'm', session_id: 'one', provider: { order: ['cheap'] } })).toBe('m@cheap');
  });

  it('does not keep an unhealthy endpoint', () => {
    const where = remembering();
    for (let count = 0; count < 3; count++) {
      where.health.record('m@dear', { atMs: Date.now(), error: new GatewayError('upstream_failed', 'No.') });
    }
    expect(planRoute(read({ model: 'm', session_id: 'one' }), { workspaceId: 'w' }, where).endpoints[0]!.id).toBe(
      'm@cheap',
    );
  });
});

describe('BYOK keys', () => {
  const shared = endpoint('m@a', { usd: 0.001 });
  const own = endpoint('m@own', { usd: 1000, workspace: 'w' });
  const spare = endpoint('m@spare', { usd: 0.001, workspace: 'w', isFallbackKey: true });
  const setting = { endpoints: [shared, spare, own] };

  it('come before the shared ones, even with an order, and fallback keys after them', () => {
    expect(names(setting, { model: 'm' })).toEqual(['m@own', 'm@a', 'm@spare']);
    expect(names(setting, { model: 'm', provider: { order: ['a'] } })[0]).toBe('m@own');
  });

  it('are invisible to other workspaces', () => {
    const made = plan(setting, { model: 'm' }, 'other');
    expect(made.endpoints.map(nameOf)).toEqual(['m@a']);
    expect(made.excluded).toEqual([]);
  });
});
