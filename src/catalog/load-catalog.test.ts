import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { knownProviders } from '../config/known-providers.ts';
import codingScores from './builtin/coding-scores.json' with { type: 'json' };
import openWeights from './builtin/open-weights.json' with { type: 'json' };
import embeddings from './builtin/embeddings.json' with { type: 'json' };
import images from './builtin/images.json' with { type: 'json' };
import proprietary from './builtin/proprietary.json' with { type: 'json' };
import simulator from './builtin/simulator.json' with { type: 'json' };
import {
  builtinFiles,
  type CatalogSources,
  loadCatalogRecords,
  REFRESHED_FILE,
  readPercentiles,
} from './load-catalog.ts';
import { type CatalogFile, checkCatalogFile, keyOfEndpoint, mergeCatalogFiles } from './records.ts';

const files = Object.entries({ proprietary, 'open-weights': openWeights, images, embeddings, simulator }) as [
  string,
  CatalogFile,
][];
const real = files.filter(([name]) => name !== 'simulator');
const models = files.flatMap(([, file]) => file.models ?? []);
const endpoints = files.flatMap(([, file]) => file.endpoints ?? []);

describe('the built-in catalog', () => {
  it.each(files)('%s.json has the shape of a catalog', (_, file) => {
    expect(checkCatalogFile(file)).toEqual([]);
    expect(builtinFiles).toContain(file);
  });

  it.each([
    'google/gemini-3.8-flash',
    'google/gemini-2.5-pro',
    'openai/gpt-5.6-sol',
  ])('has the prices of the service tiers of %s', (id) => {
    const rows = endpoints.filter(({ model }) => model === id);
    const costOf = (tier?: string) => rows.find((row) => row.tier === tier)!.usd_per_million!;
    for (const name of ['prompt', 'completion', 'cache_read'] as const) {
      expect(Number(costOf('flex')[name])).toBeCloseTo(Number(costOf()[name]) / 2, 9);
      expect(Number(costOf('priority')[name])).toBeCloseTo(
        Number(costOf()[name]) * (id.startsWith('google') ? 1.8 : 2),
        9,
      );
    }
  });

  it.each([
    'anthropic/claude-opus-4.8',
    'anthropic/claude-opus-5',
    'anthropic/claude-opus-5.5',
  ])('has the price of the fast mode of %s', (id) => {
    const rows = endpoints.filter(({ model, provider }) => model === id && provider === 'anthropic');
    const costOf = (tier?: string) => rows.find((row) => row.tier === tier)!.usd_per_million!;
    for (const name of ['prompt', 'completion', 'cache_read', 'cache_write', 'cache_write_1h'] as const)
      expect(Number(costOf('priority')[name])).toBeCloseTo(Number(costOf()[name]) * 2, 9);
  });

  it('has at least 60 models of at least 12 providers, not counting simulators', () => {
    const served = real.flatMap(([, file]) => file.endpoints ?? []);
    expect(new Set(served.map(({ model }) => model)).size).toBeGreaterThanOrEqual(60);
    expect(new Set(served.map(({ provider }) => provider)).size).toBeGreaterThanOrEqual(12);
  });

  it('has the source and the date of every record', () => {
    const records = real.flatMap(([, { models = [], endpoints = [], fees = [] }]) => [
      ...models,
      ...endpoints,
      ...fees,
    ]);
    expect(records.filter(({ source, as_of }) => !source || !as_of)).toEqual([]);
    expect(records.filter(({ as_of }) => Number.isNaN(Date.parse(as_of!)) || as_of! > '2026-12-31')).toEqual([]);
  });

  it('keeps the simulators separate', () => {
    expect(simulator.models.every(({ simulated, id }) => simulated && id.startsWith('simulator/'))).toBe(true);
    expect(real.flatMap(([, file]) => file.models ?? []).filter(({ simulated }) => simulated)).toEqual([]);
  });

  it('names no model and no endpoint twice', () => {
    expect(new Set(models.map(({ id }) => id)).size).toBe(models.length);
    expect(new Set(endpoints.map(keyOfEndpoint)).size).toBe(endpoints.length);
    const slugs = models.flatMap(({ canonical_slug: slug }) => slug ?? []);
    expect(new Set(slugs).size).toBe(slugs.length);
  });

  it('knows the model and the provider of every endpoint', () => {
    const ids = new Set(models.map(({ id }) => id));
    const providers = new Set(['simulator', ...knownProviders.map(({ id }) => id)]);
    expect(endpoints.filter(({ model, provider }) => !ids.has(model) || !providers.has(provider))).toEqual([]);
  });

  it('has fees of providers and models that are there', () => {
    for (const { provider, models: named } of real.flatMap(([, { fees = [] }]) => fees)) {
      const served = endpoints.filter((endpoint) => endpoint.provider === provider).map(({ model }) => model);
      expect(served, provider).not.toEqual([]);
      expect((named ?? []).filter((model) => !served.includes(model))).toEqual([]);
    }
  });

  it('has an endpoint of every model that is not hidden', () => {
    const served = new Set(endpoints.map(({ model }) => model));
    expect(models.filter(({ id, hidden }) => !hidden && !served.has(id)).map(({ id }) => id)).toEqual([]);
  });

  it('has real dates, and prices that rise with the length of the prompt', () => {
    for (const { created, knowledge_cutoff: cutoff } of models) {
      for (const date of [created, cutoff]) if (date !== undefined) expect(Date.parse(date)).not.toBeNaN();
    }
    for (const { above = [], usd_per_million: base = {} } of endpoints) {
      for (const { prompt, completion } of above) {
        if (prompt !== undefined) expect(prompt).toBeGreaterThanOrEqual(base.prompt ?? 0);
        if (completion !== undefined) expect(completion).toBeGreaterThanOrEqual(base.completion ?? 0);
      }
    }
  });

  it('has coding scores of benchmarks that name their source, the newest first', () => {
    const { benchmarks } = codingScores;
    expect(benchmarks.map(({ as_of }) => as_of)).toEqual(
      benchmarks
        .map(({ as_of }) => as_of)
        .toSorted()
        .toReversed(),
    );
    for (const { source, scores } of benchmarks) {
      expect(source).toMatch(/^https:/);
      expect(new Set(scores.map(({ model }) => model)).size).toBe(scores.length);
      expect(scores.every(({ percent }) => percent >= 0 && percent <= 100)).toBe(true);
    }
  });
});

describe('fees', () => {
  const read = (...files: CatalogFile[]) => {
    const { endpoints } = mergeCatalogFiles(files);
    return Object.fromEntries(
      [...endpoints.values()].map(({ model, usd_per_request, usd_per_search, usd_per_searched_request }) => [
        model,
        [usd_per_request, usd_per_search, usd_per_searched_request],
      ]),
    );
  };
  const file: CatalogFile = {
    fees: [
      { provider: 'a', models: ['acme/two'], usd_per_searched_request: 0.03 },
      { provider: 'a', usd_per_search: 0.01, usd_per_request: 0.001 },
    ],
    endpoints: ['one', 'two', 'three'].map((name) => ({ model: `acme/${name}`, provider: 'a' })),
  };

  it('of a provider apply to each of its endpoints that has no record, or no fees of its own', () => {
    const own = { model: 'acme/three', provider: 'a', usd_per_search: 0 };
    expect(read(file, { endpoints: [own] })).toEqual({
      'acme/one': [0.001, 0.01, undefined],
      'acme/two': [undefined, undefined, 0.03],
      'acme/three': [0.001, 0, undefined],
    });
  });

  it('of a later file replace those of an earlier one', () => {
    const later: CatalogFile = { fees: [{ provider: 'a', usd_per_search: 0.5 }] };
    expect(read(file, later)['acme/one']).toEqual([undefined, 0.5, undefined]);
    expect(read(file, later)['acme/two']).toEqual([undefined, 0.5, undefined]);
  });
});

describe('merged files', () => {
  it('replace each other field by field', () => {
    const merged = mergeCatalogFiles([
      {
        models: [{ id: 'acme/one', name: 'One', context_length: 1000, created: '2026-01-01' }],
        endpoints: [
          {
            model: 'acme/one',
            provider: 'a',
            upstream_model: 'one',
            usd_per_million: { prompt: 1, completion: 4, cache_read: 0.1 },
          },
        ],
      },
      {
        models: [{ id: 'acme/one', context_length: 2000 }, { id: 'acme/two' }],
        endpoints: [
          { model: 'acme/one', provider: 'a', usd_per_million: { prompt: 2 } },
          { model: 'acme/one', provider: 'a', tier: 'flex', usd_per_million: { prompt: 0.5, completion: 2 } },
          { model: 'acme/one', provider: 'b' },
        ],
      },
      {
        models: [{ id: 'acme/one', hidden: true }],
        endpoints: [{ model: 'acme/one', provider: 'a', tier: 'default', context_length: 500 }],
      },
    ]);
    expect([...merged.models.values()]).toEqual([
      { id: 'acme/one', name: 'One', context_length: 2000, created: '2026-01-01', hidden: true },
      { id: 'acme/two' },
    ]);
    expect([...merged.endpoints.values()]).toEqual([
      {
        model: 'acme/one',
        provider: 'a',
        tier: 'default',
        upstream_model: 'one',
        usd_per_million: { prompt: 2, completion: 4, cache_read: 0.1 },
        context_length: 500,
      },
      { model: 'acme/one', provider: 'a', tier: 'flex', usd_per_million: { prompt: 0.5, completion: 2 } },
      { model: 'acme/one', provider: 'b' },
    ]);
  });

  it('of no files have no records', () => {
    expect(mergeCatalogFiles([{}, { note: 'Nothing.' }])).toEqual({ models: new Map(), endpoints: new Map() });
  });
});

describe('a file', () => {
  it.each<[unknown, string]>([
    [[], 'the file'],
    [{ models: [{}] }, 'models[0]'],
    [{ models: [{ id: 'one' }] }, 'models[0].id'],
    [{ models: [{ id: 'Acme/One' }] }, 'models[0].id'],
    [{ models: [{ id: 'acme/one' }, { id: 'acme/two', context_length: 0 }] }, 'models[1].context_length'],
    [{ models: [{ id: 'acme/one', created: 'yesterday' }] }, 'models[0].created'],
    [{ models: [{ id: 'acme/one', coding_score: 101 }] }, 'models[0].coding_score'],
    [{ models: [{ id: 'acme/one', contextlength: 5 }] }, 'models[0].contextlength'],
    [{ endpoints: [{ model: 'acme/one' }] }, 'endpoints[0]'],
    [
      { endpoints: [{ model: 'acme/one', provider: 'a', usd_per_million: { prompt: '1' } }] },
      'endpoints[0].usd_per_million.prompt',
    ],
    [
      { endpoints: [{ model: 'acme/one', provider: 'a', usd_per_million: { prompt: -1 } }] },
      'endpoints[0].usd_per_million.prompt',
    ],
    [{ endpoints: [{ model: 'acme/one', provider: 'a', tier: 'fast' }] }, 'endpoints[0].tier'],
  ])('%j is reported with its place: %s', (tree, place) => {
    expect(checkCatalogFile(tree)[0]).toMatch(new RegExp(`^${place.replace(/[[\].]/g, '\\$&')}: .`));
  });

  it('of the right shape has no problems', () => {
    expect(checkCatalogFile({})).toEqual([]);
    expect(
      checkCatalogFile({ models: [{ id: 'acme/one:free' }], endpoints: [{ model: 'acme/one:free', provider: 'a' }] }),
    ).toEqual([]);
  });
});

describe('the catalog of a gateway', () => {
  let dataDir = '';
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'headgate-catalog-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  const write = (name: string, content: unknown): string => {
    const path = join(dataDir, name);
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  };
  function load(sources: Partial<CatalogSources> = {}) {
    const warnings: string[] = [];
    const records = loadCatalogRecords({ builtin: true, dataDir, ...sources }, (message) => warnings.push(message));
    return { records, warnings };
  }
  const { id, name } = proprietary.models[0]!;

  it('is the built-in one, with coding scores, if there is nothing else', () => {
    const { records, warnings } = load();
    expect(records.models.size).toBe(models.length);
    expect(records.endpoints.size).toBe(endpoints.length);
    expect([...records.models.values()].filter((record) => record.coding_score !== undefined).length).toBeGreaterThan(
      5,
    );
    expect(warnings).toEqual([]);
  });

  it('is empty if the built-in one is switched off, and does not have the fetched one either', () => {
    write(REFRESHED_FILE, { models: [{ id: 'new/one' }] });
    const { records } = load({ builtin: false });
    expect(records).toEqual({ models: new Map(), endpoints: new Map() });
  });

  it('applies the fetched records over the built-in ones, and the operator’s over both', () => {
    write(REFRESHED_FILE, {
      models: [
        { id, context_length: 123 },
        { id: 'new/one', name: 'New' },
      ],
    });
    const overrides = write(
      'mine.yaml',
      `models:\n  - id: new/one\n    name: Mine\n  - id: ${id}\n    coding_score: 1.5\n`,
    );
    const { records, warnings } = load({ overrides });
    expect(records.models.get(id)).toMatchObject({ name, context_length: 123, coding_score: 1.5 });
    expect(records.models.get('new/one')).toEqual({ id: 'new/one', name: 'Mine' });
    expect(warnings).toEqual([]);
  });

  it.each([
    ['{"models": [', 'JSON'],
    [{ models: [{ id: 'NO' }] }, 'models[0].id'],
    ['[]', 'the file'],
    ['', 'JSON'],
  ])('skips a malformed fetched file, and reports it: %j', (content, problem) => {
    const path = write(REFRESHED_FILE, content);
    const { records, warnings } = load();
    expect(records.models.size).toBe(models.length);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/"headgate models refresh" replaces it\.$/);
    expect(warnings[0]).toContain(`${path} is skipped: `);
    expect(warnings[0]).toContain(problem);
  });

  it.each([
    ['models: [', 'cannot be read'],
    ['models:\n  - id: NO\n', 'models[0].id'],
    ['- 1\n', 'the file'],
    [
      'endpoints: [{ model: a/b, provider: p, usd_per_million: { prompt: 1000001 } }]',
      'endpoints[0].usd_per_million.prompt: must be <= 1000000, not 1000001',
    ],
    [
      'endpoints: [{ model: a/b, provider: p, usd_per_search: 20000 }]',
      'endpoints[0].usd_per_search: must be <= 10000, not 20000',
    ],
    [
      'endpoints: [{ model: a/b, provider: p, image: { pricing: [{ billable: output_image, unit: token, cost_usd: 2 }] } }]',
      'endpoints[0].image.pricing[0].cost_usd: must be <= 1 for a token, not 2',
    ],
  ])('rejects a malformed file of the operator: %j', (content, problem) => {
    const overrides = write('mine.yaml', content);
    const error = (() => {
      try {
        load({ overrides });
      } catch (caught) {
        return caught as Error;
      }
    })();
    expect(error?.message).toContain(`catalog.overrides: ${overrides}`);
    expect(error?.message).toContain(problem);
  });

  it('rejects a missing file of the operator, and accepts an empty one', () => {
    expect(() => load({ overrides: join(dataDir, 'none.yaml') })).toThrow('cannot be read');
    expect(load({ overrides: write('empty.yaml', '') }).records.models.size).toBe(models.length);
  });
});

describe('the percentile of a coding score', () => {
  const benchmark = (as_of: string, scores: Record<string, number>) => ({
    as_of,
    scores: Object.entries(scores).map(([model, percent]) => ({ model, percent })),
  });
  const read = (...benchmarks: ReturnType<typeof benchmark>[]) => Object.fromEntries(readPercentiles(benchmarks));

  it('is the share of the other models that a model is better than', () => {
    expect(read(benchmark('2026-01-01', { a: 50, b: 80, c: 20, d: 79, e: 10 }))).toEqual({
      a: 50,
      b: 100,
      c: 25,
      d: 75,
      e: 0,
    });
    expect(read(benchmark('2026-01-01', { a: 1, b: 2, c: 3, d: 4 }))).toEqual({ a: 0, b: 33.3, c: 66.7, d: 100 });
  });

  it('is of the newest benchmark that measured the model', () => {
    const newer = benchmark('2026-06-01', { a: 10, b: 20 });
    const older = benchmark('2026-03-01', { a: 90, b: 10, c: 50 });
    expect(read(newer, older)).toEqual({ a: 0, b: 100, c: 50 });
  });

  it('ignores benchmarks that ended half a year before the newest', () => {
    const newest = benchmark('2026-10-01', { a: 10, b: 20 });
    expect(read(newest, benchmark('2026-04-01', { c: 1, d: 2 }))).toEqual({ a: 0, b: 100, c: 0, d: 100 });
    expect(read(newest, benchmark('2026-03-31', { c: 1, d: 2 }))).toEqual({ a: 0, b: 100 });
  });

  it('is absent if nothing was measured', () => {
    expect(read()).toEqual({});
  });
});
