import { builtinFiles } from '../../catalog/load-catalog.ts';
import {
  type CatalogFile,
  type CatalogRecords,
  type EndpointRecord,
  keyOfEndpoint,
  type ModelRecord,
  mergeCatalogFiles,
} from '../../catalog/records.ts';
import type { ListedCost, ListedModel, PublicList } from './public-list.ts';

/** Providers that serve their own models, by names without an author. */
const authors: Readonly<Record<string, { author: string; names?: RegExp; hasDots?: true }>> = {
  alibaba: { author: 'qwen', names: /^q[wv]/i }, // it also offers models of other authors
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
/** Names under which authors publish weights → the author of our slugs. */
const authorNames: Readonly<Record<string, string>> = {
  'deepseek-ai': 'deepseek',
  minimaxai: 'minimax',
  xai: 'x-ai',
  'zai-org': 'z-ai',
};
/** Authors of the catalog; `router/` is reserved. */
const slugShape = /^(?!router\/)[a-z0-9][a-z0-9._-]*\/[a-z0-9][a-z0-9._:-]*$/;

/**
 * Converts a public list to the format of the catalog. For a model of the built-in catalog, takes only the prices and
 * limits at the providers and keeps its description.
 *
 * @param known the current catalog: a known name at a provider keeps its slug
 * @param skipped the number of models that are withdrawn or have no slug here
 */
export function convertList(
  list: PublicList,
  known: CatalogRecords,
  { source, today }: { source: string; today: string },
): { file: CatalogFile; skipped: number } {
  const slugs = new Map<string, string>(); // provider and its name for the model → slug
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
  candidates.sort((a, b) => Number(b.isKnown) - Number(a.isKnown)); // known names first, so that they keep their slugs

  const builtin = mergeCatalogFiles(builtinFiles).models;
  const models = new Map<string, ModelRecord>();
  const endpoints = new Map<string, EndpointRecord>();
  const facts = { source, as_of: today };
  for (const { provider, name, model, slug, isKnown } of candidates) {
    if (slug === undefined || model.status === 'deprecated') continue;
    const record: EndpointRecord = { model: slug, provider, upstream_model: name, ...describeOffer(model), ...facts };
    const key = keyOfEndpoint(record);
    if (endpoints.has(key) || (!isKnown && known.endpoints.has(key))) continue; // another name of the same model
    endpoints.set(key, record);
    const isAuthor = slug.startsWith(`${authors[provider]?.author}/`); // prefer the facts of the author
    if (!builtin.has(slug) && (isAuthor || !models.has(slug))) models.set(slug, describe(slug, model, facts));
  }
  const file: CatalogFile = {
    note: `Fetched by "headgate models refresh" from ${source}.`,
    models: [...models.values()],
    endpoints: [...endpoints.values()],
  };
  return { file, skipped: candidates.length - endpoints.size };
}

/** @returns undefined if the name does not show its author */
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

/** Returns the prices and limits of a provider. */
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

/** The list has 0 for unknown values. */
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
 * Returns the parameters. The list names only a few abilities. Others are assumed to work, because the gateway omits a
 * parameter that is missing here from every request.
 */
function listParameters({ temperature, tool_call, structured_output, reasoning }: ListedModel): string[] {
  const sampling = ['temperature', 'top_p', 'top_k', 'frequency_penalty', 'presence_penalty', 'seed', 'top_logprobs'];
  return [
    'max_tokens',
    'stop',
    'verbosity',
    ...(temperature === false ? [] : sampling),
    ...(tool_call === false ? [] : ['tools', 'tool_choice', 'parallel_tool_calls']),
    ...(structured_output === false ? [] : ['response_format', 'structured_outputs']),
    ...(reasoning === false ? [] : ['reasoning', 'include_reasoning']),
  ];
}
