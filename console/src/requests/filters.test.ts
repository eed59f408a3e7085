import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDocument } from '../../../src/openapi/create-document.ts';
import { definedRoutes } from '../../../src/api/routes.ts';
import { parseSearch, stringifySearch } from '../logic/search.ts';
import {
  activeFilters,
  allFilters,
  feedQuery,
  isFollowed,
  listQuery,
  readRequestSearch,
  readSearchText,
} from './filters.ts';

const now = Date.parse('2026-11-30T12:00:30Z');

describe('the filters', () => {
  it('are all conditions of the API', () => {
    const { paths } = createDocument('0', definedRoutes) as {
      paths: Record<string, { get: { parameters: object[] } }>;
    };
    const names = (path: string) =>
      paths[path]!.get.parameters.map((each) => (each as { name: string }).name).filter(
        (name) => !/cursor|last/i.test(name),
      );
    expect(allFilters.map(({ name }) => name).sort()).toEqual(names('/api/v1/generations/live').sort());
  });

  it('survive the URL', () => {
    const names = fc.constantFrom(...allFilters.map(({ name }) => name));
    fc.assert(
      fc.property(fc.dictionary(names, fc.string({ minLength: 1, unit: 'grapheme' })), (search) => {
        expect(readRequestSearch(parseSearch(stringifySearch(search)))).toEqual({ ...search });
      }),
    );
  });

  it('are readable in the URL', () => {
    expect(stringifySearch({ status: '5xx', tag: 'team:search,env:prod', model: 'acme/small', outcome: '' })).toBe(
      '?status=5xx&tag=team:search,env:prod&model=acme/small',
    );
  });

  it('ignore what the list does not know', () => {
    expect(readRequestSearch({ status: '429', evil: 'x', model: '' })).toEqual({ status: '429' });
  });
});

describe('the query', () => {
  it('has the begin of a named range', () => {
    expect(listQuery({ range: '1h', status: '5xx' }, now)).toEqual({
      status: '5xx',
      since: '2026-11-30T11:00:00.000Z',
    });
  });

  it('of the most expensive requests has a range, as the gateway requires', () => {
    expect(listQuery({ sort: 'cost' }, now)).toEqual({ sort: 'cost', since: '2026-11-29T12:00:00.000Z' });
  });

  it('of the live list has only conditions', () => {
    expect(feedQuery({ range: '1h', sort: 'time', model: 'acme/small', columns: 'time' })).toEqual({
      model: 'acme/small',
    });
    expect([{}, { until: '2026-01-01' }, { sort: 'cost' }, { order: 'asc' }].map(isFollowed)).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('the search field', () => {
  it.each([
    ['gen-01ABC', { id: 'gen-01ABC' }],
    ['429', { set: { status: '429' } }],
    ['5xx model:acme/small', { set: { status: '5xx', model: 'acme/small' } }],
    ['acme/small failed', { set: { model: 'acme/small', outcome: 'failed' } }],
    ['team:search env:prod', { set: { tag: 'team:search,env:prod' } }],
    ['error:rate_limited', { set: { error_type: 'rate_limited' } }],
    ['some words', undefined],
    ['  ', undefined],
  ])('reads %s', (text, expected) => expect(readSearchText(text)).toEqual(expected));
});

it('the active filters are in the order of the list', () => {
  expect(activeFilters({ tag: 'a:b', status: '500' }).map(({ name }) => name)).toEqual(['status', 'tag']);
});
