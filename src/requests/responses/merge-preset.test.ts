import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../domain/errors.ts';
import type { AppliedPreset, PresetTable } from '../../domain/preset.ts';
import { mayNamePreset, mergePreset } from './merge-preset.ts';

const presetOf = (fields: object, rest: Partial<AppliedPreset> = {}): PresetTable =>
  new Map([['mine', { slug: 'mine', version: 3, status: 'active', fields: JSON.stringify(fields), ...rest }]]);

function merge(body: Record<string, unknown>, presets: PresetTable | undefined): Record<string, unknown> {
  const copy = structuredClone(body);
  expect(mergePreset(copy, presets)).toMatchObject({ slug: 'mine', version: 3 });
  return copy;
}

function refusal(body: Record<string, unknown>, presets: PresetTable | undefined): GatewayError {
  try {
    mergePreset(structuredClone(body), presets);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('It was accepted.');
}

const saved = { model: 'acme/one', temperature: 0.5, text: { verbosity: 'low' } };

describe('a preset', () => {
  it.each<[string, Record<string, unknown>, object]>([
    ['the model', { model: '@preset/mine' }, saved],
    ['the model, in capitals', { model: '@Preset/MINE' }, saved],
    ['the field', { preset: 'mine' }, saved],
    ['both', { model: 'acme/two@preset/mine', preset: 'mine' }, { ...saved, model: 'acme/two' }],
    ['a model with a suffix', { model: 'acme/two:floor@preset/mine' }, { ...saved, model: 'acme/two:floor' }],
  ])('is named by %s', (_, body, merged) => {
    expect(mayNamePreset(body)).toBe(true);
    expect(merge(body, presetOf(saved))).toEqual(merged);
  });

  it('gives way to every field of the request as a whole, but not to null', () => {
    const body = {
      preset: 'mine',
      model: 'acme/two',
      temperature: null,
      text: { format: { type: 'text' } },
      input: 'x',
    };
    const { preset: _, ...rest } = body;
    expect(merge(body, presetOf(saved))).toEqual({ ...rest, temperature: saved.temperature });
  });

  it('is parsed for each request', () => {
    const presets = presetOf({ provider: { order: ['a'] } });
    (merge({ preset: 'mine' }, presets)['provider'] as { order: string[] }).order.push('b');
    expect(merge({ preset: 'mine' }, presets)).toEqual({ provider: { order: ['a'] } });
  });

  it.each<[string, Record<string, unknown>, object]>([
    ['null', { preset: null, model: 'acme/one' }, { preset: null, model: 'acme/one' }],
    ['no preset', { model: 'acme/one' }, { model: 'acme/one' }],
    ['a model with an @', { model: 'acme/one@2' }, { model: 'acme/one@2' }],
    ['a preset that is no text', { preset: 5 }, { preset: 5 }],
  ])('is not used for %s', (_, body, merged) => {
    const copy = structuredClone(body);
    expect(mergePreset(copy, presetOf(saved))).toBeUndefined();
    expect(copy).toEqual(merged);
  });

  it.each(['active', 'disabled', 'archived'] as const)('with the status %s', (status) => {
    const presets = presetOf(saved, { status });
    if (status === 'active') expect(merge({ preset: 'mine' }, presets)).toEqual(saved);
    else {
      expect(refusal({ preset: 'mine' }, presets)).toMatchObject({
        status: 400,
        message: expect.stringContaining(`which is ${status}`),
        metadata: { issues: [{ path: 'preset' }] },
      });
    }
  });

  it.each([undefined, presetOf(saved)])('that is unknown is an error', (presets) => {
    const byModel = refusal({ model: 'acme/one@preset/other' }, presets);
    expect(byModel).toMatchObject({
      kind: 'model_not_found',
      status: 400,
      availability: { code: 'model_not_found' },
      message: expect.stringMatching(/^acme\/one@preset\/other is not a valid model ID: .*"other"/),
    });
    expect(refusal({ preset: 'other' }, presets)).toMatchObject({
      kind: 'invalid_request',
      status: 400,
      metadata: { issues: [{ path: 'preset' }] },
    });
  });

  it('is named once, and not among the fallback models', () => {
    const twice = refusal({ model: '@preset/mine', preset: 'other' }, presetOf(saved));
    expect(twice).toMatchObject({ status: 400, metadata: { issues: [{ path: 'preset' }] } });
    const listed = { models: ['acme/one', '@preset/mine'] };
    expect(mayNamePreset(listed)).toBe(true);
    expect(refusal(listed, presetOf(saved))).toMatchObject({ metadata: { issues: [{ path: 'models[1]' }] } });
  });
});

describe('the tools of a preset', () => {
  const tool = (type: string, more: object = {}) => ({ type, ...more });
  const call = (name: string, description = '') => tool('function', { name, description });

  it.each<[string, saved: unknown, own: unknown, united: unknown]>([
    [
      'keep their order; the same tool of the request takes its place, and others follow',
      [call('a'), call('b'), tool('web_search')],
      [call('c'), call('b', 'mine')],
      [call('a'), call('b', 'mine'), tool('web_search'), call('c')],
    ],
    ['stay if the request has an empty list', [call('a')], [], [call('a')]],
    [
      'are identified by type',
      [tool('router:web_search', { parameters: { max_results: 1 } })],
      [tool('router:web_search', { parameters: { max_results: 9 } })],
      [tool('router:web_search', { parameters: { max_results: 9 } })],
    ],
    [
      'of advisors and subagents are identified by type and name',
      [
        tool('router:advisor', { parameters: { name: 'law' } }),
        tool('router:advisor', { parameters: { name: 'art' } }),
      ],
      [
        tool('router:advisor', { parameters: { name: 'art', model: 'm' } }),
        tool('router:subagent', { parameters: { name: 'art' } }),
      ],
      [
        tool('router:advisor', { parameters: { name: 'law' } }),
        tool('router:advisor', { parameters: { name: 'art', model: 'm' } }),
        tool('router:subagent', { parameters: { name: 'art' } }),
      ],
    ],
    [
      'lose no tool of a request that has two of a kind',
      [tool('mcp', { server_label: 'a' }), tool('file_search')],
      [tool('mcp', { server_label: 'b' }), tool('file_search', { n: 1 }), tool('file_search', { n: 2 })],
      [
        tool('mcp', { server_label: 'a' }),
        tool('file_search', { n: 1 }),
        tool('mcp', { server_label: 'b' }),
        tool('file_search', { n: 2 }),
      ],
    ],
    ['are left to the check of the body if the request has no list', [call('a')], 'none', 'none'],
    ['do not fail for tools that are no objects', [call('a')], [null, 7], [call('a'), null, 7]],
  ])('%s', (_, preset, own, united) => {
    expect(merge({ preset: 'mine', tools: own }, presetOf({ tools: preset }))).toEqual({ tools: united });
  });
});
