import { describe, expect, it } from 'vitest';
import type { ResponseRequest } from '../domain/request.ts';
import { planRoute } from './plan-route.ts';

const carried: Record<string, string[]> = { one: ['A', 'B'], two: ['C'], three: ['A'] };
const findEndpoints = (slug: string) => (carried[slug] ?? []).map((name) => ({ model: slug, provider: { name } }));

function plan(request: Partial<ResponseRequest>) {
  const { endpoints, ...rest } = planRoute({ input: [], ...request }, findEndpoints);
  return { ...rest, endpoints: endpoints.map(({ model, provider }) => `${model} at ${provider.name}`) };
}

describe('a plan', () => {
  it('names the endpoints of the model, in order', () => {
    expect(plan({ model: 'one' })).toEqual({
      requested: 'one',
      strategy: 'direct',
      endpoints: ['one at A', 'one at B'],
    });
  });

  it('names all endpoints of a model before those of the next', () => {
    expect(plan({ model: 'two', models: ['one', 'three'] })).toEqual({
      requested: 'two',
      strategy: 'fallback',
      endpoints: ['two at C', 'one at A', 'one at B', 'three at A'],
    });
  });

  it('takes each model once', () => {
    expect(plan({ model: 'one', models: ['two', 'one', 'two'] }).endpoints).toEqual([
      'one at A',
      'one at B',
      'two at C',
    ]);
  });

  it('begins with the first of `models` when `model` is absent', () => {
    expect(plan({ models: ['two', 'three'] })).toMatchObject({ requested: 'two', strategy: 'fallback' });
  });

  it.each([
    { models: ['two'] },
    { model: 'two', models: ['two'] },
    { model: 'two', models: [] },
  ])('is direct when %j names one model', (request) => {
    expect(plan(request)).toEqual({ requested: 'two', strategy: 'direct', endpoints: ['two at C'] });
  });

  it.each([
    { model: 'none' },
    { model: 'one', models: ['none'] },
    { models: ['none', 'one'] },
  ])('is refused when a slug of %j is carried by no endpoint', (request) => {
    expect(() => plan(request)).toThrow(
      expect.objectContaining({
        kind: 'model_not_found',
        message: 'none is not a valid model ID: no provider of this gateway carries it.',
        availability: expect.objectContaining({ code: 'model_not_found', requested_models: ['none'] }),
      }),
    );
  });

  it('repeats no more of a slug than a message bears', () => {
    expect(() => plan({ model: 'x'.repeat(10_000) })).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^x{200} is not/) }),
    );
  });
});
