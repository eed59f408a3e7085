import { inputModalities, outputModalities, parameterNames } from '../../domain/endpoint.ts';
import { type Issue, invalidRequest } from '../../domain/errors.ts';
import { type ModelSort, modelSorts } from '../../domain/model-sorts.ts';
import { perMillionTokens } from '../../metering/price.ts';
import type { HealthFigures } from '../../routing/health.ts';
import { matchesEndpoint } from '../../routing/preferences.ts';
import type { ModelRow } from '../../routing/model-rows.ts';

/** The query of `GET /models`. Texts are in lower case; an empty list does not filter. */
export interface ModelQuery {
  /** Each must be in the slug, the name or the description. */
  words: readonly string[];
  /** All of them. */
  parameters: readonly string[];
  /** All of them. */
  input: readonly string[];
  /** Any of them; undefined: any output. */
  output: readonly string[] | undefined;
  /** Minimum, in tokens. */
  context: number | undefined;
  /** Nano-dollars per million tokens of input. A row without a known price does not match. */
  minPrice: number | undefined;
  maxPrice: number | undefined;
  /** Any of them, as `provider.only` names them. */
  providers: readonly string[];
  /** Any of them: the part before the slash. */
  authors: readonly string[];
  sort: ModelSort;
  offset: number | undefined;
  limit: number | undefined;
}

const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 1000;

/**
 * Reads the query of `GET /models`. Unknown and empty parameters are ignored.
 *
 * @param query as Fastify parses it: a text, or several if the parameter is repeated
 * @throws {GatewayError} `invalid_request` that names each invalid parameter, its value and the valid values
 */
export function readModelQuery(query: Readonly<Record<string, unknown>>): ModelQuery {
  const issues: Issue[] = [];
  const refuse = (path: string, value: string, rule: string): undefined => {
    issues.push({ path, message: `"${value.slice(0, 100)}" is not ${rule}.` });
  };
  const readText = (name: string): string | undefined => {
    const value = query[name];
    if (Array.isArray(value)) return refuse(name, value.join(', '), 'one value: the parameter is repeated');
    const text = typeof value === 'string' ? value.trim() : '';
    return text === '' ? undefined : text;
  };
  const readList = (name: string, known?: readonly string[]): string[] => {
    const texts = [query[name] ?? ''].flat().map(String).join(',').toLowerCase().split(',');
    const list = [...new Set(texts.map((text) => text.trim()).filter((text) => text !== ''))];
    const wrong = known && list.find((text) => !known.includes(text));
    if (wrong !== undefined) refuse(name, wrong, `one of ${known!.join(', ')}`);
    return list;
  };
  const readInteger = (name: string, min: number, max = Number.MAX_SAFE_INTEGER): number | undefined => {
    const text = readText(name);
    if (text === undefined) return undefined;
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    return refuse(name, text, `an integer from ${min} to ${max}`);
  };
  const readPrice = (name: string): number | undefined => {
    const text = readText(name);
    if (text === undefined) return undefined;
    const value = /^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
    if (value >= 0 && value <= 1e6) return perMillionTokens(value);
    return refuse(name, text, 'a number from 0 to 1000000, USD per million tokens of input');
  };
  const readSort = (): ModelSort => {
    const text = readText('sort')?.toLowerCase() ?? 'newest';
    const found = modelSorts.find((sort) => sort === text);
    if (!found) refuse('sort', text, `one of ${modelSorts.join(', ')}`);
    return found ?? 'newest';
  };

  const output = readList('output_modalities', ['all', ...outputModalities]);
  const read: ModelQuery = {
    words: readText('q')?.toLowerCase().split(/\s+/) ?? [],
    parameters: readList('supported_parameters', parameterNames),
    input: readList('input_modalities', inputModalities),
    output: output.includes('all') ? undefined : output.length === 0 ? ['text'] : output,
    context: readInteger('context', 1),
    minPrice: readPrice('min_price'),
    maxPrice: readPrice('max_price'),
    providers: readList('providers'),
    authors: readList('model_authors'),
    sort: readSort(),
    offset: readInteger('offset', 0),
    limit: readInteger('limit', 1, MAX_LIMIT),
  };
  if (issues.length > 0) throw invalidRequest(issues);
  return read;
}

/** Returns the rows that match a query, in their order. */
export function filterRows(rows: readonly ModelRow[], query: ModelQuery): ModelRow[] {
  const { words, parameters, input, output, context, minPrice, maxPrice, providers, authors } = query;
  return rows.filter((row) => {
    const price = row.top?.pricing?.promptNanoUsdPerMillion;
    return (
      (words.length === 0 || hasWords(row, words)) &&
      parameters.every((name) => row.parameters.includes(name)) &&
      input.every((modality) => row.input.includes(modality)) &&
      (output === undefined || output.some((modality) => row.output.includes(modality))) &&
      (context === undefined || (row.contextLength ?? 0) >= context) &&
      (minPrice === undefined || (price !== undefined && price >= minPrice)) &&
      (maxPrice === undefined || (price !== undefined && price <= maxPrice)) &&
      (providers.length === 0 ||
        row.endpoints.some((endpoint) => providers.some((entry) => matchesEndpoint(entry, endpoint)))) &&
      (authors.length === 0 || authors.includes(authorOf(row)))
    );
  });
}

function hasWords({ model }: ModelRow, words: readonly string[]): boolean {
  const text = `${model.id}\n${model.canonicalSlug}\n${model.name}\n${model.description ?? ''}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** Returns the author of a slug: `openai`, also for `~openai/gpt-latest`. */
const authorOf = ({ model: { id } }: ModelRow): string => id.toLowerCase().replace(/^~/, '').split('/', 1)[0]!;

type ReadFigures = (endpointId: string) => Pick<HealthFigures, 'latency30m' | 'throughput30m'>;

/**
 * Sorts rows. A row without a figure to sort by comes last in either direction. Equal rows are sorted by age, the
 * newest first, then by slug.
 *
 * @param figures of an endpoint; the best endpoint of a row counts, by its median of the last 30 minutes
 */
export function sortRows(rows: readonly ModelRow[], sort: ModelSort, figures: ReadFigures): ModelRow[] {
  const ranked = rows.map((row) => ({ row, ranks: ranksOf(row, sort, figures) }));
  ranked.sort((a, b) => {
    for (const [index, rank] of a.ranks.entries()) {
      const other = b.ranks[index]!;
      if (rank !== other) return rank < other ? -1 : 1;
    }
    const [first, second] = [a.row.model, b.row.model];
    return second.created - first.created || (first.id < second.id ? -1 : Number(first.id > second.id));
  });
  return ranked.map(({ row }) => row);
}

/** Numbers to sort by, the smallest first. */
function ranksOf(row: ModelRow, sort: ModelSort, figures: ReadFigures): number[] {
  const last = Number.POSITIVE_INFINITY;
  const pricing = row.top?.pricing;
  const { promptNanoUsdPerMillion: prompt, completionNanoUsdPerMillion: completion } = pricing ?? {};
  const best = (read: (found: ReturnType<ReadFigures>) => number | undefined): number =>
    Math.min(...row.endpoints.map(({ id }) => read(figures(id)) ?? last));
  switch (sort) {
    case 'newest':
    case 'most-popular':
      return [];
    case 'pricing-low-to-high':
      return [prompt ?? last, completion ?? last];
    case 'pricing-high-to-low':
      return [prompt === undefined ? last : -prompt, completion === undefined ? last : -completion];
    case 'context-high-to-low':
      return [row.contextLength === undefined ? last : -row.contextLength];
    case 'throughput-high-to-low':
      return [best(({ throughput30m }) => (throughput30m ? -throughput30m.p50 : undefined))];
    case 'latency-low-to-high':
      return [best(({ latency30m }) => latency30m?.p50)];
  }
}

/**
 * Returns one page of a sorted list: all of it if the query names neither `offset` nor `limit`.
 *
 * @returns `next`: the start and the length of the next page; null if there is none
 */
export function cutPage<Row>(
  rows: readonly Row[],
  { offset, limit }: Pick<ModelQuery, 'offset' | 'limit'>,
): { page: readonly Row[]; next: { offset: number; limit: number } | null } {
  if (offset === undefined && limit === undefined) return { page: rows, next: null };
  const [start, length] = [offset ?? 0, limit ?? DEFAULT_LIMIT];
  const end = start + length;
  return { page: rows.slice(start, end), next: end < rows.length ? { offset: end, limit: length } : null };
}

const filterNames = [
  'q',
  'supported_parameters',
  'input_modalities',
  'output_modalities',
  'context',
  'min_price',
  'max_price',
  'providers',
  'model_authors',
  'sort',
];

/** Returns the address of the next page: the same query with another offset, relative to the host. */
export function writeNextLink(
  path: string,
  query: Readonly<Record<string, unknown>>,
  next: { offset: number; limit: number } | null,
): string | null {
  if (!next) return null;
  const written = new URLSearchParams();
  for (const name of filterNames) {
    for (const value of [query[name] ?? []].flat()) written.append(name, String(value));
  }
  written.set('offset', String(next.offset));
  written.set('limit', String(next.limit));
  return `${path}?${written}`;
}
