import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EndpointFacts, Model } from '../../domain/endpoint.ts';
import { inputModalities, outputModalities, parameterNames } from '../../domain/endpoint.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { HealthFigures } from '../../routing/health.ts';
import { modelSorts } from '../../domain/model-sorts.ts';
import { cutPage, filterRows, readModelQuery, sortRows, writeNextLink } from './filters.ts';
import { describeRow, type ModelRow } from '../../routing/model-rows.ts';

const price = fc.option(fc.integer({ min: 0, max: 50 }), { nil: undefined });
const some = (names: readonly string[]) => fc.subarray([...names], { minLength: 1, maxLength: 3 });
const tokens = fc.option(fc.integer({ min: 1, max: 10 }), { nil: undefined });

/** The fields of an endpoint that the list reads. */
const endpoint = fc.record({ provider: fc.constantFrom('first', 'second'), prompt: price, contextLength: tokens }).map(
  ({ provider, prompt, contextLength }) =>
    ({
      id: provider,
      provider: { id: provider, name: provider },
      tag: provider,
      capabilities: {},
      contextLength,
      pricing:
        prompt === undefined ? undefined : { promptNanoUsdPerMillion: prompt * 1e9, completionNanoUsdPerMillion: 1e9 },
    }) as EndpointFacts,
);
const row = fc
  .record({
    author: fc.constantFrom('acme', 'bolt', '~acme'),
    created: fc.integer({ min: 0, max: 5 }),
    parameters: some(parameterNames),
    input: some(inputModalities),
    output: some(outputModalities.slice(0, 3)),
    contextLength: tokens,
    endpoints: fc.array(endpoint, { maxLength: 3 }),
  })
  .map(({ author, endpoints, ...facts }) => ({ author, endpoints, facts }));
const rows = fc.array(row, { maxLength: 30 }).map((all): ModelRow[] =>
  all.map(({ author, endpoints, facts }, index) => {
    const id = `${author}/m${index}`;
    return describeRow({ id, canonicalSlug: id, name: id, maxOutputTokens: undefined, ...facts } as Model, endpoints);
  }),
);
const query = fc.record(
  {
    q: fc.constantFrom('acme', 'm1', 'ACME m', 'nothing'),
    supported_parameters: some(parameterNames).map(String),
    input_modalities: some(inputModalities).map(String),
    output_modalities: fc.oneof(fc.constant('all'), some(outputModalities.slice(0, 3)).map(String)),
    context: fc.integer({ min: 1, max: 10 }).map(String),
    min_price: fc.integer({ min: 0, max: 50 }).map(String),
    max_price: fc.integer({ min: 0, max: 50 }).map(String),
    providers: fc.constantFrom('first', 'second', 'third,first'),
    model_authors: fc.constantFrom('acme', 'bolt', 'acme,bolt'),
    sort: fc.constantFrom(...modelSorts),
  },
  { requiredKeys: [] },
);

const unknown: HealthFigures = {
  uptime5m: null,
  uptime30m: null,
  uptime1d: null,
  latency30m: null,
  throughput30m: null,
};
/** The first provider is fast, the others are unknown. */
const figures = (id: string): HealthFigures => {
  const all = (value: number) => ({ p50: value, p75: value, p90: value, p99: value });
  return id === 'first' ? { ...unknown, latency30m: all(100), throughput30m: all(50) } : unknown;
};

type Next = { offset: number; limit: number } | null;

describe('filters', () => {
  it('keep a row exactly if each of them alone keeps it', () => {
    fc.assert(
      fc.property(rows, query, (all, asked) => {
        const kept = filterRows(all, readModelQuery(asked));
        const alone = Object.entries({ output_modalities: 'text', ...asked }).map(([name, value]) =>
          filterRows(all, readModelQuery({ output_modalities: 'all', [name]: value })),
        );
        expect(kept).toEqual(all.filter((each) => alone.every((list) => list.includes(each))));
      }),
    );
  });

  it('work as named', () => {
    fc.assert(
      fc.property(rows, query, (all, asked) => {
        for (const kept of filterRows(all, readModelQuery(asked))) {
          const prompt = kept.top?.pricing?.promptNanoUsdPerMillion;
          if (asked.max_price !== undefined) expect(prompt).toBeLessThanOrEqual(Number(asked.max_price) * 1e9);
          if (asked.min_price !== undefined) expect(prompt).toBeGreaterThanOrEqual(Number(asked.min_price) * 1e9);
          if (asked.context !== undefined) expect(kept.contextLength).toBeGreaterThanOrEqual(Number(asked.context));
          expect(kept.parameters).toEqual(expect.arrayContaining(asked.supported_parameters?.split(',') ?? []));
          expect(kept.input).toEqual(expect.arrayContaining(asked.input_modalities?.split(',') ?? []));
          const makes = asked.output_modalities?.split(',') ?? ['text'];
          expect(makes.includes('all') || makes.some((name) => kept.output.includes(name))).toBe(true);
        }
      }),
    );
  });

  it('sort without losing a row, rows without a figure last, independent of the order before', () => {
    fc.assert(
      fc.property(rows, fc.constantFrom(...modelSorts), (all, sort) => {
        const sorted = sortRows(all, sort, figures);
        expect(sorted.toSorted((a, b) => (a.model.id < b.model.id ? -1 : 1))).toEqual(
          all.toSorted((a, b) => (a.model.id < b.model.id ? -1 : 1)),
        );
        expect(sortRows(all.toReversed(), sort, figures)).toEqual(sorted);
        const figure = ({ top, contextLength, endpoints, model }: ModelRow): number | undefined => {
          if (sort.startsWith('pricing')) return top?.pricing?.promptNanoUsdPerMillion;
          if (sort.startsWith('context')) return contextLength;
          if (sort === 'newest' || sort === 'most-popular') return model.created;
          return endpoints.some(({ id }) => id === 'first') ? 1 : undefined;
        };
        const read = sorted.map(figure);
        const known = read.filter((value) => value !== undefined);
        expect(read.slice(0, known.length)).toEqual(known);
        const direction = sort.endsWith('low-to-high') ? 1 : -1;
        expect(known).toEqual(known.toSorted((a, b) => direction * (a - b)));
      }),
    );
  });

  it('make pages that together are the list', () => {
    fc.assert(
      fc.property(fc.array(fc.integer(), { maxLength: 60 }), fc.integer({ min: 1, max: 20 }), (list, limit) => {
        const pages: number[] = [];
        let next: Next = { offset: 0, limit };
        while (next) {
          const cut: { page: readonly number[]; next: Next } = cutPage(list, next);
          expect(cut.page.length).toBeLessThanOrEqual(limit);
          pages.push(...cut.page);
          next = cut.next;
        }
        expect(pages).toEqual(list);
      }),
    );
  });

  it('read any query, or reject it with the invalid parameters', () => {
    const value = fc.oneof(fc.string(), fc.array(fc.string(), { maxLength: 3 }), fc.constant(undefined));
    const names = ['q', 'context', 'limit', 'offset', 'min_price', 'sort', 'providers', 'output_modalities', 'odd'];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value), (asked) => {
        try {
          const { limit = 1, offset = 0, context = 1 } = readModelQuery(asked);
          expect(limit >= 1 && limit <= 1000 && offset >= 0 && context >= 1).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError);
          const { kind, metadata } = error as GatewayError; // checked above
          expect(kind).toBe('invalid_request');
          for (const { path } of metadata['issues'] as { path: string }[]) expect(Object.keys(asked)).toContain(path);
        }
      }),
    );
  });
});

describe('the page', () => {
  const list = Array.from({ length: 1200 }, (_, index) => index);

  it('is the whole list without offset and limit', () => {
    expect(cutPage(list, readModelQuery({}))).toEqual({ page: list, next: null });
  });

  it('has 500 rows with an offset only', () => {
    const { page, next } = cutPage(list, readModelQuery({ offset: '100' }));
    expect([page.length, page[0], next]).toEqual([500, 100, { offset: 600, limit: 500 }]);
  });

  it('links to the next with the same filters', () => {
    const asked = { q: 'a b', providers: ['x', 'y'], limit: '2', unknown: 'z' };
    expect(writeNextLink('/api/v1/models', asked, { offset: 2, limit: 2 })).toBe(
      '/api/v1/models?q=a+b&providers=x&providers=y&offset=2&limit=2',
    );
    expect(writeNextLink('/api/v1/models', asked, null)).toBeNull();
  });
});
