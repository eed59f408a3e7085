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
import type { Tool } from '../../domain/items.ts';
import { planRoute } from '../plan-route.ts';
import { seededRandom } from '../routing-context.ts';
import { freeRouter } from './free.ts';

const ask = (setting: Setting, body: Body = {}, remembered?: string) =>
  askRouter(freeRouter, 'router/free', setting, { body, ...(remembered === undefined ? {} : { remembered }) });
const poolOf = (setting: Setting, body?: Body) => ask(setting, body).models.toSorted();

const many: Setting = {
  endpoints: ['a', 'b', 'c', 'd', 'e'].map((name) => endpoint(`x/${name}:free@p`, { usd: 0 })),
};

describe('router/free', () => {
  it('chooses among models whose input, output and request cost nothing', () => {
    const endpoints = [
      endpoint('x/free:free@p', { usd: 0 }),
      endpoint('x/input@p', { usd: [1, 0] }),
      endpoint('x/output@p', { usd: [0, 1] }),
      endpoint('x/unknown@p'),
      endpoint('x/request@p', {
        pricing: { promptNanoUsdPerMillion: 0, completionNanoUsdPerMillion: 0, requestNanoUsd: 1 },
      }),
      endpoint('x/zero@p', { usd: 0 }),
    ];
    expect(poolOf({ endpoints })).toEqual(['x/free:free', 'x/zero']);
  });

  it('and that support the request', () => {
    const facts = { usd: 0, contextLength: 1000 } as const;
    const endpoints = [
      endpoint('x/text@p', { ...facts, capabilities: { input: ['text'], tools: false } }),
      endpoint('x/eyes@p', { ...facts, capabilities: { input: ['text', 'image'], structuredOutputs: false } }),
      endpoint('x/tools@p', { usd: 0, capabilities: { input: ['text'], tools: true, structuredOutputs: true } }),
    ];
    const look = { type: 'message', role: 'user', content: [{ type: 'input_image', image_url: 'data:' }] };
    const long = { type: 'message', role: 'user', content: 'x'.repeat(10_000) };
    const tools = [{ type: 'function', name: 'f', parameters: null } as Tool];
    const format = { type: 'json_schema', name: 'n', schema: {} } as const;
    expect(poolOf({ endpoints })).toEqual(['x/eyes', 'x/text', 'x/tools']);
    expect(poolOf({ endpoints }, { input: [look] })).toEqual(['x/eyes']);
    expect(poolOf({ endpoints }, { input: [long] })).toEqual(['x/tools']);
    expect(poolOf({ endpoints }, { tools })).toEqual(['x/eyes', 'x/tools']);
    expect(poolOf({ endpoints }, { text: { format } })).toEqual(['x/text', 'x/tools']);
    expect(poolOf({ endpoints }, { tools, text: { format } })).toEqual(['x/tools']);
  });

  it('chooses visible, permitted models with text output', () => {
    const endpoints = ['x/image@p', 'x/hidden@p', 'x/kept@q', 'x/good@p'].map((name) => endpoint(name, { usd: 0 }));
    const models = [
      { id: 'x/image', output: ['image'] },
      { id: 'x/hidden', hidden: true },
    ];
    expect(poolOf({ endpoints, models }, { provider: { ignore: ['q'] } })).toEqual(['x/good']);
  });

  it('keeps the suffix of the model', () => {
    expect(ask({ endpoints: [endpoint('upstage/solar-pro-3:free@p', { usd: 0 })] })).toMatchObject({
      models: ['upstage/solar-pro-3:free'],
      stage: {
        type: 'router',
        name: 'free',
        data: { resolved_to: 'upstage/solar-pro-3:free', fallback_models: [], pool: 1 },
      },
    });
  });

  it('draws uniformly, with two fallbacks', () => {
    const random = seededRandom(7);
    const counts = new Map<string, number>();
    for (let count = 0; count < 5000; count++) {
      const { models } = ask({ ...many, random });
      expect(new Set(models).size).toBe(3);
      counts.set(models[0]!, (counts.get(models[0]!) ?? 0) + 1);
    }
    expect(counts.size).toBe(5);
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(120);
  });

  it('keeps the model of the session while it is in the pool', () => {
    for (const remembered of ['x/a:free', 'x/e:free']) {
      const { models } = ask(many, {}, remembered);
      expect(models[0]).toBe(remembered);
      expect(new Set(models).size).toBe(3);
    }
    expect(ask({ ...many, random: () => 0 }, {}, 'gone/away').models).toEqual(['x/a:free', 'x/b:free', 'x/c:free']);
  });

  it('is a 404 if no model is free', () => {
    expect(refusal(() => ask({ endpoints: [endpoint('x/paid@p', { usd: 1 })] }))).toMatchObject({
      status: 404,
      message: 'No free model of this gateway can serve this request.',
    });
  });

  it('never uses a paid endpoint, for any preferences', () => {
    const routingContext = createSetting({
      endpoints: [endpoint('x/a@free', { usd: 0 }), endpoint('x/a@paid', { usd: 5 })],
    });
    const plan = (provider: object) =>
      planRoute(
        read({ model: 'router/free', provider: { ...provider } }),
        { workspaceId: 'w' },
        routingContext,
      ).endpoints.map(({ id }) => id);
    expect(plan({})).toEqual(['x/a@free']);
    expect(plan({ order: ['paid'] })).toEqual(['x/a@free']);
    expect(refusal(() => plan({ ignore: ['free'] })).status).toBe(404);
  });

  it('matches only its slug', () => {
    expect(freeRouter.takes('router/free')).toBe(true);
    expect(freeRouter.takes('router/freedom')).toBe(false);
  });
});
