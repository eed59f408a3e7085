import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCatalog } from '../catalog/catalog.ts';
import type { EndpointFacts } from '../domain/endpoint.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { SortKey } from '../domain/request-defaults.ts';
import type { RoutingStrategy } from '../domain/routing-strategy.ts';
import { perMillionTokens } from '../metering/price.ts';
import { bareEndpoint, type Endpoint, type Provider } from '../providers/provider.ts';
import { planRoute } from './plan-route.ts';
import type { StrategyConfig } from './strategy-table.ts';
import { createRoutingContext } from './routing-context.ts';

interface Facts extends Partial<Pick<EndpointFacts, 'weight' | 'tier'>> {
  /** Per million tokens. */
  usd?: number;
  latencyMs?: number;
  inFlight?: number;
  /** Three failures in a row. */
  isDown?: boolean;
  model?: string;
}

/** Creates a routing context with an endpoint of the model `m` at each of these providers. */
function makeWorld(providers: Record<string, Facts>, config: RoutingStrategy | StrategyConfig, seed = 1) {
  const endpoints = Object.entries(providers).map(([id, { usd, model = 'm', weight = 1, tier }]): Endpoint => {
    const price = usd === undefined ? undefined : perMillionTokens(usd);
    const bare = bareEndpoint({ id, name: id } as Provider, model, model);
    const pricing =
      price === undefined ? undefined : { promptNanoUsdPerMillion: price, completionNanoUsdPerMillion: price };
    return { ...bare, id: `${model}@${id}`, tag: id, weight, tier, pricing };
  });
  const strategies = typeof config === 'string' ? { strategy: config, models: [] } : config;
  const world = createRoutingContext(createCatalog(endpoints), { strategies, seed });
  for (const [index, { latencyMs, inFlight = 0, isDown }] of Object.values(providers).entries()) {
    const { id } = endpoints[index]!;
    const outcome = { atMs: Date.now(), error: undefined, durationMs: 1000, outputTokens: 10 };
    if (latencyMs !== undefined) world.health.record(id, { ...outcome, firstOutputMs: latencyMs });
    for (let count = 0; count < inFlight; count++) world.inFlight.begin(id);
    if (isDown) {
      for (let count = 0; count < 3; count++)
        world.health.record(id, { ...outcome, error: { kind: 'upstream_failed' } as never });
    }
  }
  return world;
}
type World = ReturnType<typeof makeWorld>;

const ask = (world: World, fields: object = {}, providerSort?: SortKey) => {
  const request = { model: 'm', input: [], ...fields } as unknown as ResponseRequest;
  const defaults = { textModel: undefined, imageModel: undefined, providerSort };
  const plan = planRoute(request, { workspaceId: 'w', defaults }, world);
  return { order: plan.endpoints.map(({ tag }) => tag), strategy: plan.routingStrategy };
};

const DRAWS = 4000;
/** Counts how often each endpoint comes first. */
function sharesOf(world: World, fields?: object): Record<string, number> {
  const counts: Record<string, number> = {};
  for (let count = 0; count < DRAWS; count++) {
    const [first] = ask(world, fields).order;
    counts[first!] = (counts[first!] ?? 0) + 1;
  }
  return Object.fromEntries(Object.entries(counts).map(([id, count]) => [id, count / DRAWS]));
}

/** Five standard deviations. With a seed, the draws are always the same. */
function expectShares(shares: Record<string, number>, likelihoods: Record<string, number>): void {
  const sum = Object.values(likelihoods).reduce((total, likelihood) => total + likelihood, 0);
  for (const [id, likelihood] of Object.entries(likelihoods)) {
    const expected = likelihood / sum;
    const bound = 5 * Math.sqrt((expected * (1 - expected)) / DRAWS);
    expect(Math.abs((shares[id] ?? 0) - expected), `${id} ${shares[id]} for ${expected}`).toBeLessThanOrEqual(bound);
  }
}

const weights = fc.constantFrom(0, 0.5, 1, 2, 9, 99);
const fleet = <Value>(values: fc.Arbitrary<Value>) => fc.array(values, { minLength: 2, maxLength: 5 });
const nameAll = <Value>(values: readonly Value[]): Record<string, Value> =>
  Object.fromEntries(values.map((value, index) => [`p${index}`, value]));
const runs = { numRuns: 15, seed: 7 };

describe('shares of a draw', () => {
  it('are the weights under `weighted`, for any price', () => {
    fc.assert(
      fc.property(
        fleet(fc.record({ weight: weights, usd: fc.integer({ min: 1, max: 50 }) })),
        fc.nat(),
        (drawn, seed) => {
          fc.pre(drawn.some(({ weight }) => weight > 0));
          const providers = nameAll(drawn);
          const likelihoods = Object.fromEntries(Object.entries(providers).map(([id, { weight }]) => [id, weight]));
          expectShares(sharesOf(makeWorld(providers, 'weighted', seed)), likelihoods);
        },
      ),
      runs,
    );
  });

  it('are the weights over the squared price under `price`', () => {
    fc.assert(
      fc.property(
        fleet(fc.record({ weight: weights, usd: fc.integer({ min: 1, max: 9 }) })),
        fc.nat(),
        (drawn, seed) => {
          fc.pre(drawn.some(({ weight }) => weight > 0));
          const providers = nameAll(drawn);
          const rows = Object.entries(providers).map(([id, { weight, usd }]) => [id, weight / usd ** 2]);
          expectShares(sharesOf(makeWorld(providers, 'price', seed)), Object.fromEntries(rows));
        },
      ),
      runs,
    );
  });

  it('are the weights over the squared latency under `latency`; an unknown one counts as the mean', () => {
    const latencies = fc.constantFrom(100, 200, 300);
    fc.assert(
      fc.property(fleet(fc.record({ weight: weights, latencyMs: latencies })), fc.nat(), (drawn, seed) => {
        fc.pre(drawn.some(({ weight }) => weight > 0));
        const providers = nameAll(drawn);
        const likely = Object.entries(providers).map(
          ([id, { weight, latencyMs }]) => [id, weight / latencyMs ** 2] as const,
        );
        const mean = drawn.reduce((sum, { latencyMs }) => sum + 1 / latencyMs ** 2, 0) / drawn.length;
        const world = makeWorld({ ...providers, unknown: {} }, 'latency', seed);
        expectShares(sharesOf(world), { ...Object.fromEntries(likely), unknown: mean });
      }),
      runs,
    );
  });

  it('are the weights under `least-busy` while nothing is in flight', () => {
    expectShares(sharesOf(makeWorld({ a: { weight: 1 }, b: { weight: 3 } }, 'least-busy')), { a: 1, b: 3 });
  });

  it('send one request in a hundred to a canary', () => {
    const shares = sharesOf(makeWorld({ stable: { weight: 99, usd: 9 }, canary: { weight: 1, usd: 1 } }, 'weighted'));
    expectShares(shares, { stable: 99, canary: 1 });
    expect(shares['canary']).toBeGreaterThan(0);
  });
});

describe('least-busy', () => {
  it('puts the fewest attempts in flight per weight first', () => {
    const busy = fc.record({ weight: weights, inFlight: fc.integer({ min: 0, max: 20 }) });
    fc.assert(
      fc.property(fleet(busy), fc.nat(), (drawn, seed) => {
        fc.pre(drawn.some(({ weight }) => weight > 0));
        const providers = nameAll(drawn);
        const { order } = ask(makeWorld(providers, 'least-busy', seed));
        const loads = order.map((id) => providers[id]!).filter(({ weight }) => weight > 0);
        for (const [index, { weight, inFlight }] of loads.entries()) {
          const next = loads[index + 1];
          if (next) expect(inFlight / weight).toBeLessThanOrEqual(next.inFlight / next.weight);
        }
        expect(order.slice(loads.length).every((id) => providers[id]!.weight === 0)).toBe(true);
      }),
    );
  });

  it('forgets an attempt when it ends', () => {
    const world = makeWorld({ a: { inFlight: 2 }, b: { inFlight: 1 } }, 'least-busy');
    expect(ask(world).order).toEqual(['b', 'a']);
    world.inFlight.end('m@a');
    world.inFlight.end('m@a');
    expect(ask(world).order).toEqual(['a', 'b']);
    expect(world.inFlight.count('m@a')).toBe(0);
  });
});

describe('an endpoint of weight 0', () => {
  const strategies: RoutingStrategy[] = ['price', 'weighted', 'latency', 'least-busy'];
  const cheapest = { weight: 0, usd: 0, latencyMs: 1 };
  const other = { usd: 5, latencyMs: 500, inFlight: 3 };

  it.each(strategies)('is a fallback under %s', (strategy) => {
    const world = makeWorld({ spare: cheapest, used: other, ailing: { ...other, isDown: true } }, strategy);
    for (let count = 0; count < 200; count++) expect(ask(world).order).toEqual(['used', 'spare', 'ailing']);
  });

  it.each(['price', 'latency'] as const)('is a fallback even if the request sorts by %s', (sort) => {
    const world = makeWorld({ spare: cheapest, used: other }, 'price');
    expect(ask(world, { provider: { sort } }).order).toEqual(['used', 'spare']);
  });

  it('comes first if the request orders it, or if no other is left', () => {
    const world = makeWorld({ spare: cheapest, used: other }, 'weighted');
    expect(ask(world, { provider: { order: ['spare'] } }).order).toEqual(['spare', 'used']);
    expect(ask(world, { provider: { only: ['spare'] } }).order).toEqual(['spare']);
    expect(ask(makeWorld({ spare: cheapest, twin: cheapest }, 'weighted')).order).toHaveLength(2);
  });

  it('does not keep the session that it served as a fallback', () => {
    const world = makeWorld({ spare: cheapest, used: other }, 'weighted');
    const found = () => ({ endpoint: 'm@spare', model: 'm', atMs: 0, isExplicit: true });
    const sticky = { ...world, sticky: { find: found, mayKnowDerived: false } } as unknown as World;
    expect(ask(sticky, { session_id: 's' }).order).toEqual(['used', 'spare']);
  });
});

describe('a strategy', () => {
  const providers = { cheap: { usd: 1, weight: 1 }, dear: { usd: 100, weight: 1_000_000 } };
  const mostly = (config: RoutingStrategy | StrategyConfig, fields?: object, sort?: SortKey) => {
    const { order, strategy } = ask(makeWorld(providers, config), fields, sort);
    return [order[0], strategy];
  };

  it('yields to the order, sort, suffix and tier of the request, and to the sort of the workspace', () => {
    expect(mostly('weighted')).toEqual(['dear', 'weighted']);
    expect(mostly('weighted', { provider: { order: ['cheap'] } })).toEqual(['cheap', undefined]);
    expect(mostly('weighted', { provider: { sort: 'price' } })).toEqual(['cheap', undefined]);
    expect(mostly('weighted', { model: 'm:floor' })).toEqual(['cheap', undefined]);
    expect(mostly('weighted', {}, 'price')).toEqual(['cheap', undefined]);
    const tiers = { cheap: { usd: 1, tier: 'priority' as const }, dear: providers.dear };
    const { order, strategy } = ask(makeWorld(tiers, 'weighted'), { service_tier: 'priority' });
    expect([order[0], strategy]).toEqual(['cheap', undefined]);
    expect(mostly('weighted', { provider: { sort: 'exacto' } })).toEqual(['dear', 'weighted']);
  });

  it('orders the endpoints that `provider.order` does not list', () => {
    const world = makeWorld({ ...providers, listed: { usd: 50 } }, 'weighted');
    expect(ask(world, { provider: { order: ['listed'] } }).order).toEqual(['listed', 'dear', 'cheap']);
  });

  it('can differ for single models: the first match applies, with any case and sorting suffix', () => {
    const config: StrategyConfig = {
      strategy: 'weighted',
      models: [
        { model: 'M', strategy: 'least-busy' },
        { model: '*', strategy: 'latency' },
      ],
    };
    expect(mostly(config, { model: 'm:exacto' })[1]).toBe('least-busy');
    expect(ask(makeWorld({ a: { model: 'n' }, b: { model: 'n' } }, config), { model: 'n' }).strategy).toBe('latency');
    const elsewhere: StrategyConfig = { strategy: 'weighted', models: [{ model: 'acme/*', strategy: 'latency' }] };
    expect(mostly(elsewhere)).toEqual(['dear', 'weighted']);
  });

  it('plans the same route for the same draws', () => {
    for (const strategy of ['price', 'weighted', 'latency', 'least-busy'] as const) {
      const plans = [1, 2].map(() => {
        const world = makeWorld({ a: { usd: 1, weight: 2 }, b: { usd: 2 }, c: {} }, strategy, 5);
        return Array.from({ length: 20 }, () => ask(world).order);
      });
      expect(plans[0]).toEqual(plans[1]);
    }
  });
});
