import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { Agent, type Dispatcher, request } from 'undici';
import { findCheapest } from '../api/models/rows.ts';
import { buildEndpoints } from '../build-endpoints.ts';
import { describeModel, readRecordPrices } from '../catalog/describe-model.ts';
import { builtinFiles, loadCatalogRecords, REFRESHED_FILE } from '../catalog/load-catalog.ts';
import {
  type CatalogFile,
  type CatalogRecords,
  checkCatalogFile,
  type EndpointRecord,
  keyOfEndpoint,
  type ModelRecord,
  mergeCatalogFiles,
} from '../catalog/records.ts';
import { knownProviders } from '../config/known-providers.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { EndpointFacts, Pricing } from '../domain/endpoint.ts';
import { writePerPiece } from '../metering/price.ts';
import { alignColumns, CommandError, readMessage, type Terminal } from './terminal.ts';

export interface ListModelsOptions {
  /** Also what the catalogue knows and the configuration cannot serve. */
  all?: boolean;
  json?: boolean;
}

/** A line of the list. */
interface Line {
  id: string;
  name: string;
  contextLength: number | undefined;
  /** Of the cheapest endpoint. */
  pricing: Pricing | undefined;
  providers: string[];
}

/**
 * Prints the models that the configuration can serve, in the order of their slugs, as a table or as a JSON list. A slug
 * with a star stands for all names that a provider passes on. Asks nobody.
 *
 * @param query texts that must all stand in the slug, the name or the providers; absent: every model
 */
export async function listModels(
  { stdout, stderr }: Terminal,
  { config, dataDir }: LoadedConfig,
  query: string | undefined,
  { all = false, json = false }: ListModelsOptions,
): Promise<void> {
  const { builtin, overrides } = config.catalog;
  const records = loadCatalogRecords({ builtin, overrides, dataDir }, (message) => stderr.write(`${message}\n`));
  const { models, endpoints, providers } = buildEndpoints(config, records);
  await Promise.all(providers.map((provider) => provider.close(true)));

  const lines = new Map<string, Line>();
  for (const [slug, served] of Map.groupBy(endpoints, ({ model }) => model.toLowerCase())) {
    const model = models.get(slug);
    if (!model?.hidden) lines.set(slug, lineOf(slug, model?.name ?? slug, model?.contextLength, served));
  }
  if (all) for (const line of listKnown(records)) if (!lines.has(line.id)) lines.set(line.id, line);

  const words = (query ?? '').toLowerCase().split(/\s+/);
  const found = [...lines.values()]
    .filter((line) => {
      const text = [line.id, line.name, ...line.providers].join('\n').toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  if (json) stdout.write(`${JSON.stringify(found.map(writeLine), undefined, 2)}\n`);
  else if (found.length > 0) stdout.write(drawTable(found));
  else stdout.write(all ? 'No model matches.\n' : 'No model matches. "--all" looks through the whole catalogue.\n');
}

type Served = Pick<EndpointFacts, 'pricing' | 'tier' | 'contextLength'> & { provider: { id: string } };

function lineOf(id: string, name: string, known: number | undefined, served: readonly Served[]): Line {
  const contexts = served.flatMap(({ contextLength = known }) => contextLength ?? []);
  return {
    id,
    name,
    contextLength: contexts.length === 0 ? known : Math.max(...contexts),
    pricing: findCheapest(served)?.pricing,
    providers: [...new Set(served.map(({ provider }) => provider.id))],
  };
}

function listKnown({ models, endpoints }: CatalogRecords): Line[] {
  const byModel = Map.groupBy(endpoints.values(), ({ model }) => model);
  return [...models.values()].flatMap((record) => {
    const { id, name, contextLength, hidden } = describeModel(record);
    const served = (byModel.get(id) ?? []).map((row) => ({
      pricing: readRecordPrices(row),
      tier: row.tier,
      contextLength: row.context_length,
      provider: { id: row.provider },
    }));
    return hidden ? [] : [lineOf(id, name, contextLength, served)];
  });
}

/** USD per million tokens; a price per million is nano-dollars, too. */
const writeUsd = (nanoUsdPerMillion: number | undefined): string =>
  nanoUsdPerMillion === undefined ? '-' : writePerPiece(nanoUsdPerMillion);

const drawTable = (lines: readonly Line[]): string =>
  alignColumns([
    ['MODEL', 'CONTEXT', 'IN $/M', 'OUT $/M', 'PROVIDERS'],
    ...lines.map(({ id, contextLength, pricing, providers }) => [
      id,
      contextLength === undefined ? '-' : String(contextLength),
      writeUsd(pricing?.promptNanoUsdPerMillion),
      writeUsd(pricing?.completionNanoUsdPerMillion),
      providers.join(', ') || '-',
    ]),
  ]);

const writeLine = ({ id, name, contextLength, pricing, providers }: Line) => ({
  id,
  name,
  context_length: contextLength ?? null,
  usd_per_million: pricing
    ? {
        prompt: Number(writeUsd(pricing.promptNanoUsdPerMillion)),
        completion: Number(writeUsd(pricing.completionNanoUsdPerMillion)),
      }
    : null,
  providers,
});

/** A public list that is kept by many hands. @see https://models.dev */
const DEFAULT_LIST = 'https://models.dev/api.json';
const FETCH_MS = 30_000;
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_REDIRECTS = 5;
/** Fewer models are no list of the world's models. */
const LEAST_MODELS = 20;
/** A price that is so many times what it was has more likely been mistaken than changed. */
const SUSPICIOUS_FACTOR = 10;

/**
 * Fetches a public list of models and keeps it in the data folder, where it speaks over the built-in catalogue.
 *
 * @param from address of the list
 * @param limits milliseconds and bytes
 * @throws {CommandError} when the list cannot be had or is not to be trusted; what was kept before then stays
 */
export async function refreshModels(
  { stdout, stderr }: Terminal,
  { config, dataDir }: Pick<LoadedConfig, 'config' | 'dataDir'>,
  { from = DEFAULT_LIST }: { from?: string },
  limits: { fetchMs?: number; maxBytes?: number } = {},
): Promise<void> {
  const path = join(dataDir, REFRESHED_FILE);
  const kept = 'The catalogue stays as it was.';
  try {
    const url = readUrl(from);
    const text = await fetchText(url, limits);
    const known = loadCatalogRecords({ builtin: true, dataDir }, () => {}); // a file of no use is about to be replaced
    const { file, skipped } = convertList(parseList(text), known, {
      source: url.origin + url.pathname,
      today: new Date().toISOString().slice(0, 10),
    });
    refuseBadData(file, known);
    writeAtomically(path, dataDir, `${JSON.stringify(file, undefined, 1)}\n`);
    const providers = new Set(file.endpoints?.map(({ provider }) => provider)).size;
    stdout.write(
      `Took over ${countModels(file)} models at ${providers} providers from ${url.host} (${skipped} left out): ${path}\n` +
        'A running gateway takes it over at the next reload (SIGHUP) or start.\n',
    );
  } catch (error) {
    throw new CommandError(`models refresh: ${readMessage(error)} ${kept}`, { cause: error });
  }
  if (!config.catalog.builtin) {
    stderr.write('headgate: catalog.builtin is false in the configuration, so this file is not looked at.\n');
  }
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url;
  const shown = text.replace(/\/\/.*@/s, '//…@').slice(0, 200); // a password stays where it is
  throw new CommandError(`--from is not an http or https URL without credentials: ${shown}.`);
}

/** @throws {Error} unless the answer is a 200, whole, in time, from that very origin and not too large */
async function fetchText(
  url: URL,
  { fetchMs = FETCH_MS, maxBytes = MAX_BYTES }: { fetchMs?: number; maxBytes?: number },
): Promise<string> {
  const dispatcher = new Agent();
  const signal = AbortSignal.timeout(fetchMs);
  try {
    const { statusCode, body } = await follow(url, dispatcher, signal);
    if (statusCode !== 200) throw new CommandError(`${url.host} answered with ${statusCode}.`);
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of body as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > maxBytes) throw new CommandError(`The list is larger than ${maxBytes} bytes.`);
      pieces.push(piece);
    }
    return Buffer.concat(pieces).toString('utf8');
  } catch (error) {
    if (error instanceof CommandError) throw error;
    if (signal.aborted) {
      throw new CommandError(`${url.host} did not send the list within ${fetchMs / 1000} seconds.`, { cause: error });
    }
    throw new CommandError(`${url.host} cannot be asked: ${readMessage(error)}.`, { cause: error });
  } finally {
    await dispatcher.destroy(); // with it goes what nobody has read
  }
}

/** Follows redirects, as long as they stay at the origin that was named. */
async function follow(start: URL, dispatcher: Agent, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
  let url = start;
  for (let count = 0; count <= MAX_REDIRECTS; count++) {
    const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'headgate' };
    const response = await request(url, { dispatcher, signal, headers });
    const { location } = response.headers;
    if (![301, 302, 303, 307, 308].includes(response.statusCode) || typeof location !== 'string') return response;
    if (!URL.canParse(location, url)) throw new CommandError(`${url.host} redirects to nowhere.`);
    const next = new URL(location, url);
    if (next.origin !== start.origin) {
      throw new CommandError(`${url.host} redirects to ${next.host}, which you did not name; --from can name it.`);
    }
    await response.body.dump();
    url = next;
  }
  throw new CommandError(`${start.host} redirects more than ${MAX_REDIRECTS} times.`);
}

/** Only what is read of the list, and of that only what a use is made of: it gains fields all the time. */
const cost = {
  input: Type.Optional(Type.Number()),
  output: Type.Optional(Type.Number()),
  cache_read: Type.Optional(Type.Number()),
  cache_write: Type.Optional(Type.Number()),
};
const listedModel = Type.Object({
  name: Type.Optional(Type.String()),
  cost: Type.Optional(
    Type.Object({
      ...cost,
      reasoning: Type.Optional(Type.Number()),
      input_audio: Type.Optional(Type.Number()),
      tiers: Type.Optional(
        Type.Array(Type.Object({ ...cost, tier: Type.Object({ type: Type.String(), size: Type.Number() }) })),
      ),
      context_over_200k: Type.Optional(Type.Object(cost)),
    }),
  ),
  limit: Type.Optional(Type.Object({ context: Type.Optional(Type.Number()), output: Type.Optional(Type.Number()) })),
  modalities: Type.Optional(
    Type.Object({ input: Type.Optional(Type.Array(Type.String())), output: Type.Optional(Type.Array(Type.String())) }),
  ),
  reasoning: Type.Optional(Type.Boolean()),
  tool_call: Type.Optional(Type.Boolean()),
  temperature: Type.Optional(Type.Boolean()),
  structured_output: Type.Optional(Type.Boolean()),
  release_date: Type.Optional(Type.String()),
  knowledge: Type.Optional(Type.String()),
  status: Type.Optional(Type.String()),
});
const listedProvider = Type.Object({ models: Type.Record(Type.String(), listedModel) });
type ListedModel = Static<typeof listedModel>;
type ListedCost = NonNullable<ListedModel['cost']>;

/** Ids of the list → ours, where they differ. */
const providerIds: Readonly<Record<string, string>> = {
  'fireworks-ai': 'fireworks',
  'github-models': 'github',
  moonshotai: 'moonshot',
  'novita-ai': 'novita',
  togetherai: 'together',
};
/** Local servers carry what their owner has loaded, and that is nothing a public list knows. */
const listable = new Set(knownProviders.filter(({ env }) => env.length > 0).map(({ id }) => id));

/** Providers that serve models of their own, whose names there have no author. */
const authors: Readonly<Record<string, { author: string; names?: RegExp; hasDots?: true }>> = {
  alibaba: { author: 'qwen', names: /^q[wv]/i }, // it serves others' models as well
  anthropic: { author: 'anthropic', hasDots: true },
  cohere: { author: 'cohere' },
  deepseek: { author: 'deepseek' },
  google: { author: 'google' },
  minimax: { author: 'minimax' },
  mistral: { author: 'mistralai' },
  moonshot: { author: 'moonshotai' },
  openai: { author: 'openai' },
  perplexity: { author: 'perplexity' },
  xai: { author: 'x-ai' },
  zai: { author: 'z-ai' },
};
/** Names under which authors publish weights → what stands in our slugs. */
const authorNames: Readonly<Record<string, string>> = {
  'deepseek-ai': 'deepseek',
  minimaxai: 'minimax',
  xai: 'x-ai',
  'zai-org': 'z-ai',
};
/** As the catalogue has them; `router/` is ours. */
const slugShape = /^(?!router\/)[a-z0-9][a-z0-9._-]*\/[a-z0-9][a-z0-9._:-]*$/;

type PublicList = Map<string, Readonly<Record<string, ListedModel>>>;

/** @returns the providers that Headgate knows, by its own ids @throws {CommandError} when one of them has another shape */
function parseList(text: string): PublicList {
  let tree: unknown;
  try {
    tree = JSON.parse(text);
  } catch (error) {
    throw new CommandError(`The list is not JSON: ${readMessage(error)}.`, { cause: error });
  }
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) {
    throw new CommandError('The list is not an object of providers.');
  }
  const list: PublicList = new Map();
  for (const [name, value] of Object.entries(tree)) {
    const id = providerIds[name] ?? name;
    if (!listable.has(id)) continue;
    if (!Value.Check(listedProvider, value)) {
      const [first] = Value.Errors(listedProvider, value);
      throw new CommandError(
        `The list has another shape: ${name}${first?.instancePath ?? ''} ${first?.message ?? ''}.`,
      );
    }
    list.set(id, value.models);
  }
  return list;
}

/**
 * Puts a public list into the words of the catalogue. Of a model that comes with Headgate only its prices and limits at
 * the providers are taken; what the model is stays as it is.
 *
 * @param known the catalogue before: a name at a provider that it has keeps its slug
 * @param skipped how many were left out, since they are withdrawn or have no name here
 */
function convertList(
  list: PublicList,
  known: CatalogRecords,
  { source, today }: { source: string; today: string },
): { file: CatalogFile; skipped: number } {
  const slugs = new Map<string, string>(); // provider and name there → slug
  for (const { provider, model, upstream_model: name = model } of known.endpoints.values()) {
    const place = `${provider}\n${name}`;
    if (!slugs.has(place)) slugs.set(place, model);
  }
  const candidates = [...list].flatMap(([provider, models]) =>
    Object.entries(models).map(([name, model]) => {
      const before = slugs.get(`${provider}\n${name}`);
      return { provider, name, model, slug: before ?? deriveSlug(provider, name), isKnown: before !== undefined };
    }),
  );
  candidates.sort((a, b) => Number(b.isKnown) - Number(a.isKnown)); // known names first, so that nobody takes their slug

  const builtin = mergeCatalogFiles(builtinFiles).models;
  const models = new Map<string, ModelRecord>();
  const endpoints = new Map<string, EndpointRecord>();
  const facts = { source, as_of: today };
  for (const { provider, name, model, slug, isKnown } of candidates) {
    if (slug === undefined || model.status === 'deprecated') continue;
    const record: EndpointRecord = { model: slug, provider, upstream_model: name, ...describeOffer(model), ...facts };
    const key = keyOfEndpoint(record);
    if (endpoints.has(key) || (!isKnown && known.endpoints.has(key))) continue; // another name of the same
    endpoints.set(key, record);
    const isAuthor = slug.startsWith(`${authors[provider]?.author}/`); // who makes a model knows it best
    if (!builtin.has(slug) && (isAuthor || !models.has(slug))) models.set(slug, describe(slug, model, facts));
  }
  const file: CatalogFile = {
    note: `Fetched by "headgate models refresh" from ${source}.`,
    models: [...models.values()],
    endpoints: [...endpoints.values()],
  };
  return { file, skipped: candidates.length - endpoints.size };
}

/** @returns undefined when the name says nothing of its author */
function deriveSlug(provider: string, name: string): string | undefined {
  const lower = name.toLowerCase();
  const { author, names, hasDots } = authors[provider] ?? {};
  if (author !== undefined && !lower.includes('/') && (names?.test(lower) ?? true)) {
    // claude-opus-4-8 is Claude Opus 4.8; a date is longer
    const own = `${author}/${hasDots ? lower.replace(/(\d)-(\d{1,2})(?=$|-)/, '$1.$2') : lower}`;
    return slugShape.test(own) ? own : undefined;
  }
  const [first, ...rest] = lower.split('/');
  const slug = [authorNames[first!] ?? first, ...rest].join('/');
  return slugShape.test(slug) ? slug : undefined;
}

/** What a provider asks and allows. */
function describeOffer({ cost: prices, limit }: ListedModel): Partial<EndpointRecord> {
  const above = describeTiers(prices);
  return {
    ...describeLimits(limit, 'context_length', 'max_completion_tokens'),
    ...(prices && {
      usd_per_million: {
        ...readPrices(prices),
        ...(prices.reasoning === undefined ? undefined : { reasoning: prices.reasoning }),
        ...(prices.input_audio === undefined ? undefined : { audio: prices.input_audio }),
      },
    }),
    ...(above && { above }),
  };
}

function describeTiers(prices: ListedModel['cost']): EndpointRecord['above'] {
  const { tiers, context_over_200k: over } = prices ?? {};
  if (tiers) {
    const byContext = tiers.filter(({ tier }) => tier.type === 'context');
    return byContext.map(({ tier, ...each }) => ({ prompt_tokens: tier.size, ...readPrices(each) }));
  }
  return over && [{ prompt_tokens: 200_000, ...readPrices(over) }];
}

const readPrices = ({ input, output, cache_read, cache_write }: ListedCost) => ({
  ...(input === undefined ? undefined : { prompt: input }),
  ...(output === undefined ? undefined : { completion: output }),
  ...(cache_read === undefined ? undefined : { cache_read }),
  ...(cache_write === undefined ? undefined : { cache_write }),
});

/** The list says 0 for what it does not know. */
const describeLimits = <Context extends string, Output extends string>(
  limit: ListedModel['limit'],
  context: Context,
  output: Output,
): Partial<Record<Context | Output, number>> =>
  ({
    ...(limit?.context ? { [context]: limit.context } : undefined),
    ...(limit?.output ? { [output]: limit.output } : undefined),
  }) as Partial<Record<Context | Output, number>>; // computed keys lose their names

function describe(id: string, model: ListedModel, facts: { source: string; as_of: string }): ModelRecord {
  const { input, output } = model.modalities ?? {};
  const [created, cutoff] = [readDate(model.release_date), readDate(model.knowledge)];
  return {
    id,
    ...(model.name ? { name: model.name } : undefined),
    ...(created === undefined ? undefined : { created }),
    ...(cutoff === undefined ? undefined : { knowledge_cutoff: cutoff }),
    ...describeLimits(model.limit, 'context_length', 'max_output_tokens'),
    ...(input && { input: readModalities(input) }),
    ...(output && { output: readModalities(output) }),
    parameters: listParameters(model),
    ...facts,
  };
}

/** Dates of the list may lack the day, or the month as well. */
function readDate(text: string | undefined): string | undefined {
  const [, year, month = '01', day = '01'] = /^(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?$/.exec(text ?? '') ?? [];
  const date = `${year}-${month}-${day}`;
  return year === undefined || Number.isNaN(Date.parse(date)) ? undefined : date;
}

const readModalities = (names: readonly string[]): string[] => [
  ...new Set(names.map((name) => (name === 'pdf' ? 'file' : name))),
];

/**
 * The list names a few abilities only. What it does not speak of is taken to work: a parameter that is missing here would
 * be left out of every request.
 */
function listParameters({ temperature, tool_call, structured_output, reasoning }: ListedModel): string[] {
  const sampling = ['temperature', 'top_p', 'top_k', 'frequency_penalty', 'presence_penalty', 'seed', 'top_logprobs'];
  return [
    ...['max_tokens', 'stop', 'verbosity'],
    ...(temperature === false ? [] : sampling),
    ...(tool_call === false ? [] : ['tools', 'tool_choice', 'parallel_tool_calls']),
    ...(structured_output === false ? [] : ['response_format', 'structured_outputs']),
    ...(reasoning === false ? [] : ['reasoning', 'include_reasoning']),
  ];
}

const countModels = ({ endpoints = [] }: CatalogFile): number => new Set(endpoints.map(({ model }) => model)).size;

/** @throws {CommandError} when the list, right in its shape, says what cannot be true */
function refuseBadData(file: CatalogFile, known: CatalogRecords): void {
  const problems = checkCatalogFile(file);
  if (problems.length > 0) throw new CommandError(`The list cannot be used: ${problems.slice(0, 5).join('; ')}.`);
  const models = countModels(file);
  if (models < LEAST_MODELS) {
    throw new CommandError(
      `The list has ${models} models that Headgate can place, and fewer than ${LEAST_MODELS} are not believed.`,
    );
  }
  const factors = (file.endpoints ?? []).flatMap((record) => {
    const before = known.endpoints.get(keyOfEndpoint(record))?.usd_per_million;
    const after = record.usd_per_million;
    return (['prompt', 'completion'] as const).flatMap((name) => {
      const [old, now] = [before?.[name], after?.[name]];
      return old === undefined || now === undefined ? [] : [old === now ? 1 : Math.max(old, now) / Math.min(old, now)];
    });
  });
  const changed = factors.filter((factor) => factor > SUSPICIOUS_FACTOR).length;
  if (changed > factors.length / 2) {
    throw new CommandError(
      `${changed} of ${factors.length} prices that are known differ more than ${SUSPICIOUS_FACTOR} times, which is not believed.`,
    );
  }
}

/** Whoever reads meanwhile sees the old file or the new one, whole. */
function writeAtomically(path: string, folder: string, text: string): void {
  const draft = join(folder, `.${REFRESHED_FILE}.${process.pid}`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(draft, text, { mode: 0o600, flush: true });
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}
