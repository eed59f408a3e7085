import { describe, expect, it } from 'vitest';
import { askRouter, createSetting, endpoint, read, refusal, type Setting } from '../../../tests/routing/call-router.ts';
import type { ModelRecord } from '../../catalog/records.ts';
import { planRoute } from '../plan-route.ts';
import { latestRouter, listFamily } from './latest.ts';

const family = { alias: '~acme/one-latest', pattern: 'acme/one-*' };
const setting = (models: ModelRecord[], more: Partial<Setting> = {}): Setting => ({
  endpoints: models.map(({ id }) => endpoint(`${id}@a`, { usd: 1 })),
  models,
  routers: { latest: [family] },
  ...more,
});
const target = (where: Setting, slug = family.alias, body = {}) =>
  askRouter(latestRouter, slug, where, { body }).models;

const dated = [
  { id: 'acme/one-9', created: '2025-12-31' },
  { id: 'acme/one-10', created: '2026-06-01' },
  { id: 'acme/one-2', created: '2024-01-01' },
  { id: 'acme/two-99', created: '2026-11-01' },
  { id: 'other/one-99', created: '2026-11-01' },
];

describe('~author/family-latest', () => {
  it('is the newest model of the family', () => {
    expect(askRouter(latestRouter, family.alias, setting(dated))).toMatchObject({
      models: ['acme/one-10'],
      stage: {
        type: 'router',
        name: 'latest',
        data: { alias: '~acme/one-latest', resolved_to: 'acme/one-10' },
      },
    });
  });

  it('is the last by name among models of the same day', () => {
    const models = ['acme/one-a', 'acme/one-c', 'acme/one-b'].map((id) => ({ id, created: '2026-01-01' }));
    expect(listFamily(family, createSetting(setting(models)))).toEqual(['acme/one-c', 'acme/one-b', 'acme/one-a']);
  });

  it('is never a hidden model, an excluded model or a variant', () => {
    const models = [
      { id: 'acme/one-3', created: '2026-03-01', hidden: true },
      { id: 'acme/one-mini', created: '2026-02-01' },
      { id: 'acme/one-1:free', created: '2026-01-02' },
      { id: 'acme/one-1', created: '2026-01-01' },
    ];
    const where = setting(models, { routers: { latest: [{ ...family, exclude: ['*mini*'] }] } });
    expect(target(where)).toEqual(['acme/one-1']);
  });

  it('is the newest that may serve this request, if any may', () => {
    const endpoints = dated.map(({ id }) => endpoint(`${id}@${id === 'acme/one-10' ? 'b' : 'a'}`, { usd: 1 }));
    const where = setting(dated, { endpoints });
    expect(target(where, family.alias, { provider: { ignore: ['b'] } })).toEqual(['acme/one-9']);
    expect(target(where, family.alias, { provider: { only: ['nobody'] } })).toEqual(['acme/one-10']);
  });

  it('is a 404 if the family is empty', () => {
    const none = setting([{ id: 'acme/two', created: '2026-01-01' }]);
    expect(refusal(() => target(none))).toMatchObject({
      status: 404,
      message: expect.stringContaining('This gateway has no model of the family ~acme/one-latest'),
      availability: { code: 'no_endpoints' },
    });
  });

  it('is a 400 if the alias is unknown', () => {
    expect(refusal(() => target(setting(dated), '~acme/two-latest'))).toMatchObject({
      kind: 'model_not_found',
      status: 400,
    });
  });

  it('ignores case', () => {
    expect(target(setting(dated), '~ACME/One-Latest')).toEqual(['acme/one-10']);
    const where = setting(dated, { routers: { latest: [{ alias: '~Acme/One-Latest', pattern: 'ACME/one-*' }] } });
    expect(target(where)).toEqual(['acme/one-10']);
  });

  it('of the operator overrides the built-in one of the same name', () => {
    const models = [
      { id: 'anthropic/claude-opus-5', created: '2026-01-01' },
      { id: 'acme/opus', created: '2020-01-01' },
    ];
    const alias = '~anthropic/claude-opus-latest';
    expect(target(setting(models), alias)).toEqual(['anthropic/claude-opus-5']);
    const own = setting(models, { routers: { latest: [{ alias, pattern: 'acme/opus' }] } });
    expect(target(own, alias)).toEqual(['acme/opus']);
    expect(target(setting(models, { routers: { latest: [family] } }), alias)).toEqual(['anthropic/claude-opus-5']);
  });

  it('is an alias in the plan, so that unsupported settings are adjusted', () => {
    const routingContext = createSetting(setting(dated));
    const plan = planRoute(read({ model: `${family.alias}:floor` }), { workspaceId: 'w' }, routingContext);
    expect(plan).toMatchObject({
      requested: '~acme/one-latest:floor',
      strategy: 'latest',
      endpoints: [{ id: 'acme/one-10@a' }],
    });
    expect(plan.choiceOf(plan.endpoints[0]!)?.isAlias).toBe(true);
    const named = planRoute(read({ model: 'acme/one-10' }), { workspaceId: 'w' }, routingContext);
    expect(named.choiceOf(named.endpoints[0]!)).toBeUndefined();
  });

  it('matches slugs that start with a tilde', () => {
    expect(latestRouter.takes('~x/y')).toBe(true);
    expect(latestRouter.takes('x/~y')).toBe(false);
  });
});
