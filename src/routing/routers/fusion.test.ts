import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { askRouter, createSetting, endpoint, refusal, type Setting } from '../../../tests/routing/call-router.ts';
import { listAliases } from '../routing-context.ts';
import { fusionRouter } from './fusion.ts';
import { listFamily } from './latest.ts';

const ids = ['acme/one', 'acme/two', 'acme/three'];
const where: Setting = {
  endpoints: ids.map((id) => endpoint(`${id}@a`, { usd: 1 })),
  routers: {
    latest: [{ alias: '~acme/t-latest', pattern: 'acme/t*' }],
    fusion: {
      panels: {
        quality: { models: ['acme/two', 'acme/none', '~acme/t-latest', 'acme/one'], model: 'acme/none' },
        general_high: { models: ['acme/three', 'acme/one'] },
        general_fast: { models: ['acme/one:nitro'], model: '~acme/t-latest' },
        general_budget: { models: ['~acme/gone-latest', 'acme/none'] },
      },
      model_timeout_ms: 1000,
    },
  },
};
const plan = (slug: string, setting: object = {}, place = where) =>
  askRouter(fusionRouter, slug, place, { body: { plugins: [{ id: 'fusion', ...setting }] } });

describe('router/fusion', () => {
  it('takes the model of the panel, then the models of the panel, if they have a route', () => {
    expect(plan('router/fusion')).toEqual({
      strategy: 'fusion',
      models: ['acme/two', 'acme/one'],
      stage: {
        type: 'router',
        name: 'fusion',
        data: {
          resolved_to: 'acme/two',
          fallback_models: ['acme/one'],
          preset: 'quality',
          analysis_models: where.routers!.fusion!.panels['quality']!.models,
        },
      },
    });
  });

  it.each([
    ['general-high', ['acme/three', 'acme/one']],
    ['general-fast', ['acme/two', 'acme/one']],
  ])('takes the preset %s', (preset, models) => {
    expect(plan('router/fusion', { preset }).models).toEqual(models);
  });

  it('takes the model that the plugin names, also by its alias', () => {
    expect(plan('router/fusion', { model: 'acme/three' }).models).toEqual(['acme/three']);
    expect(plan('router/fusion', { model: '~acme/t-latest' }).models).toEqual(['acme/two']);
    expect(plan('router/fusion', { model: 'acme/three', enabled: false }).models).toEqual(['acme/two', 'acme/one']);
  });

  it('has the preset general-fast as router/fusion-flash, unless the plugin names another', () => {
    expect(plan('Router/Fusion-Flash').models).toEqual(['acme/two', 'acme/one']);
    expect(plan('router/fusion-flash', { preset: 'general-high' }).models).toEqual(['acme/three', 'acme/one']);
  });

  it('is a 404 without a route to any model, and says what to do', () => {
    expect(refusal(() => plan('router/fusion', { preset: 'general-budget' }))).toMatchObject({
      status: 404,
      message: expect.stringMatching(/~acme\/gone-latest, acme\/none.*routers\.fusion\.panels/),
      availability: { code: 'constraint_filtered' },
    });
    expect(refusal(() => plan('router/fusion', { model: 'acme/none' })).message).toContain('acme/none');
  });
});

describe('the built-in panels', () => {
  const { panels } = createSetting({ endpoints: [] }).routers.fusion;
  const records = ['open-weights', 'proprietary'].flatMap((name) => {
    const file = new URL(`../../catalog/builtin/${name}.json`, import.meta.url);
    return (JSON.parse(readFileSync(file, 'utf8')) as { models: { id: string; created: string }[] }).models;
  });
  const catalog = createSetting({ endpoints: records.map(({ id }) => endpoint(`${id}@a`)), models: records });

  it.each(Object.entries(panels))('%s has models of the catalog', (_, { models, model }) => {
    const aliases = listAliases([]);
    for (const slug of [model, ...models]) {
      const alias = aliases.find((each) => each.alias === slug);
      expect(alias, slug).toBeDefined();
      expect(listFamily(alias!, catalog), slug).not.toEqual([]);
    }
  });
});
