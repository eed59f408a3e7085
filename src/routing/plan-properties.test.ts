import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createCatalog } from '../catalog/catalog.ts';
import { describeModel } from '../catalog/describe-model.ts';
import type { Model } from '../domain/endpoint.ts';
import { GatewayError } from '../domain/errors.ts';
import { type GuardrailRules, noRules } from '../domain/guardrail.ts';
import type { ResponseRequest } from '../domain/request.ts';
import { routingStrategies } from '../domain/routing-strategy.ts';
import { bareEndpoint, type Endpoint, type Provider } from '../providers/provider.ts';
import { compileGuardrail } from './guardrail.ts';
import { Patterns } from './patterns.ts';
import { type Plan, planRoute, type RoutingCaller } from './plan-route.ts';
import { matchesEndpoint } from './preferences.ts';
import { keepByCost } from './routers/auto.ts';
import { createRoutingContext, type RoutersConfig } from './routing-context.ts';

const slugs = ['acme/one', 'acme/two', 'acme/one:free', 'other/one', 'other/three-mini', 'zed/x'];
const providerIds = ['a', 'b', 'c', 'd'];
const workspaces = ['w', 'v'];

const pricing = fc.option(
  fc.record({
    promptNanoUsdPerMillion: fc.integer({ min: 0, max: 1e10 }),
    completionNanoUsdPerMillion: fc.integer({ min: 0, max: 1e10 }),
  }),
  { nil: undefined },
);
const known = <Value>(values: fc.Arbitrary<Value>) => fc.option(values, { nil: undefined });

const endpointFacts = fc.record({
  model: fc.constantFrom(...slugs),
  provider: fc.constantFrom(...providerIds),
  tier: known(fc.constantFrom('default' as const, 'flex' as const, 'priority' as const)),
  pricing,
  contextLength: known(fc.integer({ min: 1, max: 400 })),
  maxOutputTokens: known(fc.integer({ min: 1, max: 400 })),
  quantization: known(fc.constantFrom('fp8', 'mxfp4', 'unknown', 'int4')),
  parameters: known(
    fc.uniqueArray(fc.constantFrom('tools', 'temperature', 'top_p', 'structured_outputs')).map((list) => new Set(list)),
  ),
  capabilities: fc.record({ input: known(fc.constantFrom(['text'], ['text', 'image'])), tools: known(fc.boolean()) }),
  retainsData: known(fc.boolean()),
  trainsOnData: known(fc.boolean()),
  distillable: known(fc.boolean()),
  workspace: known(fc.constantFrom(...workspaces)),
  isFallbackKey: fc.boolean(),
  weight: fc.constantFrom(0, 1, 1, 7),
  health: fc.array(fc.constantFrom('ok', 'fault', 'client'), { maxLength: 6 }),
});

const nullable = <Value>(values: fc.Arbitrary<Value>) => fc.option(values, { nil: null });
const names = fc.array(fc.constantFrom(...providerIds, 'A', 'nobody', 'a/flex', 'b/priority'), { maxLength: 3 });
const preferences = fc.record(
  {
    order: nullable(names),
    only: nullable(names),
    ignore: nullable(names),
    allow_fallbacks: nullable(fc.boolean()),
    require_parameters: nullable(fc.boolean()),
    data_collection: nullable(fc.constantFrom('allow', 'deny')),
    zdr: nullable(fc.boolean()),
    enforce_distillable_text: nullable(fc.boolean()),
    quantizations: nullable(fc.uniqueArray(fc.constantFrom('fp8', 'fp4', 'unknown'), { minLength: 1 })),
    sort: nullable(
      fc.oneof(
        fc.constantFrom('price', 'throughput', 'latency', 'exacto'),
        fc.record({ by: fc.constantFrom('price', 'latency'), partition: fc.constantFrom('model', 'none') }),
      ),
    ),
    max_price: fc.record({ prompt: fc.double({ min: 0, max: 10, noNaN: true }) }, { requiredKeys: [] }),
    preferred_max_latency: nullable(fc.constantFrom(0.1, 5)),
  },
  { requiredKeys: [] },
);

const requests = fc.record(
  {
    model: fc.constantFrom(
      ...slugs,
      'acme/one:nitro',
      'acme/two:floor',
      'ACME/ONE',
      'router/auto',
      'router/free',
      '~acme/any-latest',
    ),
    models: fc.array(fc.constantFrom(...slugs, 'router/auto'), { maxLength: 3 }),
    provider: nullable(preferences),
    service_tier: nullable(fc.constantFrom('auto', 'default', 'flex', 'priority', 'scale')),
    max_output_tokens: nullable(fc.integer({ min: 1, max: 400 })),
    temperature: nullable(fc.double({ min: 0, max: 2, noNaN: true })),
    tools: fc.constant([{ type: 'function', name: 'f', parameters: null }]),
    session_id: fc.constantFrom('s', 't'),
    input: fc.constantFrom(
      [{ type: 'message', role: 'user', content: 'hi' }],
      [{ type: 'message', role: 'user', content: 'x'.repeat(1000) }],
      [{ type: 'message', role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA' }] }],
    ),
  },
  { requiredKeys: ['model', 'input'] },
);

const routers: RoutersConfig = {
  latest: [{ alias: '~acme/any-latest', pattern: 'acme/*' }],
  auto: { prevent_overrides: false },
  pareto_code: {},
  bodybuilder: {},
};

type Drawn = typeof endpointFacts extends fc.Arbitrary<infer Facts> ? Facts : never;

function createTestContext(drawn: readonly Drawn[], seed: number) {
  const endpoints = drawn.map(({ provider, health: _, ...facts }, index): Endpoint => {
    const tag = facts.tier === 'flex' || facts.tier === 'priority' ? `${provider}/${facts.tier}` : provider;
    const where = { id: provider, name: provider.toUpperCase() } as Provider;
    return { ...bareEndpoint(where, facts.model, facts.model), ...facts, tag, id: `${facts.model}@${tag}#${index}` };
  });
  const models = new Map<string, Model>(endpoints.map(({ model }) => [model, describeModel({ id: model })]));
  const strategy = routingStrategies[seed % routingStrategies.length]!;
  const strategies = { strategy, models: [] };
  const routingContext = createRoutingContext(createCatalog(endpoints, models), { routers, strategies, seed });
  for (const [index, { health }] of drawn.entries()) {
    for (const what of health) {
      const error =
        what === 'ok' ? undefined : new GatewayError(what === 'fault' ? 'upstream_failed' : 'upstream_rejected', 'x');
      routingContext.health.record(endpoints[index]!.id, {
        atMs: Date.now(),
        error,
        firstOutputMs: 50,
        durationMs: 90,
        outputTokens: 9,
      });
    }
  }
  return { routingContext, endpoints };
}

/** Returns the plan or the error. */
function plan(
  drawn: readonly Drawn[],
  request: object,
  seed = 1,
  asker: RoutingCaller = { workspaceId: 'w' },
): Plan<Endpoint> | GatewayError {
  try {
    return planRoute(request as ResponseRequest, asker, createTestContext(drawn, seed).routingContext);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

const property = (check: (drawn: Drawn[], request: never, seed: number) => void) =>
  fc.assert(
    fc.property(fc.array(endpointFacts, { maxLength: 14 }), requests, fc.nat(), (drawn, request, seed) =>
      check(drawn, structuredClone(request) as never, seed),
    ),
    { numRuns: 400 },
  );

it('is a plan of at least one endpoint, each once, or a 400 or 404', () => {
  property((drawn, request, seed) => {
    const made = plan(drawn, request, seed);
    if (made instanceof GatewayError) {
      expect([400, 404]).toContain(made.status);
      return;
    }
    expect(made.endpoints.length).toBeGreaterThan(0);
    expect(new Set(made.endpoints).size).toBe(made.endpoints.length);
  });
});

it('never contains an endpoint that a filter excludes', () => {
  property(
    (
      drawn,
      request: {
        provider?: Record<string, never> | null;
        input: { content: unknown }[];
      },
      seed,
    ) => {
      const made = plan(drawn, request, seed);
      if (made instanceof GatewayError) return;
      const wish = (request.provider ?? {}) as {
        only?: string[] | null;
        ignore?: string[] | null;
        zdr?: boolean | null;
        data_collection?: string | null;
        enforce_distillable_text?: boolean | null;
        max_price?: { prompt?: number };
        quantizations?: string[] | null;
      };
      for (const endpoint of made.endpoints) {
        expect(endpoint.workspace ?? 'w').toBe('w');
        if (wish.only?.length)
          expect(wish.only.some((entry) => matchesEndpoint(entry.toLowerCase(), endpoint))).toBe(true);
        if (wish.ignore?.length)
          expect(wish.ignore.some((entry) => matchesEndpoint(entry.toLowerCase(), endpoint))).toBe(false);
        if (wish.zdr) expect(endpoint.retainsData).toBe(false);
        if (wish.data_collection === 'deny') expect(endpoint.trainsOnData).toBe(false);
        if (wish.enforce_distillable_text) expect(endpoint.distillable).toBe(true);
        if (wish.max_price?.prompt !== undefined) {
          expect(endpoint.pricing!.promptNanoUsdPerMillion / 1e9).toBeLessThanOrEqual(wish.max_price.prompt + 1e-9);
        }
        if (Array.isArray(request.input[0]!.content))
          expect(endpoint.capabilities.input ?? ['image']).toContain('image');
      }
    },
  );
});

const modelList = nullable(
  fc.array(fc.constantFrom('acme/*', 'ACME/one', '*', '*/one', 'zed/x', '*-mini', 'acme/one:free'), { minLength: 1 }),
);
const providerList = nullable(fc.array(fc.constantFrom(...providerIds, 'A', 'b/flex', 'nobody'), { minLength: 1 }));
const guardrailRules = fc.record({
  allowedModels: modelList,
  ignoredModels: modelList,
  allowedProviders: providerList,
  ignoredProviders: providerList,
  zeroRetention: fc.constantFrom(noRules.zeroRetention, { ...noRules.zeroRetention, other: true }),
  paidTraining: nullable(fc.boolean()),
  freeTraining: nullable(fc.boolean()),
  freePublication: nullable(fc.boolean()),
  builtinFilters: fc.constant(null),
  customFilters: fc.constant(null),
});

it('never contains an endpoint that a guardrail of the caller forbids, for any request', () => {
  fc.assert(
    fc.property(
      fc.array(endpointFacts, { maxLength: 14 }),
      requests,
      fc.array(guardrailRules, { minLength: 1, maxLength: 3 }),
      fc.nat(),
      (drawn, request, rules, seed) => {
        const guardrails = rules.flatMap((each, index) => compileGuardrail(`guardrail ${index}`, each) ?? []);
        const made = plan(drawn, structuredClone(request), seed, { workspaceId: 'w', guardrails });
        if (made instanceof GatewayError) {
          expect([400, 403, 404]).toContain(made.status);
          return;
        }
        for (const used of made.endpoints) for (const each of rules) expect(isAllowed(used, each)).toBe(true);
      },
    ),
    { numRuns: 600 },
  );
});

/** A plain implementation of the rules. */
function isAllowed(endpoint: Endpoint, rules: GuardrailRules): boolean {
  const { allowedModels, ignoredModels, allowedProviders, ignoredProviders } = rules;
  const hasModel = (patterns: readonly string[]) =>
    new Patterns(patterns).matches(describeModel({ id: endpoint.model }));
  const hasProvider = (names: readonly string[]) =>
    names.some((name) => name.toLowerCase() === endpoint.provider.id || name === endpoint.tag);
  if (allowedModels && !hasModel(allowedModels)) return false;
  if (ignoredModels && hasModel(ignoredModels)) return false;
  if (allowedProviders && !hasProvider(allowedProviders)) return false;
  if (ignoredProviders && hasProvider(ignoredProviders)) return false;
  if (rules.zeroRetention.other && endpoint.retainsData !== false) return false;
  const cost =
    endpoint.pricing && endpoint.pricing.promptNanoUsdPerMillion + endpoint.pricing.completionNanoUsdPerMillion;
  const [mayCost, mayBeFree] = [cost !== 0, cost === undefined || cost === 0];
  if (rules.paidTraining === false && mayCost && endpoint.trainsOnData !== false) return false;
  if (rules.freeTraining === false && mayBeFree && endpoint.trainsOnData !== false) return false;
  return !(rules.freePublication === false && mayBeFree && endpoint.retainsData !== false);
}

it('is the same with the same seed', () => {
  property((drawn, request, seed) => {
    const [first, second] = [plan(drawn, request, seed), plan(drawn, request, seed)];
    if (first instanceof GatewayError || second instanceof GatewayError) {
      expect(first instanceof GatewayError && second instanceof GatewayError && first.message === second.message).toBe(
        true,
      );
      return;
    }
    expect(second.endpoints.map(({ id }) => id)).toEqual(first.endpoints.map(({ id }) => id));
  });
});

it('reports every endpoint that is not in the plan with a reason', () => {
  property(
    (
      drawn,
      request: { model: string; models?: string[]; provider?: { allow_fallbacks?: boolean | null } | null },
      seed,
    ) => {
      if (
        request.provider?.allow_fallbacks === false ||
        request.model.startsWith('router/') ||
        request.model.startsWith('~')
      )
        return;
      if (request.models?.some((slug) => slug.startsWith('router/'))) return;
      const made = plan(drawn, request, seed);
      if (made instanceof GatewayError) return;
      const wanted = new Set(
        [request.model, ...(request.models ?? [])].map((slug) => slug.toLowerCase().replace(/:(?:nitro|floor)$/, '')),
      );
      const { endpoints } = createTestContext(drawn, seed);
      const told = new Set([...made.endpoints, ...made.excluded.map(({ endpoint }) => endpoint)].map(({ id }) => id));
      for (const { id, model, workspace } of endpoints) {
        if (wanted.has(model) && (workspace === undefined || workspace === 'w')) expect(told).toContain(id);
      }
      for (const { reason, code } of made.excluded) expect(reason && code).toBeTruthy();
    },
  );
});

it('exclusion always wins over allowance', () => {
  const pattern = fc.constantFrom('acme/*', '*', '*/one', 'other/three-mini', 'zed/*', 'acme/o*', '*-mini');
  fc.assert(
    fc.property(fc.array(pattern), fc.array(pattern, { minLength: 1 }), (allowed, excluded) => {
      const drawn = slugs.map((model, index) => ({
        ...plain,
        model,
        provider: providerIds[index % 4]!,
      })) as unknown as Drawn[];
      const plugins = [{ id: 'auto-router', allowed_models: allowed, excluded_models: excluded, cost_tier: 'max' }];
      const made = plan(drawn, { model: 'router/auto', input: [], plugins });
      const shutOut = new Patterns(excluded);
      if (made instanceof GatewayError) expect(made.status).toBe(404);
      else for (const { model } of made.endpoints) expect(shutOut.matches(describeModel({ id: model }))).toBe(false);
    }),
  );
});

const plain = {
  health: [],
  isFallbackKey: false,
  capabilities: {},
  pricing: { promptNanoUsdPerMillion: 1, completionNanoUsdPerMillion: 1 },
};

it('each cost band of a pool is nonempty, and the bands together are the pool', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(100), { minLength: 1, maxLength: 60 }), (costs) => {
      const models = costs.map((_, index) => `m${index}`);
      const costOf = (model: string) => costs[Number(model.slice(1))]!;
      const bands = ['low', 'medium', 'high', 'xhigh', 'max'].map((costTier) =>
        keepByCost(models, { costTier, tradeoff: undefined }, costOf),
      );
      for (const band of bands) expect(band.length).toBeGreaterThan(0);
      expect(new Set(bands.flat())).toEqual(new Set(models.length >= 5 ? models : bands.flat()));
      for (let tradeoff = 0; tradeoff <= 10; tradeoff++) {
        expect(keepByCost(models, { costTier: undefined, tradeoff }, costOf).length).toBeGreaterThan(0);
      }
    }),
  );
});
