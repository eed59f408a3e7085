import { array, assert, constantFrom, integer, property, record, uniqueArray } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  askRouter,
  type Body,
  createSetting,
  endpoint,
  ladder,
  refusal,
  type Setting,
} from '../../../tests/routing/call-router.ts';
import type { Tool } from '../../domain/items.ts';
import { matchModels } from '../patterns.ts';
import { autoRouter, keepByCost } from './auto.ts';

const plugin = (setting: object): Body => ({ plugins: [{ id: 'auto-router', ...setting }] });
const ask = (setting: Setting, body: Body = {}, more: { remembered?: string; task?: string } = {}) =>
  askRouter(autoRouter, 'router/auto', setting, { body, ...more });
const choose = (...given: Parameters<typeof ask>) => ask(...given).models;
const tell = (...given: Parameters<typeof ask>) => ask(...given).stage?.data;

/** `m1` costs 1, `m2` 2, … */
const models = (count: number) => Array.from({ length: count }, (_, index) => `m${index + 1}`);
const costOf = (model: string) => Number(model.slice(1));
const keep = (count: number, setting: Partial<Parameters<typeof keepByCost>[1]>) =>
  keepByCost(models(count), { costTier: undefined, tradeoff: undefined, ...setting }, costOf);
/** The first and the last kept model, and all between them. */
function span(kept: readonly string[]): [number, number] {
  const costs = kept.map(costOf);
  expect(costs).toEqual(Array.from({ length: costs.length }, (_, index) => costs[0]! + index));
  return [costs[0]!, costs.at(-1)!];
}

describe('the cost bands', () => {
  it.each<[number, Record<string, [number, number]>]>([
    [1, { low: [1, 1], medium: [1, 1], high: [1, 1], xhigh: [1, 1], max: [1, 1] }],
    [2, { low: [1, 1], medium: [1, 1], high: [1, 2], xhigh: [2, 2], max: [2, 2] }],
    [3, { low: [1, 1], medium: [1, 2], high: [2, 2], xhigh: [2, 3], max: [3, 3] }],
    [5, { low: [1, 1], medium: [2, 2], high: [3, 3], xhigh: [4, 4], max: [5, 5] }],
    [10, { low: [1, 2], medium: [3, 4], high: [5, 6], xhigh: [7, 8], max: [9, 10] }],
    [100, { low: [1, 20], medium: [21, 40], high: [41, 60], xhigh: [61, 80], max: [81, 100] }],
  ])('of %i models are %j', (count, expected) => {
    const kept = Object.keys(expected).map((costTier) => [costTier, span(keep(count, { costTier }))]);
    expect(Object.fromEntries(kept)).toEqual(expected);
  });

  it.each([
    [1, { 0: 1, 5: 1, 9: 1, 10: 1 }],
    [2, { 0: 2, 5: 1, 9: 1, 10: 1 }],
    [5, { 0: 5, 5: 3, 9: 1, 10: 1 }],
    [10, { 0: 9, 1: 9, 5: 5, 9: 2, 10: 1 }],
    [100, { 0: 90, 1: 82, 5: 50, 8: 26, 9: 18, 10: 10 }],
  ])('or the ceiling by tradeoff: of %i models %j', (count, expected) => {
    const kept = Object.keys(expected).map((tradeoff) => {
      const [first, last] = span(keep(count, { tradeoff: Number(tradeoff) }));
      expect(first).toBe(1);
      return [tradeoff, last];
    });
    expect(Object.fromEntries(kept)).toEqual(expected);
  });

  it('default to a tradeoff of 9', () => {
    expect(keep(100, {})).toEqual(keep(100, { tradeoff: 9 }));
  });

  it('win over the tradeoff', () => {
    expect(keep(10, { costTier: 'max', tradeoff: 10 })).toEqual(['m9', 'm10']);
  });

  it('keep the order of the models', () => {
    const reversed = models(10).toReversed();
    expect(keepByCost(reversed, { costTier: 'high', tradeoff: undefined }, costOf)).toEqual(['m6', 'm5']);
  });

  it('are nonempty subsets, and the five together contain all models', () => {
    const costs = array(constantFrom(0, 1, 2, 7, 7.5, 1e9, Number.POSITIVE_INFINITY), { minLength: 1, maxLength: 130 });
    assert(
      property(costs, integer({ min: 0, max: 10 }), (list, tradeoff) => {
        const all = list.map((_, index) => `m${index}`);
        const costAt = (model: string) => list[Number(model.slice(1))]!;
        const bands = ['low', 'medium', 'high', 'xhigh', 'max'].map((costTier) =>
          keepByCost(all, { costTier, tradeoff }, costAt),
        );
        const below = keepByCost(all, { costTier: undefined, tradeoff }, costAt);
        for (const kept of [...bands, below]) {
          expect(kept.length).toBeGreaterThan(0);
          expect(all.filter((model) => kept.includes(model))).toEqual(kept);
        }
        expect(new Set(bands.flat()).size).toBe(all.length);
        const dearest = Math.max(...below.map(costAt));
        expect(all.filter((model) => !below.includes(model)).every((model) => costAt(model) >= dearest)).toBe(true);
      }),
    );
  });

  it('are empty without models', () => {
    expect(keep(0, { costTier: 'max' })).toEqual([]);
  });
});

describe('router/auto', () => {
  it('matches only its two slugs', () => {
    expect(['router/auto', 'router/auto-beta'].every(autoRouter.takes)).toBe(true);
    expect(['router/free', 'router/automatic', 'acme/auto', ''].some(autoRouter.takes)).toBe(false);
  });

  it('chooses at most three models, from the cheapest 18 percent by default', () => {
    expect(choose({ endpoints: ladder(100) })).toEqual(['acme/m1', 'acme/m2', 'acme/m3']);
    expect(choose({ endpoints: ladder(10) })).toEqual(['acme/m1', 'acme/m2']);
    expect(choose({ endpoints: ladder(1) })).toEqual(['acme/m1']);
  });

  it.each<[object, string[]]>([
    [{ cost_tier: 'low' }, ['acme/m1', 'acme/m2']],
    [{ cost_tier: 'medium' }, ['acme/m3', 'acme/m4']],
    [{ cost_tier: 'high' }, ['acme/m5', 'acme/m6']],
    [{ cost_tier: 'xhigh' }, ['acme/m7', 'acme/m8']],
    [{ cost_tier: 'max' }, ['acme/m9', 'acme/m10']],
    [{ cost_quality_tradeoff: 0 }, ['acme/m1', 'acme/m2', 'acme/m3']],
    [{ cost_quality_tradeoff: 10 }, ['acme/m1']],
    [{ cost_tier: 'max', cost_quality_tradeoff: 10 }, ['acme/m9', 'acme/m10']],
    [{ cost_tier: 'max', enabled: false }, ['acme/m1', 'acme/m2']],
  ])('of ten models, with %j, chooses %j', (setting, expected) => {
    expect(choose({ endpoints: ladder(10) }, plugin(setting))).toEqual(expected);
  });

  it('computes bands over the remaining models, so that none is empty', () => {
    const body = plugin({ allowed_models: ['acme/m3', 'acme/m7', 'acme/m8'], cost_tier: 'max' });
    expect(choose({ endpoints: ladder(10) }, body)).toEqual(['acme/m8']);
  });

  it('assumes 1,000 input and 500 output tokens without measurements', () => {
    const endpoints = [endpoint('x/output@a', { usd: [1, 10] }), endpoint('x/input@a', { usd: [5, 1] })];
    expect(choose({ endpoints }, plugin({ cost_tier: 'low' }))).toEqual(['x/input']); // 5.5 against 6
  });

  it('prefers measured costs to list prices, and treats unknown ones as the most expensive', () => {
    const endpoints = [...ladder(3), endpoint('acme/unknown@a')];
    expect(choose({ endpoints }, plugin({ cost_tier: 'max' }))).toEqual(['acme/unknown']);
    const traffic = { averageCost: (_: string, model: string) => (model === 'acme/m1' ? 1e12 : undefined) };
    const rankings = { default: ['acme/m1', 'acme/m2', 'acme/m3'] };
    const routers = { auto: { prevent_overrides: false, rankings } };
    expect(choose({ endpoints, traffic, routers }, plugin({ cost_tier: 'max' }))).toEqual(['acme/m1']);
    expect(choose({ endpoints, traffic, routers }, plugin({ cost_tier: 'low' }))).toEqual(['acme/m2']);
  });

  it('never chooses a model without text output, a hidden model, or one that cannot serve the request', () => {
    const endpoints = ladder(4);
    const known = [
      { id: 'acme/m1', output: ['image'] },
      { id: 'acme/m2', hidden: true },
    ];
    const body: Body = { provider: { max_price: { prompt: 3 } }, ...plugin({ cost_quality_tradeoff: 0 }) };
    expect(choose({ endpoints, models: known }, body)).toEqual(['acme/m3']);
  });

  it('chooses models with tool support, or with unknown support, if there are tools', () => {
    const endpoints = [
      endpoint('acme/none@a', { usd: 1, capabilities: { tools: false } }),
      endpoint('acme/listed@a', { usd: 2, parameters: new Set(['temperature']) }),
      endpoint('acme/some@a', { usd: 3, capabilities: { tools: true } }),
      endpoint('acme/unknown@a', { usd: 4 }),
    ];
    const tools = [{ type: 'function', name: 'f', parameters: null } as Tool];
    const all = plugin({ cost_quality_tradeoff: 0 });
    expect(choose({ endpoints }, { ...all, tools })).toEqual(['acme/some', 'acme/unknown']);
    expect(choose({ endpoints }, { ...all, tools: [] })).toContain('acme/none');
    const two = [endpoint('x/a@a', { usd: 1, capabilities: { tools: false } }), endpoint('x/a@b', { usd: 1 })];
    expect(choose({ endpoints: two }, { tools })).toEqual(['x/a']);
    expect(refusal(() => choose({ endpoints: two }, { tools, provider: { ignore: ['b'] } })).status).toBe(404);
  });

  it.each([
    plugin({ allowed_models: ['other/*'] }),
    plugin({ excluded_models: ['*'] }),
    plugin({ allowed_models: ['acme/*'], excluded_models: ['acme/*'] }),
    { provider: { only: ['nobody'] } },
    { provider: { max_price: { prompt: 0.5 } } },
  ])('returns 404 if %j leaves no model', (body) => {
    expect(refusal(() => choose({ endpoints: ladder(5) }, body))).toMatchObject({
      status: 404,
      message: 'No models match your request and model restrictions',
      availability: { requested_models: ['router/auto'], retryable: false },
    });
  });

  it('reports its choice', () => {
    expect(ask({ endpoints: ladder(10) }, plugin({ cost_tier: 'medium' }), { task: 'math' })).toMatchObject({
      task: 'math',
      models: ['acme/m3', 'acme/m4'],
      stage: {
        type: 'router',
        name: 'auto-router',
        summary: 'router/auto chose acme/m3',
        data: {
          task_type: 'math',
          ranking: 'price',
          cost_tier: 'medium',
          candidates: 10,
          resolved_to: 'acme/m3',
          fallback_models: ['acme/m4'],
        },
      },
    });
    expect(tell({ endpoints: ladder(1) })).toMatchObject({ cost_quality_tradeoff: 9, task_type: 'qa_knowledge' });
    expect(tell({ endpoints: ladder(1) }, plugin({ cost_quality_tradeoff: 3 }))).toMatchObject({
      cost_quality_tradeoff: 3,
    });
  });

  it('classifies by words without a classifier model', () => {
    const input = [{ type: 'message', role: 'user', content: 'Translate "bread" into French.' }];
    expect(ask({ endpoints: ladder(1) }, { input })).toMatchObject({ task: 'translation' });
  });
});

describe('patterns of models', () => {
  const endpoints = [
    'anthropic/claude-opus-5',
    'bedrock/claude-opus-5',
    'openai/gpt-5',
    'openai/gpt-5.1',
    'openai/o3',
  ].map((model) => endpoint(`${model}@a`, { usd: 1 }));
  const allow = (...allowed_models: string[]) => {
    const routers = { auto: { prevent_overrides: false, rankings: { default: endpoints.map(({ model }) => model) } } };
    return tell({ endpoints, routers }, plugin({ allowed_models }))?.['candidates'];
  };

  it.each([
    ['anthropic/*', 1],
    ['openai/gpt-5*', 2],
    ['*/claude-*', 2],
    ['openai/gpt-5.1', 1],
    ['OpenAI/GPT-5', 1],
    ['*', 5],
  ])('%s allows %i of five', (pattern, count) => expect(allow(pattern)).toBe(count));

  it('form a union', () => expect(allow('anthropic/*', 'openai/o*')).toBe(2));

  it('allow everything if there are none', () => expect(allow()).toBe(5));

  it('that exclude win over those that allow', () => {
    const names = ['acme/one', 'acme/two', 'acme/one:free', 'other/one', 'other/three'];
    const setting = { endpoints: names.map((model) => endpoint(`${model}@a`, { usd: 1 })) };
    const { choices } = createSetting(setting).catalog;
    const some = uniqueArray(
      constantFrom('*', 'acme/*', '*one', '*/t*', 'acme/one', 'other/one', '*:free', 'ACME/O*'),
      {
        maxLength: 4,
      },
    );
    assert(
      property(record({ allowed: some, excluded: some }), ({ allowed, excluded }) => {
        const permitted = names.filter(
          (id) =>
            (allowed.length === 0 || matchModels(allowed, choices).has(id)) && !matchModels(excluded, choices).has(id),
        );
        const body = plugin({ allowed_models: allowed, excluded_models: excluded, cost_quality_tradeoff: 0 });
        if (permitted.length === 0) expect(refusal(() => choose(setting, body)).status).toBe(404);
        else {
          const chosen = choose(setting, body);
          expect(chosen.filter((id) => !permitted.includes(id))).toEqual([]);
          expect(tell(setting, body)?.['candidates']).toBe(permitted.length);
        }
      }),
    );
  });
});

describe('the ranking', () => {
  const endpoints = ladder(10);
  const rankings = { math: ['acme/m5', 'acme/m2'], default: ['acme/m9', 'acme/m8', 'acme/m1'] };
  const routers = { auto: { prevent_overrides: false, rankings } };
  const rank = (task: string) =>
    task === 'math'
      ? [
          { model: 'acme/m7', share: 0.6 },
          { model: 'acme/m3', share: 0.3 },
          { model: 'gone/away', share: 0.1 },
        ]
      : [];
  const all = plugin({ cost_quality_tradeoff: 0 });
  const told = (setting: Partial<Setting>, task: string, body: Body = all) => {
    const { models, stage } = ask({ endpoints, ...setting }, body, { task });
    return [stage?.data?.['ranking'], ...models];
  };

  it('is that of the ledger: models with more spending on the task come first', () => {
    const three = { rank: () => ['acme/m7', 'acme/m3', 'acme/m5'].map((model) => ({ model, share: 1 / 3 })) };
    expect(told({ traffic: three, routers }, 'math')).toEqual(['ledger', 'acme/m7', 'acme/m3', 'acme/m5']);
  });

  it('contains only permitted models', () => {
    expect(told({ traffic: { rank }, routers }, 'math')).toEqual(['ledger', 'acme/m7', 'acme/m3']);
    const body = plugin({ cost_quality_tradeoff: 0, excluded_models: ['acme/m7'] });
    expect(told({ traffic: { rank }, routers }, 'math', body)).toEqual(['ledger', 'acme/m3']);
  });

  it('is the operator’s for the task if the ledger has none', () => {
    expect(told({ routers }, 'math')).toEqual(['table', 'acme/m5', 'acme/m2']);
  });

  it('is the operator’s default for other tasks, and if no model of the table is permitted', () => {
    expect(told({ traffic: { rank }, routers }, 'translation')).toEqual(['default', 'acme/m9', 'acme/m8', 'acme/m1']);
    const body = plugin({ cost_quality_tradeoff: 0, excluded_models: ['acme/m5', 'acme/m2'] });
    expect(told({ routers }, 'math', body)[0]).toBe('default');
  });

  it('is by price if no source has any of the models', () => {
    expect(told({}, 'math')).toEqual(['price', 'acme/m1', 'acme/m2', 'acme/m3']);
  });

  it('orders the models that the cost filter keeps', () => {
    expect(choose({ endpoints, routers }, plugin({ cost_tier: 'max' }), { task: 'x' })).toEqual(['acme/m9']);
    expect(choose({ endpoints, routers }, plugin({ cost_tier: 'low' }), { task: 'x' })).toEqual(['acme/m1']);
    expect(choose({ endpoints, routers }, plugin({ cost_tier: 'high' }), { task: 'x' })).toEqual(['acme/m8']);
  });
});

describe('the session', () => {
  const endpoints = ladder(10);

  it('puts its previous model first if it is among the chosen ones', () => {
    expect(choose({ endpoints }, {}, { remembered: 'acme/m2' })).toEqual(['acme/m2', 'acme/m1']);
    const all = plugin({ cost_quality_tradeoff: 0 });
    expect(choose({ endpoints }, all, { remembered: 'acme/m3' })).toEqual(['acme/m3', 'acme/m1', 'acme/m2']);
  });

  it('is ignored if its model is not among them', () => {
    const expected = ['acme/m1', 'acme/m2'];
    expect(choose({ endpoints }, {}, { remembered: 'acme/m9' })).toEqual(expected);
    expect(choose({ endpoints }, {}, { remembered: 'gone/away' })).toEqual(expected);
    const all = plugin({ cost_quality_tradeoff: 0 });
    expect(choose({ endpoints }, all, { remembered: 'acme/m4' })).toEqual(['acme/m1', 'acme/m2', 'acme/m3']);
  });
});

describe('pin_model', () => {
  const endpoints = ladder(10);
  const said = (model?: unknown) => ({
    type: 'message',
    role: 'assistant',
    content: 'Hi.',
    ...(model ? { model } : {}),
  });
  const asked = { type: 'message', role: 'user', content: 'And now?', model: 'acme/m4' };
  const pin = (input: unknown[], setting: object = { pin_model: true }): Body => ({ input, ...plugin(setting) });

  it('reuses the model of the last response', () => {
    const made = ask({ endpoints }, pin([said('acme/m3'), asked, said('acme/m8'), asked]));
    expect(made.models).toEqual(['acme/m8']);
    expect(made.stage?.data).toEqual({ pinned: true, resolved_to: 'acme/m8', fallback_models: [] });
  });

  it.each<[string, Body]>([
    ['a model that nobody carries', pin([said('gone/away'), asked])],
    ['a model that may not serve', { ...pin([said('acme/m11')]), provider: { max_price: { prompt: 10 } } }],
    ['no answer that names its model', pin([said(), asked])],
    ['a last answer that does not name its model', pin([said('acme/m8'), asked, said(), asked])],
    ['a model that is no text', pin([said(8), asked])],
    ['no conversation', pin([])],
    ['pin_model: false', pin([said('acme/m8')], { pin_model: false })],
    ['enabled: false', pin([said('acme/m8')], { pin_model: true, enabled: false })],
  ])('chooses as usual with %s', (_, body) => {
    expect(choose({ endpoints: [...endpoints, endpoint('acme/m11@a', { usd: 11 })] }, body)).toEqual([
      'acme/m1',
      'acme/m2',
    ]);
  });

  it('has no effect on router/auto-beta', () => {
    const input = [said('acme/m8')];
    const plugins = ['auto-router', 'auto-beta-router'].map((id) => ({ id, pin_model: true }));
    const { models } = askRouter(autoRouter, 'router/auto-beta', { endpoints }, { body: { input, plugins } });
    expect(models).toEqual(['acme/m1', 'acme/m2']);
  });
});

describe('the settings', () => {
  const endpoints = ladder(10);
  const both = {
    plugins: [
      { id: 'auto-router', cost_tier: 'medium' },
      { id: 'auto-beta-router', cost_tier: 'max' },
    ],
  };

  it('belong to the slug; those of the other slug have no effect', () => {
    const choice = (slug: string) => askRouter(autoRouter, slug, { endpoints }, { body: both });
    expect(choice('router/auto').models[0]).toBe('acme/m3');
    expect(choice('router/auto-beta')).toMatchObject({
      models: ['acme/m9', 'acme/m10'],
      stage: { name: 'auto-beta-router' },
    });
    expect(choice('Router/AUTO-Beta').models[0]).toBe('acme/m9');
  });

  const saved = { allowed_models: ['acme/m1', 'acme/m2', 'acme/m3'], excluded_models: ['acme/m1'], cost_tier: 'max' };
  const keeping = (prevent_overrides: boolean) => ({ endpoints, routers: { auto: { ...saved, prevent_overrides } } });

  it('of the operator apply to fields that the request leaves out', () => {
    expect(choose(keeping(false))).toEqual(['acme/m3']);
    expect(choose(keeping(false), plugin({ cost_tier: 'low' }))).toEqual(['acme/m2']);
    expect(choose(keeping(false), plugin({ allowed_models: ['*'] }))).toEqual(['acme/m9', 'acme/m10']);
    expect(choose(keeping(false), plugin({ cost_tier: 'low', excluded_models: ['acme/m3'] }))).toEqual(['acme/m1']);
    expect(choose(keeping(false), plugin({ cost_tier: 'low', enabled: false }))).toEqual(['acme/m3']);
  });

  it('of the operator are final with prevent_overrides, and those of the request are not an error', () => {
    const body = plugin({ allowed_models: ['*'], excluded_models: ['acme/m9'], cost_tier: 'low' });
    expect(choose(keeping(true), body)).toEqual(['acme/m3']);
  });

  it('of the operator may be a tradeoff', () => {
    const routers = { auto: { cost_quality_tradeoff: 10, prevent_overrides: false } };
    expect(choose({ endpoints, routers })).toEqual(['acme/m1']);
    expect(tell({ endpoints, routers })).toMatchObject({ cost_quality_tradeoff: 10 });
  });
});
