import { guessOutput } from '../catalog/guess-output.ts';
import { describeModel, readRecordPrices } from '../catalog/describe-model.ts';
import type { CatalogRecords, EndpointRecord, ModelRecord } from '../catalog/records.ts';
import { findKnownProvider } from '../config/known-providers.ts';
import type { Config, ModelConfig, ProviderConfig } from '../config/schema.ts';
import { findUnlistedSimulator } from '../config/simulator.ts';
import type { Model, Pricing } from '../domain/endpoint.ts';
import { type Capability, type ImageFacts, type ImageParameters, imageParameters } from '../domain/images.ts';
import { openWires, wires } from '../providers/index.ts';
import {
  bareEndpoint,
  checkDialect,
  createProvider,
  type Endpoint,
  type Provider,
  settingsOf,
} from '../providers/provider.ts';
import { perToken } from '../metering/price.ts';
import { mergePricing } from './merge-pricing.ts';

/** The providers, endpoints and models of a configuration and the catalog. */
export interface BuiltEndpoints {
  providers: Provider[];
  endpoints: Endpoint[];
  /** The models that have an endpoint, by id. */
  models: Map<string, Model>;
}

const noRecords: CatalogRecords = { models: new Map(), endpoints: new Map() };

/**
 * Builds the providers of a configuration and their endpoints, in its order. The catalog supplies the facts that an
 * entry lacks. A provider that passes on all models of its name (`openai/*`) also has every endpoint that the catalog
 * lists for it.
 *
 * @param findWorkspace returns the id of a workspace by its name or id
 * @param before the providers before a reload; facts learned about their servers are kept
 * @throws {Error} that names the provider, for the operator
 */
export function buildEndpoints(
  config: Config,
  records: CatalogRecords = noRecords,
  findWorkspace: (named: string) => string = (named) => named,
  before: readonly Provider[] = [],
): BuiltEndpoints {
  const rows = Map.groupBy(records.endpoints.values(), ({ provider }) => provider);
  const providers: Provider[] = [];
  const endpoints: Endpoint[] = [];
  const unlisted = findUnlistedSimulator(config);
  for (const entry of unlisted ? [...config.providers, unlisted] : config.providers) {
    const same = before.find(({ id }) => id === entry.id);
    const provider = naming(entry, () => buildProvider(entry, config, same));
    providers.push(provider);
    const { workspace: named } = entry;
    const workspace = named === undefined ? undefined : naming(entry, () => findWorkspace(named));
    const source = new EndpointBuilder(
      { ...entry, workspace },
      provider,
      rows.get(entry.same_as ?? entry.id) ?? [],
      records.models,
      readUsualPrices(config.limits.unpriced_models),
    );
    for (const model of entry.models) {
      const { dialect } = model;
      if (dialect) naming(entry, () => checkDialectOf(entry, model.model, dialect));
      const endpoint = source.build(model);
      endpoints.push(entry === unlisted ? { ...endpoint, isUnlisted: true } : endpoint);
    }
    if (isWhole(entry)) endpoints.push(...source.buildRest());
  }
  return { providers, endpoints: withUniqueIds(endpoints), models: listModels(endpoints, records.models) };
}

/**
 * Runs the work and adds the provider's name to its error, for the operator.
 *
 * @throws {Error}
 */
function naming<Result>({ id }: ProviderConfig, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw new Error(`Provider ${id}: ${(error as Error).message}`, { cause: error }); // wires throw Errors
  }
}

function buildProvider(
  entry: ProviderConfig,
  { timeouts, retry, images }: Pick<Config, 'timeouts' | 'retry' | 'images'>,
  before: Provider | undefined,
): Provider {
  const [wire = wires.get(entry.wire), ...otherWires] = openWires.get(entry.wire) ?? [];
  if (!wire) throw new Error(`providers: the wire ${entry.wire} is not part of this build.`);
  const settled = {
    id: entry.id,
    name: entry.name ?? entry.id,
    ...(entry.same_as === undefined ? undefined : { sameAs: entry.same_as }),
    wire,
    otherWires,
    apiKeys: entry.api_key === undefined ? [] : [entry.api_key].flat(),
    ...(entry.key_names && { keyNames: entry.key_names }),
    ...(typeof entry.proxy === 'string' && { proxy: entry.proxy }),
    headers: entry.headers ?? {},
    dialect: entry.dialect ?? {},
    timeouts: {
      connectMs: entry.timeouts?.connect_ms ?? timeouts.connect_ms,
      firstByteMs: entry.timeouts?.first_byte_ms ?? timeouts.first_byte_ms,
      idleMs: entry.timeouts?.idle_ms ?? timeouts.idle_ms,
      totalMs: entry.timeouts?.total_ms ?? timeouts.total_ms,
    },
    retry: {
      attempts: entry.retry?.attempts ?? retry.attempts,
      backoffMs: entry.retry?.backoff_ms ?? retry.backoff_ms,
      maxBackoffMs: entry.retry?.max_backoff_ms ?? retry.max_backoff_ms,
      maxRetryAfterMs: entry.retry?.max_retry_after_ms ?? retry.max_retry_after_ms,
      budgetMs: entry.retry?.budget_ms ?? retry.budget_ms,
      share: entry.retry?.share ?? retry.share,
      minimum: entry.retry?.minimum ?? retry.minimum,
    },
    imageFirstByteMs: entry.timeouts?.first_byte_ms ?? Math.max(timeouts.first_byte_ms, images.request_ms),
    ...(entry.base_url === undefined ? undefined : { baseUrl: entry.base_url }),
    ...(entry.list_models === undefined ? undefined : { listsModels: entry.list_models }),
    ...(entry.package === undefined ? undefined : { package: entry.package }),
    ...(entry.factory === undefined ? undefined : { factory: entry.factory }),
    ...(entry.settings === undefined ? undefined : { settings: entry.settings }),
  };
  return createProvider(settled, before);
}

/** @throws {Error} if a wire of the provider does not have a setting */
function checkDialectOf(entry: ProviderConfig, model: string, dialect: Readonly<Record<string, unknown>>): void {
  const used = openWires.get(entry.wire) ?? [wires.get(entry.wire)!]; // `buildProvider` has found it
  try {
    checkDialect(used, dialect);
  } catch (error) {
    throw new Error(`${model}: ${(error as Error).message}`, { cause: error }); // wires throw Errors
  }
}

/** Returns the name of a model at its provider, if neither the configuration nor the catalog has one. */
function nameAt(entry: ProviderConfig, model: string): string {
  if (model.includes('*')) return '*';
  const { plainNames: isPlain, baseUrl } = findKnownProvider(entry) ?? {};
  const isAtHome = baseUrl === undefined || entry.base_url === baseUrl; // servers of others may have names with a slash
  return isPlain && isAtHome ? model.slice(model.lastIndexOf('/') + 1) : model;
}

/** Whether the entry includes all models under the provider's name. */
function isWhole(entry: ProviderConfig): boolean {
  const known = findKnownProvider(entry);
  const prefixes = [entry.id, ...(known ? [known.id, ...known.slugs] : [])];
  return entry.models.some(({ model }) => prefixes.some((prefix) => model === `${prefix}/*`));
}

/** Builds the endpoints of one provider from its entry and the rows of the catalog. */
class EndpointBuilder {
  private readonly entry: ProviderConfig;
  private readonly provider: Provider;
  private readonly rows: readonly EndpointRecord[];
  private readonly models: ReadonlyMap<string, ModelRecord>;
  /** The prices of models without known ones. */
  private readonly usual: Pricing | undefined;
  private readonly tierPrices = new Map<string, Map<string, Pricing>>(); // slug → tier → prices

  constructor(
    entry: ProviderConfig,
    provider: Provider,
    rows: readonly EndpointRecord[],
    models: ReadonlyMap<string, ModelRecord>,
    usual: Pricing | undefined,
  ) {
    this.entry = entry;
    this.provider = provider;
    this.rows = rows;
    this.models = models;
    this.usual = usual;
  }

  build(config: ModelConfig): Endpoint {
    const slug = config.model.toLowerCase();
    const { tier = 'default' } = config;
    const row = this.rows.find((each) => each.model === slug && (each.tier ?? 'default') === tier);
    return this.assemble({ ...config, tier: config.tier ?? row?.tier }, row);
  }

  /** Builds the endpoints of the catalog rows that the entry does not name. */
  buildRest(): Endpoint[] {
    const keyOf = (model: string, tier = 'default') => `${model.toLowerCase()} ${tier}`;
    const named = new Set(this.entry.models.map(({ model, tier }) => keyOf(model, tier)));
    return this.rows
      .filter(({ model, tier, hidden }) => !named.has(keyOf(model, tier)) && !hidden)
      .map((row) => this.assemble({ model: row.model, tier: row.tier ?? 'default' }, row));
  }

  /**
   * Returns the prices of the model in each tier, from the entry or else from the catalog; undefined if there is only
   * one tier.
   */
  private listTierPrices(model: string): ReadonlyMap<string, Pricing> | undefined {
    const slug = model.toLowerCase();
    const prices = this.tierPrices.get(slug) ?? new Map<string, Pricing>();
    if (this.tierPrices.has(slug)) return prices.size > 1 ? prices : undefined;
    this.tierPrices.set(slug, prices);
    const put = (tier: string, pricing: Pricing | undefined): void => {
      if (pricing && !prices.has(tier)) prices.set(tier, pricing);
    };
    const rows = this.rows.filter((row) => row.model === slug);
    const rowOf = (tier: string) => rows.find((row) => (row.tier ?? 'default') === tier);
    for (const config of this.entry.models) {
      if (config.model.toLowerCase() !== slug) continue;
      const { tier = 'default' } = config;
      const row = rowOf(tier);
      put(tier, mergePricing(config, row && readRecordPrices(row)));
    }
    // If the configuration sets prices of a model, the catalog's prices of its other tiers do not apply.
    const isOwn = this.entry.models.some(({ model, pricing }) => pricing && model.toLowerCase() === slug);
    if (!isOwn) for (const row of rows) put(row.tier ?? 'default', readRecordPrices(row));
    return prices.size > 1 ? prices : undefined;
  }

  private assemble(config: ModelConfig, row: EndpointRecord | undefined): Endpoint {
    const { entry } = this;
    const model = this.models.get(config.model.toLowerCase());
    const slug = entry.same_as ?? entry.id;
    const part = config.tag ?? (config.tier === 'default' ? undefined : config.tier);
    const parameters = config.supported_parameters ?? row?.parameters ?? (row && model?.parameters);
    const pricing = mergePricing(config, row && readRecordPrices(row)) ?? this.usual;
    const output = config.capabilities?.output ?? row?.output ?? (row && model?.output);
    const upstream = config.upstream_model ?? row?.upstream_model ?? nameAt(entry, config.model);
    // The ARN of an inference profile does not name its model.
    const rulesOf = config.rules_of ?? (upstream.startsWith('arn:') ? config.model : undefined);
    const maxBatch = config.max_batch ?? row?.max_batch;
    const imageOf = (name: string) => describeImages(this.provider, name, output, [row?.image, config.image]);
    return {
      ...bareEndpoint(this.provider, config.model, upstream),
      id: `${config.model}@${entry.id}${part === undefined ? '' : `/${part}`}`,
      tag: part === undefined ? slug : `${slug}/${part}`,
      tier: config.tier,
      pricing,
      tierPricing: this.listTierPrices(config.model),
      contextLength: config.context_length ?? row?.context_length ?? (row && model?.context_length),
      maxOutputTokens: config.max_output_tokens ?? row?.max_completion_tokens ?? (row && model?.max_output_tokens),
      maxPromptTokens: config.max_prompt_tokens ?? row?.max_prompt_tokens,
      maxMessages: config.max_messages ?? row?.max_messages,
      quantization: config.quantization ?? row?.quantization,
      parameters: parameters && new Set(parameters),
      capabilities: {
        tools: config.capabilities?.tools,
        structuredOutputs: config.capabilities?.structured_outputs,
        reasoning: config.capabilities?.reasoning,
        input: config.capabilities?.input ?? row?.input ?? (row && model?.input),
        output: output ?? listOutputs(this.provider),
      },
      reasoning: row && model?.reasoning,
      image: imageOf(upstream),
      ...(upstream.includes('*') && { imageOf }),
      embedding: describeRetrieval(this.provider.wire.embedding?.facts, 'embeddings', output, maxBatch),
      rerank: describeRetrieval(this.provider.wire.rerank?.facts, 'rerank', output, maxBatch),
      generatesText: this.provider.wire.text !== undefined && !hasNoText(output),
      retainsData: entry.data_policy?.retains ?? row?.retains_data,
      trainsOnData: entry.data_policy?.trains ?? row?.trains_on_data,
      isModerated: config.is_moderated ?? row?.is_moderated,
      distillable: config.distillable ?? model?.distillable,
      workspace: entry.workspace,
      isFallbackKey: entry.is_fallback ?? false,
      carries: (special) => {
        const { wire, finder } = this.provider;
        if (finder && special.what === 'native_search') return false; // a server of any kind, often a local one
        const { dialect } = config;
        const place = {
          provider: this.provider,
          upstreamModel: upstream,
          ...(rulesOf !== undefined && { rulesOf }),
          ...(dialect && { dialect }),
        };
        return wire.text?.carries?.(special, settingsOf(place, wire)) === true;
      },
      weight: config.weight ?? row?.weight ?? entry.weight ?? 1,
      needsData: (config.urls ?? entry.urls) === 'fetch',
      ...(rulesOf === undefined ? undefined : { rulesOf }),
      ...(config.dialect === undefined ? undefined : { dialect: config.dialect }),
    };
  }
}

/** Returns the prices that the operator sets for all models without known ones. Undefined: none. */
const readUsualPrices = (prices: Config['limits']['unpriced_models']): Pricing | undefined =>
  typeof prices === 'string'
    ? undefined
    : {
        promptNanoUsdPerMillion: perToken(prices.prompt),
        completionNanoUsdPerMillion: perToken(prices.completion),
      };

const otherOutputs: readonly string[] = ['image', 'embeddings', 'rerank'];
const hasNoText = (output: readonly string[] | undefined): boolean =>
  output !== undefined && output.length > 0 && output.every((modality) => otherOutputs.includes(modality));

/** The outputs of a wire that generates no text; undefined: unknown. */
function listOutputs({ wire }: Provider): string[] | undefined {
  if (wire.text) return undefined;
  return [
    ...(wire.image ? ['image'] : []),
    ...(wire.embedding ? ['embeddings'] : []),
    ...(wire.rerank ? ['rerank'] : []),
  ];
}

/**
 * Returns the capabilities of an endpoint that makes embeddings or reranks. An endpoint with unknown outputs has those of
 * its wire, because local servers do not say which of their models makes embeddings. choice 630
 *
 * @param maxBatch of the configuration or the catalog
 */
function describeRetrieval<Facts extends { readonly maxBatch: number }>(
  facts: Facts | undefined,
  modality: 'embeddings' | 'rerank',
  output: readonly string[] | undefined,
  maxBatch: number | undefined,
): Facts | undefined {
  if (!facts || (output && !output.includes(modality))) return undefined;
  return maxBatch === undefined ? facts : { ...facts, maxBatch };
}

type WrittenImage = EndpointRecord['image'] | ModelConfig['image'];

/**
 * Returns the capabilities of an endpoint that generates images: the facts of its wire, overridden field by field.
 *
 * @param output of the endpoint; a wire that also generates text generates images only if this lists them
 * @throws {Error} if a capability is incomplete; for the operator
 */
function describeImages(
  { wire }: Provider,
  upstreamModel: string,
  output: readonly string[] | undefined,
  said: readonly WrittenImage[],
): ImageFacts | undefined {
  if (!wire.image || (wire.text && !output?.includes('image'))) return undefined;
  let facts = wire.image.factsOf?.(upstreamModel) ?? wire.image.facts;
  for (const written of said) {
    if (!written) continue;
    const { parameters, passthrough, streaming, pricing } = written;
    facts = {
      parameters: parameters ? readParameters(parameters) : facts.parameters,
      passthrough: passthrough ?? facts.passthrough,
      streams: streaming ?? facts.streams,
      pricing: pricing ? pricing.map(({ cost_usd: costUsd, ...line }) => ({ ...line, costUsd })) : facts.pricing,
    };
  }
  return facts;
}

function readParameters(written: NonNullable<NonNullable<WrittenImage>['parameters']>): ImageParameters {
  const read = Object.entries(written).map(([name, { type, values, min, max }]): [string, Capability] => {
    const where = `image.parameters.${name}`;
    if (!(imageParameters as readonly string[]).includes(name)) {
      throw new Error(`${where}: there is no such field; the fields are ${imageParameters.join(', ')}.`);
    }
    if (type === 'boolean') return [name, { type }];
    if (type === 'enum') {
      if (!values) throw new Error(`${where}: the type enum needs values.`);
      return [name, { type, values }];
    }
    if (min === undefined || max === undefined || min > max) {
      throw new Error(`${where}: the type range needs min and max.`);
    }
    return [name, { type, min, max }];
  });
  return Object.fromEntries(read); // the keys are checked above
}

function withUniqueIds(endpoints: readonly Endpoint[]): Endpoint[] {
  const seen = new Map<string, number>();
  return endpoints.map((endpoint) => {
    const count = (seen.get(endpoint.id) ?? 0) + 1;
    seen.set(endpoint.id, count);
    return count === 1 ? endpoint : { ...endpoint, id: `${endpoint.id}#${count}` };
  });
}

/** Lists the models of the endpoints. Describes a model that the catalog lacks by its first endpoint. */
function listModels(endpoints: readonly Endpoint[], records: ReadonlyMap<string, ModelRecord>): Map<string, Model> {
  const models = new Map<string, Model>();
  for (const endpoint of endpoints) {
    const id = endpoint.model.toLowerCase();
    if (id.includes('*') || models.has(id)) continue;
    const { capabilities, contextLength, maxOutputTokens, parameters } = endpoint;
    const output = capabilities.output ?? guessOutput(endpoint.upstreamModel);
    const record = records.get(id) ?? {
      id,
      ...(contextLength === undefined ? undefined : { context_length: contextLength }),
      ...(maxOutputTokens === undefined ? undefined : { max_output_tokens: maxOutputTokens }),
      ...(capabilities.input === undefined ? undefined : { input: [...capabilities.input] }),
      ...(output === undefined ? undefined : { output: [...output] }),
      parameters: parameters ? [...parameters] : listCapabilities(capabilities),
    };
    const model = describeModel(record);
    models.set(id, endpoint.isUnlisted ? { ...model, hidden: true } : model); // no other endpoint has the model
  }
  return models;
}

function listCapabilities({ tools, structuredOutputs, reasoning }: Endpoint['capabilities']): string[] {
  return [
    ...(tools ? ['tools', 'tool_choice'] : []),
    ...(structuredOutputs ? ['response_format', 'structured_outputs'] : []),
    ...(reasoning ? ['reasoning', 'include_reasoning'] : []),
  ];
}
