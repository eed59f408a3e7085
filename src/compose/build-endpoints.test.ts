import { describe, expect, it } from 'vitest';
import { createCatalog } from '../catalog/catalog.ts';
import { type CatalogFile, mergeCatalogFiles } from '../catalog/records.ts';
import { loadConfig } from '../config/load.ts';
import type { ModelConfig, ProviderConfig } from '../config/schema.ts';
import { settingsOf } from '../providers/provider.ts';
import { buildEndpoints } from './build-endpoints.ts';

const { config: bare } = loadConfig({ env: { HEADGATE_CATALOG_SIMULATOR: 'false' }, cwd: import.meta.dirname });
const base = { wire: 'openai-chat', base_url: 'http://localhost:1/v1' } as const;

const catalogFile: CatalogFile = {
  models: [
    {
      id: 'openai/one',
      name: 'One',
      created: '2026-01-01',
      context_length: 1000,
      max_output_tokens: 100,
      input: ['text', 'image'],
      output: ['text'],
      parameters: ['tools', 'temperature'],
      reasoning: { mandatory: true },
      distillable: true,
    },
    { id: 'openai/two', context_length: 2000 },
    { id: 'openai/old' },
    { id: 'else/three', context_length: 3000 },
  ],
  endpoints: [
    {
      model: 'openai/one',
      provider: 'openai',
      upstream_model: 'one-2026',
      context_length: 900,
      quantization: 'fp8',
      usd_per_million: { prompt: 1, completion: 4, cache_read: 0.1 },
      usd_per_search: 0.01,
      above: [
        { prompt_tokens: 500, prompt: 3 },
        { prompt_tokens: 200, prompt: 2 },
      ],
      retains_data: true,
      trains_on_data: false,
    },
    { model: 'openai/one', provider: 'openai', tier: 'flex', usd_per_million: { prompt: 0.5, completion: 2 } },
    { model: 'openai/one', provider: 'openai', tier: 'priority', usd_per_million: { prompt: 2, completion: 8 } },
    { model: 'openai/two', provider: 'openai', usd_per_million: { prompt: 1 } },
    { model: 'openai/old', provider: 'openai', hidden: true },
    { model: 'else/three', provider: 'openai', upstream_model: 'three' },
    { model: 'else/three', provider: 'groq', upstream_model: 'groq-three' },
  ],
};

type Entry = Partial<Omit<ProviderConfig, 'models'>> & { models: (string | ModelConfig)[] };

function build(...entries: Entry[]) {
  const providers = entries.map(({ models, ...entry }) => ({
    id: 'openai',
    ...base,
    ...entry,
    models: models.map((model) => (typeof model === 'string' ? { model } : model)),
  }));
  return buildEndpoints({ ...bare, providers }, mergeCatalogFiles([catalogFile]));
}
const ids = (...entries: Entry[]) => build(...entries).endpoints.map(({ id }) => id);
const only = (model: string | ModelConfig, entry: Partial<Entry> = {}) =>
  build({ ...entry, models: [model] }).endpoints[0]!;

describe('which endpoints there are', () => {
  it('are the models of the entry alone, where it names models', () => {
    expect(ids({ models: ['openai/two', 'openai/one'] })).toEqual(['openai/two@openai', 'openai/one@openai']);
  });

  it('are all of the catalog as well, where it passes on every model of its own name', () => {
    expect(ids({ models: ['openai/*'] })).toEqual([
      'openai/*@openai',
      'openai/one@openai',
      'openai/one@openai/flex',
      'openai/one@openai/priority',
      'openai/two@openai',
      'else/three@openai',
    ]);
  });

  it.each([['else/*'], ['*'], ['openai/o*']])('%s is not the provider’s own name', (pattern) => {
    expect(ids({ models: [pattern] })).toEqual([`${pattern}@openai`]);
  });

  it('are hidden ones only where the entry names them', () => {
    expect(ids({ models: ['openai/*'] })).not.toContain('openai/old@openai');
    expect(ids({ models: ['openai/old'] })).toEqual(['openai/old@openai']);
  });

  it('are found in place of the wildcard, which takes the models that nobody lists', () => {
    const { endpoints, models } = build({ models: ['openai/*'] });
    const catalog = createCatalog(endpoints, models, mergeCatalogFiles([catalogFile]));
    expect(catalog.find('openai/one').map(({ id }) => id)).toEqual([
      'openai/one@openai',
      'openai/one@openai/flex',
      'openai/one@openai/priority',
    ]);
    expect(catalog.find('openai/new').map(({ upstreamModel }) => upstreamModel)).toEqual(['new']);
    expect(catalog.find('else/three').map(({ upstreamModel }) => upstreamModel)).toEqual(['three']);
    expect(catalog.models.map(({ id }) => id)).toEqual(['openai/one', 'openai/two', 'else/three']);
  });

  it('are the other tiers of a model, too, that the entry names in one', () => {
    expect(ids({ models: ['openai/one', { model: 'openai/two', tier: 'flex' }, 'openai/*'] })).toEqual([
      'openai/one@openai',
      'openai/two@openai/flex',
      'openai/*@openai',
      'openai/one@openai/flex',
      'openai/one@openai/priority',
      'openai/two@openai',
      'else/three@openai',
    ]);
  });

  it('have ids of their own, whatever is written twice', () => {
    expect(ids({ models: ['openai/one', 'openai/one', 'openai/one'] })).toEqual([
      'openai/one@openai',
      'openai/one@openai#2',
      'openai/one@openai#3',
    ]);
  });
});

describe('what is known of an endpoint', () => {
  it('is from the catalog, the endpoint before the model', () => {
    expect(only('openai/one')).toMatchObject({
      model: 'openai/one',
      upstreamModel: 'one-2026',
      tag: 'openai',
      tier: undefined,
      contextLength: 900,
      maxOutputTokens: 100,
      quantization: 'fp8',
      parameters: new Set(['tools', 'temperature']),
      capabilities: { input: ['text', 'image'], output: ['text'], tools: undefined },
      reasoning: { mandatory: true },
      retainsData: true,
      trainsOnData: false,
      distillable: true,
      pricing: {
        promptNanoUsdPerMillion: 1_000_000_000,
        completionNanoUsdPerMillion: 4_000_000_000,
        cacheReadNanoUsdPerMillion: 100_000_000,
        webSearchNanoUsd: 10_000_000,
        above: [
          { promptTokens: 200, promptNanoUsdPerMillion: 2_000_000_000 },
          { promptTokens: 500, promptNanoUsdPerMillion: 3_000_000_000 },
        ],
      },
    });
  });

  it('has each price that the configuration writes over the catalog, one beyond a length and one for a picture too', () => {
    const pricing = { image: 0.04, above: [{ prompt_tokens: 900, prompt: 0.000009 }] };
    expect(only({ model: 'openai/one', pricing }).pricing).toMatchObject({
      promptNanoUsdPerMillion: 1_000_000_000,
      imageNanoUsd: 40_000_000,
      above: [{ promptTokens: 900, promptNanoUsdPerMillion: 9_000_000_000 }],
    });
  });

  it('has both main prices or none: a price for pictures alone is refused where nobody knows the others', () => {
    const written = { model: 'nobody/knows', upstream_model: 'm', pricing: { image: 0.04 } };
    expect(() => only(written)).toThrow(
      'The pricing of nobody/knows has no prompt and no completion: write them, 0 when it costs nothing.',
    );
  });

  it('is what the configuration says, field by field', () => {
    const written: ModelConfig = {
      model: 'openai/one',
      upstream_model: 'mine',
      context_length: 5,
      max_output_tokens: 6,
      max_prompt_tokens: 7,
      quantization: 'int4',
      supported_parameters: ['top_k'],
      distillable: false,
      capabilities: { input: ['text'], tools: true },
      pricing: { prompt: 0.000007, completion: '0.000008' },
    };
    const endpoint = only(written, { data_policy: { retains: false, trains: true } });
    expect(endpoint).toMatchObject({
      upstreamModel: 'mine',
      contextLength: 5,
      maxOutputTokens: 6,
      maxPromptTokens: 7,
      quantization: 'int4',
      parameters: new Set(['top_k']),
      distillable: false,
      capabilities: { input: ['text'], output: ['text'], tools: true },
      retainsData: false,
      trainsOnData: true,
    });
    expect(endpoint.pricing).toEqual({
      promptNanoUsdPerMillion: 7_000_000_000,
      completionNanoUsdPerMillion: 8_000_000_000,
    });
    expect(only({ model: 'openai/one', context_length: 5 })).toMatchObject({ contextLength: 5, quantization: 'fp8' });
  });

  it('is found whatever the case of the slug, which stays as it was written', () => {
    expect(only('OpenAI/One')).toMatchObject({ model: 'OpenAI/One', upstreamModel: 'one-2026', contextLength: 900 });
  });

  it.each([
    [{ id: 'azure' }, 'azure/my-deployment', 'my-deployment'],
    [{ id: 'azure' }, 'openai/new', 'new'],
    [{ id: 'eu', same_as: 'azure' }, 'eu/my-deployment', 'my-deployment'],
    [{ id: 'openai', base_url: 'https://api.openai.com/v1' }, 'openai/new', 'new'],
    [{ id: 'openai' }, 'openai/new', 'openai/new'],
    [{ id: 'groq' }, 'groq/compound', 'groq/compound'],
  ])('has the name at %j of %s', (entry, model, name) =>
    expect(only(model, entry)).toMatchObject({ upstreamModel: name }));

  it('is nothing where the catalog does not list the model at this provider', () => {
    for (const endpoint of [only('openai/new'), only('else/three', { id: 'xai' }), only('openai/one', { id: 'own' })]) {
      expect(endpoint).toMatchObject({
        pricing: undefined,
        contextLength: undefined,
        parameters: undefined,
        reasoning: undefined,
        retainsData: undefined,
        upstreamModel: endpoint.model,
      });
    }
  });

  it('is no price where the catalog knows half of it, and never a zero', () => {
    expect(only('openai/two').pricing).toBeUndefined();
    expect(only('openai/old').pricing).toBeUndefined();
  });

  it('is nothing for a wildcard', () => {
    expect(only('openai/*')).toMatchObject({ upstreamModel: '*', pricing: undefined, tier: undefined });
  });
});

describe('tiers', () => {
  it('of the catalog are endpoints of their own, with tags and prices', () => {
    const { endpoints } = build({ models: ['openai/*'] });
    const facts = endpoints
      .filter(({ model }) => model === 'openai/one')
      .map(({ tag, tier, pricing }) => [tag, tier, pricing!.promptNanoUsdPerMillion / 1e9]);
    expect(facts).toEqual([
      ['openai', 'default', 1],
      ['openai/flex', 'flex', 0.5],
      ['openai/priority', 'priority', 2],
    ]);
  });

  it('that the entry names take what the catalog says of that tier', () => {
    expect(only({ model: 'openai/one', tier: 'flex' })).toMatchObject({
      id: 'openai/one@openai/flex',
      tag: 'openai/flex',
      tier: 'flex',
      pricing: { promptNanoUsdPerMillion: 500_000_000 },
    });
    expect(only({ model: 'openai/one', tier: 'default' })).toMatchObject({ tag: 'openai', tier: 'default' });
  });

  it('give way to a tag of the entry', () => {
    expect(only({ model: 'openai/one', tier: 'flex', tag: 'eu' })).toMatchObject({ tag: 'openai/eu', tier: 'flex' });
    expect(only({ model: 'openai/one', tag: 'eu' })).toMatchObject({ tag: 'openai/eu', id: 'openai/one@openai/eu' });
  });
});

describe('another account of a provider (same_as)', () => {
  it('takes from the catalog what is said of that provider, and its tag', () => {
    expect(only('else/three', { id: 'team', same_as: 'groq' })).toMatchObject({
      id: 'else/three@team',
      tag: 'groq',
      upstreamModel: 'groq-three',
      contextLength: 3000,
    });
  });

  it('passes on every model of the name of that provider', () => {
    expect(ids({ id: 'team', same_as: 'groq', models: ['groq/*'] })).toEqual(['groq/*@team', 'else/three@team']);
  });

  it('retries as its entry says, and otherwise as the configuration does', () => {
    const { retry } = only('openai/one', { retry: { attempts: 5, share: 0 } }).provider;
    expect(retry).toEqual({
      attempts: 5,
      backoffMs: 250,
      maxBackoffMs: 4000,
      maxRetryAfterMs: 5000,
      budgetMs: 10_000,
      share: 0,
      minimum: 10,
    });
  });

  it('takes the weight of its model, of the catalog, of its provider, or 1, in this order', () => {
    const weigh = (weight: number | undefined, entry: object, model: object) => {
      const records = mergeCatalogFiles([
        { endpoints: [{ model: 'openai/one', provider: 'openai', ...(weight !== undefined && { weight }) }] },
      ]);
      const providers = [{ id: 'openai', ...base, ...entry, models: [{ model: 'openai/one', ...model }] }];
      return buildEndpoints({ ...bare, providers }, records).endpoints[0]!.weight;
    };
    expect(weigh(5, { weight: 7 }, { weight: 0 })).toBe(0);
    expect(weigh(0, { weight: 7 }, {})).toBe(0);
    expect(weigh(undefined, { weight: 7 }, {})).toBe(7);
    expect(weigh(undefined, {}, {})).toBe(1);
  });

  it('may be a workspace’s own key', () => {
    const entry = { id: 'team', same_as: 'openai', workspace: 'w', is_fallback: true };
    expect(only('openai/one', entry)).toMatchObject({ workspace: 'w', isFallbackKey: true, tag: 'openai' });
    const providers = [{ ...base, ...entry, models: [{ model: 'openai/one' }] }];
    const { endpoints } = buildEndpoints({ ...bare, providers }, undefined, (named) => `id of ${named}`);
    expect(endpoints[0]).toMatchObject({ workspace: 'id of w' });
  });
});

describe('the models', () => {
  it('are those that an endpoint carries, as the catalog describes them', () => {
    const { models } = build({ models: ['openai/one'] }, { id: 'groq', models: ['OpenAI/One', 'x/unknown'] });
    expect([...models.keys()]).toEqual(['openai/one', 'x/unknown']);
    expect(models.get('openai/one')).toMatchObject({
      name: 'One',
      canonicalSlug: 'openai/one-20260101',
      contextLength: 1000,
      created: Date.parse('2026-01-01') / 1000,
    });
  });

  it('are what their endpoint says where the catalog does not know them', () => {
    const written: ModelConfig = {
      model: 'X/Unknown',
      context_length: 5,
      capabilities: { tools: true, structured_outputs: true, reasoning: true, input: ['text', 'image'] },
    };
    expect(build({ models: [written] }).models.get('x/unknown')).toMatchObject({
      id: 'x/unknown',
      name: 'x/unknown',
      contextLength: 5,
      input: ['text', 'image'],
      output: ['text'],
      parameters: ['tools', 'tool_choice', 'response_format', 'structured_outputs', 'reasoning', 'include_reasoning'],
    });
  });
});

describe('the dialect of a model', () => {
  const build = (model: object) =>
    buildEndpoints({
      ...bare,
      providers: [
        {
          ...base,
          id: 'acme',
          dialect: { fields: { temperature: { max: 1 } }, turns: { system: 'first' } },
          models: [{ model: 'acme/one' }, { model: 'acme/two', ...model }],
        } as unknown as ProviderConfig,
      ],
    });

  it('overrides that of its provider, setting by setting, for this model only', () => {
    const { endpoints } = build({ dialect: { fields: { temperature: { max: 0.5 } } } });
    const [one, two] = endpoints.map((endpoint) => settingsOf(endpoint, endpoint.provider.wire));
    expect(one).toMatchObject({ fields: { temperature: { max: 1 } }, turns: { system: 'first' } });
    expect(two).toMatchObject({ fields: { temperature: { max: 0.5 } }, turns: { system: 'first' } });
    expect(settingsOf(endpoints[1]!, endpoints[1]!.provider.wire)).toBe(two);
  });

  it('has the settings of its wire, and no others', () => {
    expect(() => build({ dialect: { turn: {} } })).toThrow(/^Provider acme: acme\/two: .*turn/);
    expect(() => build({ dialect: { client_betas: { without: [] } } })).toThrow(
      'Provider acme: acme/two: dialect.client_betas.without has no effect on the wire openai-chat. These wires read it: anthropic-messages.',
    );
  });
});
