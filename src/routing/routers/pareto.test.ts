import { array, assert, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  askRouter,
  type Body,
  createSetting,
  endpoint,
  read,
  refusal,
  type Setting,
} from '../../../tests/routing/call-router.ts';
import type { Endpoint } from '../../providers/provider.ts';
import { Health } from '../health.ts';
import { planRoute } from '../plan-route.ts';
import { paretoRouter } from './pareto.ts';

/** Name → coding score and USD per million input tokens. Output has another price, which must not count. */
type Table = Record<string, readonly [number, number | undefined]>;

const usual: Table = {
  'x/best': [99, 10],
  'x/high': [90, 4],
  'x/edge': [66, 6],
  'x/good': [65.9, 3],
  'x/solid': [33, 1],
  'x/fair': [32.9, 0.5],
  'x/least': [10, 0.2],
  'x/weak': [0, 0.1],
};

const setting = (table: Table, more: Partial<Setting> = {}): Setting => ({
  endpoints: Object.entries(table).map(([model, [, usd]]) =>
    endpoint(`${model}@a`, usd === undefined ? {} : { usd: [usd, 100 - usd] }),
  ),
  models: Object.entries(table).map(([id, [coding_score]]) => ({ id, coding_score })),
  ...more,
});

const plugin = (fields: object): Body => ({ plugins: [{ id: 'pareto-router', ...fields }] });
const ask = (where: Setting, body: Body = {}, remembered?: string, slug = 'router/pareto-code') =>
  askRouter(paretoRouter, slug, where, { body, ...(remembered === undefined ? {} : { remembered }) });
const choose = (...given: Parameters<typeof ask>) => ask(...given).models;

describe('router/pareto-code without max_price', () => {
  const where = setting(usual);

  it.each<[object, string[]]>([
    [{}, ['x/high', 'x/edge', 'x/best']],
    [{ min_coding_score: 1 }, ['x/high', 'x/edge', 'x/best']],
    [{ min_coding_score: 0.66 }, ['x/high', 'x/edge', 'x/best']],
    [{ min_coding_score: 0.6599 }, ['x/solid', 'x/good']],
    [{ min_coding_score: 0.33 }, ['x/solid', 'x/good']],
    [{ min_coding_score: 0.3299 }, ['x/weak', 'x/least', 'x/fair']],
    [{ min_coding_score: 0 }, ['x/weak', 'x/least', 'x/fair']],
    [{ min_coding_score: 0, enabled: false }, ['x/high', 'x/edge', 'x/best']],
  ])('%j chooses the cheapest of the tier first: %j', (fields, expected) => {
    expect(choose(where, plugin(fields))).toEqual(expected);
  });

  it('chooses at most three of a tier, and reports it', () => {
    const four = setting({ 'x/a': [90, 4], 'x/b': [90, 3], 'x/c': [90, 2], 'x/d': [90, 1] });
    expect(ask(four)).toMatchObject({
      models: ['x/d', 'x/c', 'x/b'],
      stage: {
        type: 'router',
        name: 'pareto-router',
        data: { resolved_to: 'x/d', fallback_models: ['x/c', 'x/b'], tier: 'high' },
      },
    });
  });

  const tiers = { high: 90, medium: 50, low: 10 };
  it.each([
    ['high', 1, ['medium', 'low']],
    ['medium', 0.5, ['low', 'high']],
    ['low', 0, ['medium', 'high']],
  ] as const)('an empty tier %s falls back to the nearest cheaper one, then to others', (tier, min_coding_score, [
    nearer,
    farther,
  ]) => {
    const body = plugin({ min_coding_score });
    const table = (...names: (keyof typeof tiers)[]): Table =>
      Object.fromEntries(names.map((name) => [`x/${name}`, [tiers[name], 1]]));
    expect(choose(setting(table(tier, nearer, farther)), body)).toEqual([`x/${tier}`]);
    expect(choose(setting(table(nearer, farther)), body)).toEqual([`x/${nearer}`]);
    expect(ask(setting(table(farther)), body).stage?.data).toMatchObject({ tier: farther });
  });

  it('chooses only permitted models', () => {
    const body = { provider: { max_price: { prompt: 5 } } };
    expect(choose(where, body)).toEqual(['x/high']);
    expect(choose(where, { provider: { max_price: { prompt: 1 } } })).toEqual(['x/solid']);
  });

  it('is a 404 if no model has a score', () => {
    const none = setting({}, { endpoints: [endpoint('x/unscored@a', { usd: 1 })] });
    expect(refusal(() => choose(none))).toMatchObject({
      status: 404,
      message: 'No coding model of this gateway can serve this request.',
    });
  });

  it(':nitro chooses the fastest first', () => {
    const atMs = Date.now();
    const health = new Health();
    const measure = (id: string, outputTokens: number) =>
      health.record(id, { atMs, error: undefined, durationMs: 1000, outputTokens });
    measure('x/best@a', 50);
    measure('x/edge@a', 200);
    const measured = setting(usual, { health });
    expect(choose(measured, {}, undefined, 'router/pareto-code:nitro')).toEqual(['x/edge', 'x/best', 'x/high']);
    expect(choose(measured, {}, undefined, 'router/pareto-code:floor')[0]).toBe('x/high');
  });

  it('keeps the model of the session while it is in the shortlist', () => {
    expect(choose(where, {}, 'x/best')).toEqual(['x/best', 'x/high', 'x/edge']);
    expect(choose(where, {}, 'x/solid')).toEqual(['x/high', 'x/edge', 'x/best']);
    const four = setting({ 'x/a': [90, 4], 'x/b': [90, 3], 'x/c': [90, 2], 'x/d': [90, 1] });
    expect(choose(four, {}, 'x/a')).toEqual(['x/a', 'x/d', 'x/c']);
  });

  it('puts models without a price last, and orders equal prices by name', () => {
    expect(choose(setting({ 'x/a': [90, undefined], 'x/c': [90, 5], 'x/b': [90, 5] }))).toEqual(['x/b', 'x/c', 'x/a']);
  });

  it('uses the operator’s scores and minimum instead of the catalog’s', () => {
    const models = [
      { slug: 'x/weak', coding_score: 95 },
      { slug: 'x/least', coding_score: 50 },
      { slug: 'gone/away', coding_score: 99 },
    ];
    const own = setting(usual, { routers: { pareto_code: { models } } });
    expect(choose(own)).toEqual(['x/weak']);
    const lenient = setting(usual, { routers: { pareto_code: { models, min_coding_score: 0.5 } } });
    expect(choose(lenient)).toEqual(['x/least']);
    expect(choose(lenient, plugin({ min_coding_score: 1 }))).toEqual(['x/weak']);
  });
});

describe('router/pareto-code with max_price', () => {
  // frontier: f1, f2, f3, f4; d1 is as good as f2 and more expensive, d2 is worse than f3 at its price, d3 is both
  const table: Table = {
    'x/f1': [95, 10],
    'x/f2': [90, 5],
    'x/d1': [90, 6],
    'x/f3': [80, 2],
    'x/d2': [75, 2],
    'x/f4': [60, 1],
    'x/d3': [30, 1.5],
    'x/unknown': [99, undefined],
  };
  const where = setting(table);

  it.each<[number, string[]]>([
    [100, ['x/f1', 'x/f2', 'x/f3', 'x/f4', 'x/d1', 'x/d2', 'x/d3']],
    [10, ['x/f1', 'x/f2', 'x/f3', 'x/f4', 'x/d1', 'x/d2', 'x/d3']],
    [9.99, ['x/f2', 'x/f3', 'x/f4', 'x/d1', 'x/d2', 'x/d3']],
    [5, ['x/f2', 'x/f3', 'x/f4', 'x/d2', 'x/d3']],
    [4, ['x/f3', 'x/f4', 'x/d2', 'x/d3']],
    [1.5, ['x/f4', 'x/d3']],
    [1, ['x/f4']],
  ])('%f USD: the best of the frontier below it, cheaper ones of it, then others: %j', (max_price, expected) => {
    expect(choose(where, plugin({ max_price }))).toEqual(expected);
  });

  it('ignores tiers and min_coding_score', () => {
    const { models, stage } = ask(where, plugin({ max_price: 1.5, min_coding_score: 1 }));
    expect(models).toEqual(['x/f4', 'x/d3']);
    expect(stage?.data).toEqual({ resolved_to: 'x/f4', fallback_models: ['x/d3'], max_price: 1.5 });
  });

  it.each([0, 0.5, 0.999999])('is a 404 if no model is priced at or below %f', (max_price) => {
    expect(refusal(() => choose(where, plugin({ max_price })))).toMatchObject({
      status: 404,
      message: `No coding model of this gateway is priced at or below max_price (${max_price}).`,
      metadata: { max_price },
    });
  });

  it('compares a price with the cap exactly', () => {
    for (const usd of [0.1, 0.15, 0.28, 1.1, 2.675, 3.3]) {
      expect(choose(setting({ 'x/a': [90, usd] }), plugin({ max_price: usd }))).toEqual(['x/a']);
    }
  });

  it('chooses a free model with a cap of 0', () => {
    expect(choose(setting({ 'x/a': [40, 0], 'x/b': [90, 1] }), plugin({ max_price: 0 }))).toEqual(['x/a']);
  });

  it('keeps the model of the session while it is at or below the cap', () => {
    expect(choose(where, plugin({ max_price: 5 }), 'x/d3')).toEqual(['x/d3', 'x/f2', 'x/f3', 'x/f4', 'x/d2']);
    expect(choose(where, plugin({ max_price: 5 }), 'x/f1')).toEqual(['x/f2', 'x/f3', 'x/f4', 'x/d2', 'x/d3']);
  });

  it('uses no endpoint above the cap, and ignores prices of excluded endpoints', () => {
    const models = [{ id: 'x/a', coding_score: 90 }];
    const dear = endpoint('x/a@dear', { usd: 3 });
    const plan = (others: Endpoint[], provider: object = {}) => {
      const body = read({ model: 'router/pareto-code', provider: { ...provider }, ...plugin({ max_price: 1 }) });
      const { endpoints } = planRoute(
        body,
        { workspaceId: 'w' },
        createSetting({ endpoints: [dear, ...others], models }),
      );
      return endpoints.map(({ id }) => id);
    };
    expect(plan([endpoint('x/a@cheap', { usd: 1 })], { order: ['dear'] })).toEqual(['x/a@cheap']);
    const flex = endpoint('x/a@dear/flex', { usd: 0.5, tier: 'flex' });
    expect(refusal(() => plan([flex])).status).toBe(404);
    expect(refusal(() => plan([endpoint('x/a@own', { usd: 0.5, workspace: 'other' })])).status).toBe(404);
    expect(refusal(() => plan([endpoint('x/a@cheap', { usd: 1 })], { ignore: ['cheap'] })).status).toBe(404);
  });

  it('defaults to the operator’s setting', () => {
    const own = setting(table, { routers: { pareto_code: { max_price: 1 } } });
    expect(choose(own)).toEqual(['x/f4']);
    expect(choose(own, plugin({ max_price: 1.5 }))).toEqual(['x/f4', 'x/d3']);
  });

  it('never chooses a model above the cap, or a dominated one before one of the frontier', () => {
    const row = record({ score: integer({ min: 0, max: 8 }), usd: integer({ min: 0, max: 8 }) });
    assert(
      property(array(row, { minLength: 1, maxLength: 8 }), integer({ min: 0, max: 8 }), (rows, max_price) => {
        const drawn = Object.fromEntries(rows.map(({ score, usd }, index) => [`x/m${index}`, [score, usd] as const]));
        const isFrontier = (model: string) => {
          const [score, usd] = drawn[model]!;
          return !rows.some(
            (other) => other.score >= score && other.usd <= usd && (other.score > score || other.usd < usd),
          );
        };
        const below = Object.keys(drawn).filter((model) => drawn[model]![1] <= max_price);
        if (below.length === 0) {
          expect(refusal(() => choose(setting(drawn), plugin({ max_price }))).status).toBe(404);
          return;
        }
        const chosen = choose(setting(drawn), plugin({ max_price }));
        expect(chosen).toHaveLength(below.length);
        expect(chosen.filter((model) => !below.includes(model))).toEqual([]);
        const standings = chosen.map((model) => (isFrontier(model) ? 1000 : 0) + drawn[model]![0]);
        expect(standings).toEqual(standings.toSorted((a, b) => b - a));
        expect(isFrontier(chosen[0]!)).toBe(true);
      }),
    );
  });
});

describe('price_source', () => {
  const table: Table = { 'x/a': [90, 4], 'x/b': [95, 6] };
  const traffic = { inputPrice: (model: string) => (model === 'x/b' ? 1_500_000_000 : undefined) };
  const weighted = { price_source: 'weighted_avg' };

  it('prompt is the list price, and the default', () => {
    expect(choose(setting(table, { traffic }))).toEqual(['x/a', 'x/b']);
    expect(choose(setting(table, { traffic }), plugin({ price_source: 'prompt', max_price: 5 }))).toEqual(['x/a']);
  });

  it('weighted_avg is the price that was paid, or else the list price', () => {
    expect(choose(setting(table, { traffic }), plugin(weighted))).toEqual(['x/b', 'x/a']);
    expect(choose(setting(table, { traffic }), plugin({ ...weighted, max_price: 2 }))).toEqual(['x/b']);
    expect(choose(setting(table), plugin(weighted))).toEqual(['x/a', 'x/b']);
  });

  it('determines the frontier as well', () => {
    expect(choose(setting(table, { traffic }), plugin({ ...weighted, max_price: 4 }))).toEqual(['x/b', 'x/a']);
  });

  it('defaults to the operator’s setting', () => {
    const own = setting(table, { traffic, routers: { pareto_code: { price_source: 'weighted_avg' } } });
    expect(choose(own)[0]).toBe('x/b');
    expect(choose(own, plugin({ price_source: 'prompt' }))[0]).toBe('x/a');
  });
});

it('matches only its slug', () => {
  expect(paretoRouter.takes('router/pareto-code')).toBe(true);
  expect(['router/pareto', 'router/auto'].some(paretoRouter.takes)).toBe(false);
});
