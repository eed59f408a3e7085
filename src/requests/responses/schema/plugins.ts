import { type TProperties, Type } from 'typebox';
import { quantizations } from '../../../domain/endpoint.ts';
import { sortKeys } from '../../../domain/request-defaults.ts';
import { byKind, findKinds } from '../../../schema/by-kind.ts';
import { characterCount, mapOf, maybe, nonNegative, oneOf, strings } from '../../../schema/shapes.ts';
import { fusionLimits } from '../../../tools/fusion/parameters.ts';
import { searchMode, typedUserLocation, xSearch } from '../../../tools/web-search/shapes.ts';

const plugin = <const Id extends string, Fields extends TProperties>(id: Id, fields: Fields) =>
  Type.Object({ id: Type.Literal(id), enabled: Type.Optional(Type.Boolean()), ...fields });

const maxPatternCharacters = 65_536;
const patternCharacters = (patterns: unknown): number =>
  Array.isArray(patterns) ? patterns.reduce((sum, each) => sum + characterCount(String(each)), 0) : 0;

/** @see docs/reference/routers.md#auto */
const patterns = Type.Optional(
  Type.Refine(
    Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 1024 }),
    (list) => patternCharacters(list) <= maxPatternCharacters,
    (list) => `has ${patternCharacters(list)} characters in total; at most ${maxPatternCharacters} are allowed`,
  ),
);

const autoRouter = {
  allowed_models: patterns,
  excluded_models: patterns,
  cost_tier: Type.Optional(oneOf('low', 'medium', 'high', 'xhigh', 'max')),
  cost_quality_tradeoff: Type.Optional(Type.Integer({ minimum: 0, maximum: 10, deprecated: true })),
};

const flatValue = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);

/** Code that generators write for a union with a map does not compile, so the document has no types of values. */
const toolParameters = mapOf(Type.Union([flatValue, Type.Array(flatValue), mapOf(flatValue)]), {
  documented: {
    description: 'Values are texts, numbers, booleans, null, or lists and maps of these.',
    additionalProperties: true,
  },
});

/** A plugin of the operator. `check-plugins.ts` checks its id and its settings. */
const modulePlugin = Type.Object({ id: Type.String(), enabled: Type.Optional(Type.Boolean()) });

/** An entry of `plugins`. Each accepts `enabled`, even if no page declares it. @see docs/reference/plugins.md */
export const pluginSetting = byKind(
  'a plugin',
  'id',
  {
    'auto-router': plugin('auto-router', { ...autoRouter, pin_model: Type.Optional(Type.Boolean()) }),
    'auto-beta-router': plugin('auto-beta-router', autoRouter),
    'context-compression': plugin('context-compression', { engine: Type.Optional(oneOf('middle-out')) }),
    'file-parser': plugin('file-parser', {
      pdf: Type.Optional(
        Type.Object({ engine: Type.Optional(oneOf('mistral-ocr', 'native', 'cloudflare-ai', 'pdf-text')) }),
      ),
    }),
    fusion: plugin('fusion', {
      ...fusionLimits,
      tools: Type.Optional(
        Type.Array(
          Type.Object({
            type: Type.String(),
            parameters: Type.Optional(toolParameters),
          }),
          { maxItems: 8 },
        ),
      ),
    }),
    moderation: plugin('moderation', {}),
    'pareto-router': plugin('pareto-router', {
      max_price: Type.Optional(nonNegative()),
      min_coding_score: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
      price_source: Type.Optional(oneOf('prompt', 'weighted_avg')),
    }),
    'response-healing': plugin('response-healing', {}),
    'switchyard-router': plugin('switchyard-router', {
      algorithm: Type.Optional(oneOf('capability', 'stage', 'auto', 'random', 'composite', 'passthrough')),
    }),
    web: plugin('web', {
      engine: Type.Optional(oneOf('native', 'exa', 'firecrawl', 'parallel', 'perplexity')),
      mode: Type.Optional(searchMode),
      max_results: Type.Optional(Type.Integer({ documented: { minimum: 1, maximum: 25 } })),
      max_uses: Type.Optional(Type.Integer()),
      search_prompt: Type.Optional(Type.String()),
      include_domains: Type.Optional(strings()),
      exclude_domains: Type.Optional(strings()),
      user_location: maybe(typedUserLocation),
      x_search: Type.Optional(xSearch),
    }),
    'web-fetch': plugin('web-fetch', {
      max_uses: Type.Optional(Type.Integer({ documented: { minimum: 0 } })),
      max_content_tokens: Type.Optional(Type.Integer({ documented: { minimum: 1 } })),
      allowed_domains: Type.Optional(strings()),
      blocked_domains: Type.Optional(strings()),
    }),
  },
  { other: modulePlugin },
);

/** The fields of each plugin, by its id. */
export const pluginFields: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  [...(findKinds(pluginSetting)?.schemas ?? [])].map(([id, { properties }]: [string, { properties?: object }]) => [
    id,
    new Set(Object.keys(properties ?? {})),
  ]),
);

const price = Type.Optional(
  Type.Union(
    [
      nonNegative(),
      Type.String({
        pattern: '^\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?$',
        says: 'must be a price: a number of 0 or more',
      }),
    ],
    { component: 'MaximumPrice' },
  ),
);

const sortKey = oneOf(...sortKeys);

/** `provider.sort`. */
export const providerSort = Type.Union(
  [sortKey, Type.Object({ by: maybe(sortKey), partition: maybe(oneOf('model', 'none')) })],
  { component: 'ProviderSort' },
);

const cutoffs = Type.Union(
  [
    Type.Number(),
    Type.Object({
      p50: maybe(Type.Number()),
      p75: maybe(Type.Number()),
      p90: maybe(Type.Number()),
      p99: maybe(Type.Number()),
    }),
  ],
  { component: 'ProviderCutoffs' },
);

/** A list of provider names. It is bounded, because each name is compared with every endpoint: choice 249. */
export const providerNameList = () => Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 1024 });

/** The closed object `provider`. @see docs/reference/routing.md#provider-preferences */
export const providerPreferences = Type.Object(
  {
    order: maybe(providerNameList()),
    only: maybe(providerNameList()),
    ignore: maybe(providerNameList()),
    allow_fallbacks: maybe(Type.Boolean()),
    require_parameters: maybe(Type.Boolean()),
    data_collection: maybe(oneOf('allow', 'deny')),
    zdr: maybe(Type.Boolean()),
    enforce_distillable_text: maybe(Type.Boolean()),
    quantizations: maybe(Type.Array(oneOf(...quantizations))),
    sort: maybe(providerSort),
    max_price: maybe(Type.Object({ prompt: price, completion: price, request: price, image: price, audio: price })),
    preferred_max_latency: maybe(cutoffs),
    preferred_min_throughput: maybe(cutoffs),
  },
  { additionalProperties: false, component: 'ProviderPreferences' },
);

/** The same for requests for text, which may have fields of their providers. @see docs/reference/routing.md#provider-options */
export const textProviderPreferences = Type.Object(
  {
    ...providerPreferences.properties,
    options: maybe(Type.Object({})), // `findOptionsProblem` checks its values
  },
  { additionalProperties: false, component: 'TextProviderPreferences' },
);
