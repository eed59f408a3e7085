import { type Static, type TProperties, Type } from 'typebox';
import Schema from 'typebox/schema';
import { MAX_USD_PER_PIECE, MAX_USD_PER_TOKEN, MAX_WEIGHT } from '../domain/endpoint.ts';
import { imageBillables, imageUnits } from '../domain/images.ts';

/*
 * The catalog as files have it: built in, fetched by `headgate models refresh`, and the operator's
 * (`catalog.overrides`). All three have this shape.
 */

const closed = <Fields extends TProperties>(fields: Fields) => Type.Object(fields, { additionalProperties: false });
const text = () => Type.String({ minLength: 1, maxLength: 1000 });
const date = () => Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' });
const tokens = () => Type.Integer({ minimum: 1 });
const texts = () => Type.Array(text(), { maxItems: 100 });
const usdPerPiece = () => Type.Number({ minimum: 0, maximum: MAX_USD_PER_PIECE });
const usdPerMillion = () => Type.Number({ minimum: 0, maximum: MAX_USD_PER_TOKEN * 1e6 });

/**
 * USD per million tokens. Except the first two, an absent price is that of other tokens on the same side. @see `costOf`
 */
const tokenPrices = {
  prompt: Type.Optional(usdPerMillion()),
  completion: Type.Optional(usdPerMillion()),
  cache_read: Type.Optional(usdPerMillion()),
  cache_write: Type.Optional(usdPerMillion()),
  cache_write_1h: Type.Optional(usdPerMillion()),
  reasoning: Type.Optional(usdPerMillion()),
  audio: Type.Optional(usdPerMillion()),
  audio_cache_read: Type.Optional(usdPerMillion()),
  audio_output: Type.Optional(usdPerMillion()),
  image_token: Type.Optional(usdPerMillion()),
  image_output: Type.Optional(usdPerMillion()),
};

/** The capabilities and prices of an endpoint that generates images. @see docs/reference/images.md#catalog */
const image = closed({
  parameters: Type.Optional(
    Type.Record(
      Type.String({ pattern: '^[a-z_]+$' }),
      closed({
        type: Type.Enum(['enum', 'range', 'boolean']),
        values: Type.Optional(texts()),
        min: Type.Optional(Type.Integer({ minimum: 0 })),
        max: Type.Optional(Type.Integer({ minimum: 0 })),
      }),
    ),
  ),
  passthrough: Type.Optional(texts()),
  streaming: Type.Optional(Type.Boolean()),
  pricing: Type.Optional(
    Type.Array(
      closed({
        billable: Type.Enum([...imageBillables]),
        unit: Type.Enum([...imageUnits]),
        cost_usd: usdPerPiece(),
        variant: Type.Optional(text()),
      }),
      { maxItems: 50 },
    ),
  ),
});

const reasoning = closed({
  mandatory: Type.Optional(Type.Boolean()),
  default_enabled: Type.Optional(Type.Boolean()),
  default_effort: Type.Optional(text()),
  supported_efforts: Type.Optional(texts()),
  supports_max_tokens: Type.Optional(Type.Boolean()),
});

/** A model, independent of its providers. `source` and `as_of` name the source and the date of the facts. */
const modelRecord = closed({
  id: Type.String({ pattern: '^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._:-]*$', maxLength: 200 }),
  canonical_slug: Type.Optional(text()),
  name: Type.Optional(text()),
  description: Type.Optional(text()),
  created: Type.Optional(date()),
  context_length: Type.Optional(tokens()),
  max_output_tokens: Type.Optional(tokens()),
  input: Type.Optional(texts()),
  output: Type.Optional(texts()),
  parameters: Type.Optional(texts()),
  reasoning: Type.Optional(reasoning),
  knowledge_cutoff: Type.Optional(date()),
  expiration_date: Type.Optional(date()),
  hugging_face_id: Type.Optional(text()),
  license: Type.Optional(text()),
  distillable: Type.Optional(Type.Boolean()),
  coding_score: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
  /** A program that imitates a model. Routers choose it only if there is nothing else. */
  simulated: Type.Optional(Type.Boolean()),
  hidden: Type.Optional(Type.Boolean()),
  source: Type.Optional(text()),
  as_of: Type.Optional(date()),
});

/**
 * A model at a provider: `model` is the id of one, `provider` the id of one in the built-in list or the configuration.
 */
const endpointRecord = closed({
  model: Type.String({ minLength: 1, maxLength: 200 }),
  provider: Type.String({ minLength: 1, maxLength: 100 }),
  upstream_model: Type.Optional(text()),
  tier: Type.Optional(Type.Enum(['default', 'flex', 'priority'])),
  context_length: Type.Optional(tokens()),
  max_completion_tokens: Type.Optional(tokens()),
  max_prompt_tokens: Type.Optional(tokens()),
  max_messages: Type.Optional(tokens()),
  /** Maximum number of inputs or documents of one request to an endpoint that makes embeddings or reranks. */
  max_batch: Type.Optional(tokens()),
  quantization: Type.Optional(text()),
  parameters: Type.Optional(texts()),
  input: Type.Optional(texts()),
  output: Type.Optional(texts()),
  usd_per_million: Type.Optional(closed(tokenPrices)),
  image: Type.Optional(image),
  usd_per_request: Type.Optional(usdPerPiece()),
  usd_per_image: Type.Optional(usdPerPiece()),
  usd_per_search: Type.Optional(usdPerPiece()),
  /** For a response that searched, regardless of how often. */
  usd_per_searched_request: Type.Optional(usdPerPiece()),
  /** Like `weight` of a model in the configuration. */
  weight: Type.Optional(Type.Number({ minimum: 0, maximum: MAX_WEIGHT })),
  /** Other prices beyond a length of the prompt. */
  above: Type.Optional(Type.Array(closed({ prompt_tokens: tokens(), ...tokenPrices }), { maxItems: 10 })),
  /** Whether the provider demands that inputs are moderated before. */
  is_moderated: Type.Optional(Type.Boolean()),
  retains_data: Type.Optional(Type.Boolean()),
  trains_on_data: Type.Optional(Type.Boolean()),
  hidden: Type.Optional(Type.Boolean()),
  source: Type.Optional(text()),
  as_of: Type.Optional(date()),
});

/** Prices of a provider besides tokens, for endpoints without such a price. */
const feeRecord = closed({
  provider: Type.String({ minLength: 1, maxLength: 100 }),
  /** Ids of the models that it applies to. Absent: all that no other record of the provider names. */
  models: Type.Optional(texts()),
  usd_per_request: Type.Optional(usdPerPiece()),
  usd_per_search: Type.Optional(usdPerPiece()),
  usd_per_searched_request: Type.Optional(usdPerPiece()),
  source: Type.Optional(text()),
  as_of: Type.Optional(date()),
});

/** A file of the catalog. */
const catalogFile = closed({
  note: Type.Optional(Type.String()),
  fees: Type.Optional(Type.Array(feeRecord, { maxItems: 1000 })),
  models: Type.Optional(Type.Array(modelRecord, { maxItems: 20_000 })),
  endpoints: Type.Optional(Type.Array(endpointRecord, { maxItems: 50_000 })),
});

export type ModelRecord = Static<typeof modelRecord>;
export type EndpointRecord = Static<typeof endpointRecord>;
export type FeeRecord = Static<typeof feeRecord>;
export type CatalogFile = Static<typeof catalogFile>;

/** Records by key, so that a later file replaces an earlier one field by field. */
export interface CatalogRecords {
  readonly models: ReadonlyMap<string, ModelRecord>;
  /** In the order of their first appearance. */
  readonly endpoints: ReadonlyMap<string, EndpointRecord>;
}

/**
 * Checks a file of the catalog.
 *
 * @returns the problems, each with its place; none if `tree` is a `CatalogFile`
 */
export function checkCatalogFile(tree: unknown): string[] {
  if (Schema.Check(catalogFile, tree)) return findDearTokens(tree);
  const [, errors] = Schema.Errors(catalogFile, tree);
  return errors.map(({ instancePath, message, keyword }) => {
    const place = instancePath.replace(/\/(\d+)/g, '[$1]').replaceAll('/', '.');
    const got = keyword === 'maximum' ? `, not ${Schema.Pointer.Get(tree, instancePath)}` : '';
    return `${place.replace(/^\./, '') || 'the file'}: ${message === 'schema is false' ? 'is not a known field' : message}${got}`;
  });
}

/** Finds token prices above the maximum: only the unit of a price line says whether it is per token or per piece. */
function findDearTokens({ endpoints = [] }: CatalogFile): string[] {
  return endpoints.flatMap(({ image }, index) =>
    (image?.pricing ?? []).flatMap(({ unit, cost_usd: usd }, at) =>
      unit === 'token' && usd > MAX_USD_PER_TOKEN
        ? [`endpoints[${index}].image.pricing[${at}].cost_usd: must be <= ${MAX_USD_PER_TOKEN} for a token, not ${usd}`]
        : [],
    ),
  );
}

export const keyOfEndpoint = ({ model, provider, tier = 'default' }: EndpointRecord): string =>
  `${model}@${provider}/${tier}`;

/** Merges files. The last value of a field applies. */
export function mergeCatalogFiles(files: readonly CatalogFile[]): CatalogRecords {
  const models = new Map<string, ModelRecord>();
  const endpoints = new Map<string, EndpointRecord>();
  const fees: FeeRecord[] = [];
  for (const file of files) {
    fees.push(...(file.fees ?? []).toSorted((a, b) => Number(a.models !== undefined) - Number(b.models !== undefined)));
    for (const record of file.models ?? []) models.set(record.id, { ...models.get(record.id), ...record });
    for (const record of file.endpoints ?? []) {
      const key = keyOfEndpoint(record);
      const before = endpoints.get(key);
      const prices = before?.usd_per_million;
      const merged = { ...before, ...record };
      if (prices && record.usd_per_million) merged.usd_per_million = { ...prices, ...record.usd_per_million };
      endpoints.set(key, merged);
    }
  }
  for (const [key, record] of endpoints) {
    const fee = fees.findLast((each) => isMeant(each, record));
    if (!fee) continue;
    const { usd_per_request, usd_per_search, usd_per_searched_request } = fee;
    const given = { usd_per_request, usd_per_search, usd_per_searched_request };
    const known = Object.entries(given).filter(([, price]) => price !== undefined);
    endpoints.set(key, { ...Object.fromEntries(known), ...record });
  }
  return { models, endpoints };
}

const isMeant = (fee: FeeRecord, { provider, model }: EndpointRecord): boolean =>
  fee.provider === provider && (fee.models === undefined || fee.models.includes(model));
