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
import { planRoute } from '../plan-route.ts';
import { bodybuilderRouter } from './bodybuilder.ts';

const ask = (setting: Setting, body: Body = {}) =>
  askRouter(bodybuilderRouter, 'router/bodybuilder', setting, { body });

const endpoints = [
  endpoint('x/dear@a', { usd: 9 }),
  endpoint('x/cheap@a', { usd: 1 }),
  endpoint('x/loose@a', { usd: 0.1, capabilities: { structuredOutputs: false } }),
  endpoint('x/list@a', { usd: 0.2, parameters: new Set(['temperature']) }),
  endpoint('x/unknown@a'),
  endpoint('x/image@a', { usd: 0 }),
];
const models = [{ id: 'x/image', output: ['image'] }];

describe('the model that writes', () => {
  it('is the cheapest one with JSON schemas, and the response is free', () => {
    expect(ask({ endpoints, models })).toMatchObject({
      models: ['x/cheap'],
      isFree: true,
      stage: { type: 'router', name: 'bodybuilder', data: { resolved_to: 'x/cheap', models: 6 } },
    });
  });

  it('must be permitted for this request', () => {
    const elsewhere = endpoint('x/cheapest@b', { usd: 0.5 });
    const setting = { endpoints: [...endpoints, elsewhere], models };
    expect(ask(setting).models).toEqual(['x/cheapest']);
    expect(ask(setting, { provider: { ignore: ['b'] } }).models).toEqual(['x/cheap']);
  });

  it('is the operator’s choice', () => {
    expect(ask({ endpoints, models, routers: { bodybuilder: { model: 'x/dear' } } }).models).toEqual(['x/dear']);
  });

  it('must exist, or the response is a 404 with the remedy', () => {
    const none = { endpoints: [endpoint('x/loose@a', { capabilities: { structuredOutputs: false } })] };
    expect(refusal(() => ask(none))).toMatchObject({
      status: 404,
      message: 'No model of this gateway can write request bodies; set routers.bodybuilder.model.',
    });
  });

  it('is free in the plan, unlike other models of the request', () => {
    const body = read({ models: ['x/dear', 'router/bodybuilder'] });
    const plan = planRoute(body, { workspaceId: 'w' }, createSetting({ endpoints, models }));
    const choices = plan.endpoints.map((each) => [each.model, plan.choiceOf(each)]);
    expect(choices).toMatchObject([
      ['x/dear', undefined],
      ['x/cheap', { isFree: true, router: 'router/bodybuilder', rewrite: expect.any(Function) }],
    ]);
  });
});

describe('the request that it gets', () => {
  function rewrite(body: Body) {
    const request = read(body);
    const before = structuredClone(request);
    const written = ask({ endpoints, models }).rewrite!(request);
    expect(request).toEqual(before);
    return written;
  }
  const user = { type: 'message', role: 'user', content: 'Ask Cheap and Dear for a haiku.' };

  it('requests bodies in a schema', () => {
    const { instructions, input, text } = rewrite({ input: [user] });
    expect(input).toEqual([user]);
    expect(instructions).toContain('Do not do the task.');
    expect(instructions).not.toContain('word for word');
    expect(text?.format).toMatchObject({
      type: 'json_schema',
      strict: true,
      schema: { required: ['requests'], properties: { requests: { items: { required: ['model', 'messages'] } } } },
    });
  });

  it('lists the models of the gateway, at most 400', () => {
    expect(rewrite({ input: [user] }).instructions).toContain('Models:\nx/dear\nx/cheap\n');
    const many = { endpoints: Array.from({ length: 500 }, (_, index) => endpoint(`many/m${index}@a`, { usd: 1 })) };
    expect(ask(many).rewrite!(read({ input: [user] })).instructions?.match(/^many\/m\d+$/gm)).toHaveLength(400);
  });

  it('moves the system messages from the input to the instructions', () => {
    const system = { type: 'message', role: 'system', content: 'Be brief.' };
    const developer = { type: 'message', role: 'developer', content: 'No emoji.' };
    const { instructions, input } = rewrite({ instructions: 'Be kind.', input: [system, user, developer] });
    expect(input).toEqual([user]);
    const [, kept] = instructions!.split('word for word:\n');
    expect(kept).toMatch(/^Be kind\.\n.*Be brief\..*\n.*No emoji\./);
  });

  it('keeps the other fields of text', () => {
    expect(rewrite({ input: [user], text: { verbosity: 'low' } }).text).toMatchObject({
      verbosity: 'low',
      format: { type: 'json_schema' },
    });
  });
});

it('matches only its slug', () => {
  expect(bodybuilderRouter.takes('router/bodybuilder')).toBe(true);
  expect(bodybuilderRouter.takes('router/body')).toBe(false);
});
