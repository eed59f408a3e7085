import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSlug, withoutVariant } from './slug.ts';

const plain = { variant: undefined, sort: undefined, tiers: [] };

describe('a slug', () => {
  it.each([
    ['acme/one', plain],
    ['acme/one:free', { variant: 'free' }],
    ['acme/one:batch', { variant: 'batch' }],
    ['acme/one:thinking', { variant: 'thinking' }],
    ['acme/one:extended', { variant: 'extended' }],
  ])('%s keeps its catalog variant', (slug, expected) => {
    expect(parseSlug(slug)).toEqual({ ...plain, ...expected, model: slug });
  });

  it.each([
    ['acme/one:nitro', { sort: 'throughput', tiers: ['priority'] }],
    ['acme/one:floor', { sort: 'price', tiers: ['flex'] }],
    ['acme/one:exacto', { sort: 'exacto' }],
    ['acme/one:NITRO', { sort: 'throughput', tiers: ['priority'] }],
    ['acme/one:nitro:floor', { sort: 'price', tiers: ['priority', 'flex'] }],
    ['acme/one:floor:exacto', { sort: 'exacto', tiers: ['flex'] }],
  ])('%s loses its routing suffixes, and the last sort wins', (slug, expected) => {
    expect(parseSlug(slug)).toEqual({ ...plain, ...expected, model: 'acme/one' });
  });

  it.each(['acme/one:free:nitro', 'acme/one:nitro:free'])('%s may have both, in any order', (slug) => {
    expect(parseSlug(slug)).toEqual({
      model: 'acme/one:free',
      variant: 'free',
      sort: 'throughput',
      tiers: ['priority'],
    });
  });

  it.each([
    ['local/llama3.2:3b', 'local/llama3.2:3b'],
    ['local/llama3.2:3b:floor', 'local/llama3.2:3b'],
    ['local/llama3.2:floor:3b', 'local/llama3.2:3b'],
    ['acme/one:other', 'acme/one:other'],
    ['acme/one:constructor', 'acme/one:constructor'],
    ['acme/one:', 'acme/one:'],
    [':', ':'],
    ['', ''],
  ])('%s: an unknown suffix is part of the name', (slug, model) => {
    expect(parseSlug(slug)).toMatchObject({ model, variant: undefined });
  });

  it('keeps its case', () => {
    expect(parseSlug('Acme/One:FREE:Nitro')).toMatchObject({ model: 'Acme/One:FREE', variant: 'free' });
  });

  it('may name a router or an alias', () => {
    expect(parseSlug('router/auto:nitro')).toMatchObject({ model: 'router/auto', sort: 'throughput' });
    expect(parseSlug('~acme/one-latest:floor')).toMatchObject({ model: '~acme/one-latest', sort: 'price' });
  });

  it('without routing suffixes is the same slug again', () => {
    const suffix = constantFrom('free', 'nitro', 'floor', 'exacto', '3b', 'Batch');
    assert(
      property(array(suffix, { maxLength: 5 }), (suffixes) => {
        const parsed = parseSlug(['acme/one', ...suffixes].join(':'));
        expect(parsed.model.split(':')).toEqual([
          'acme/one',
          ...suffixes.filter((each) => !/nitro|floor|exacto/.test(each)),
        ]);
        expect(parseSlug(parsed.model)).toEqual({ ...parsed, sort: undefined, tiers: [] });
      }),
    );
  });
});

describe('the model of a variant', () => {
  it.each([
    ['acme/one', 'acme/one'],
    ['acme/one:free', 'acme/one'],
    ['acme/one:FREE:nitro', 'acme/one'],
    ['local/llama:3b:free', 'local/llama:3b'],
    ['local/llama:3b', 'local/llama:3b'],
  ])('of %s is %s', (slug, model) => expect(withoutVariant(parseSlug(slug))).toBe(model));
});
