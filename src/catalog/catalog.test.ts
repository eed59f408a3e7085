import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../providers/provider.ts';
import { createCatalog } from './catalog.ts';

/** The fields of an endpoint that the catalog reads. */
const endpoint = (provider: string, model: string, upstreamModel = model): Endpoint =>
  ({ id: `${model}@${provider}`, provider: { name: provider, wire: {} }, model, upstreamModel }) as Endpoint;

const found = (endpoints: Endpoint[], slug: string): string[] =>
  createCatalog(endpoints)
    .find(slug)
    .map(({ provider, model, upstreamModel }) => `${provider.name}: ${model} → ${upstreamModel}`);

describe('a catalog', () => {
  it('finds all endpoints of a slug, in the order of the configuration', () => {
    const endpoints = [endpoint('A', 'x/one'), endpoint('B', 'x/two'), endpoint('C', 'x/one', 'uno')];
    expect(found(endpoints, 'x/one')).toEqual(['A: x/one → x/one', 'C: x/one → uno']);
    expect(found(endpoints, 'x/three')).toEqual([]);
  });

  it('finds exact endpoints before wildcards', () => {
    const endpoints = [endpoint('A', 'x/*', '*'), endpoint('B', 'x/one'), endpoint('C', '*', '*')];
    expect(found(endpoints, 'x/one')).toEqual(['B: x/one → x/one', 'A: x/one → one', 'C: x/one → x/one']);
  });

  it.each([
    ['x/*', '*', 'x/y/z', 'y/z'],
    ['x/*', 'real-*-1', 'x/y', 'real-y-1'],
    ['*-mini', '*', 'gpt-mini', 'gpt'],
    ['x/*:free', '*', 'x/y:free', 'y'],
    ['*', 'always-the-same', 'x', 'always-the-same'],
    ['x/*', '*', 'x/$&', '$&'],
  ])('reads %s → %s for %s as %s', (model, upstreamModel, slug, upstream) => {
    expect(found([endpoint('A', model, upstreamModel)], slug)).toEqual([`A: ${slug} → ${upstream}`]);
  });

  it.each([
    ['x/*', 'x/'],
    ['x/*', 'y/z'],
    ['a*a', 'a'],
    ['a*a', 'aa'],
    ['*', ''],
  ])('does not match %s with "%s": the star stands for at least one character', (model, slug) => {
    expect(found([endpoint('A', model, '*')], slug)).toEqual([]);
  });

  it('compares slugs in lower case, and passes on what the star matched unchanged', () => {
    const endpoints = [endpoint('A', 'X/One'), endpoint('B', 'Local/*', '*')];
    expect(found(endpoints, 'x/oNE')).toEqual(['A: X/One → X/One']);
    expect(found(endpoints, 'LOCAL/Qwen')).toEqual(['B: LOCAL/Qwen → Qwen']);
  });

  it('returns the same endpoints each time, so that a caller can compare them', () => {
    const catalog = createCatalog([endpoint('A', 'x/*', '*')]);
    expect(catalog.find('x/y')[0]).toBe(catalog.find('x/y')[0]);
  });

  it('does not grow with slugs that no endpoint carries', () => {
    const catalog = createCatalog([endpoint('A', 'x/*', '*')]);
    for (let count = 0; count < 20_000; count++) expect(catalog.find(`y/${count}`)).toEqual([]);
    expect(catalog.find('x/y')).toHaveLength(1);
  });
});
