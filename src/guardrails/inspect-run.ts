import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '../domain/caller.ts';
import type { Cancellation } from '../domain/cancellation.ts';
import type { FilterSource } from '../domain/content-filter.ts';
import type { EmbeddingRequest } from '../domain/embeddings.ts';
import { GatewayError } from '../domain/errors.ts';
import type { ImageRequest } from '../domain/images.ts';
import type { InputItem } from '../domain/items.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { PluginSetting, RequestSettings } from '../domain/request.ts';
import type { RerankRequest } from '../domain/rerank.ts';
import type { StageRecord } from '../domain/router-metadata.ts';
import { type InputChange, pass, type Verdict } from '../domain/verdict.ts';
import type { FilterSet, FilterSets } from './filter-sets.ts';
import { FindingTally } from './finding-tally.ts';
import { keepJson } from './keep-json.ts';
import { mapItemTexts, mapTexts } from './map-texts.ts';
import { createBlockError, createGuardrailStages, createSkippedStages } from './report-findings.ts';
import { type EntitySettings, isRecognized, scanEntities } from './scan-entities.ts';
import { TextScanner } from './text-scanner.ts';

/** The parts of every run that content filters read. */
export interface FilteredRun {
  readonly caller: Pick<Caller, 'contentFilters'>;
  readonly stages: StageRecord[];
  readonly cancellation: Pick<Cancellation, 'reason' | 'signal'>;
  /** Set if the gateway itself makes the request. */
  readonly parent?: { readonly isInspected: boolean } | undefined;
}

export interface InputFilterParts {
  sets: () => FilterSets;
  entities: () => EntitySettings & {
    /** Whether a request with a text that was not analyzed is rejected. */
    readonly rejects: boolean;
  };
  /** Called when texts were not analyzed. */
  onSkipped: (why: string) => void;
}

interface FilteredResponse extends FilteredRun {
  readonly request: Pick<RequestSettings, 'instructions' | 'plugins' | 'prediction' | 'prompt'>;
  readonly input: { read(): InputItem[] };
}

/**
 * Creates the inspector that applies the content filters of a caller's guardrails to everything that a request sends to
 * models: instructions, messages, calls of tools and their results.
 *
 * @see docs/reference/guardrails.md#what-is-scanned
 */
export const createInputFilter =
  (parts: InputFilterParts) =>
  (run: FilteredResponse, added?: InputItem[]): MaybePromise<Verdict> => {
    const { contentFilters } = run.caller;
    if (contentFilters === undefined || run.parent?.isInspected) return pass;
    return filterTexts(parts, contentFilters, run, (replace) =>
      added
        ? { input: mapItems(added, (text, field) => replace(text, field, false)) } // no user has written it
        : mapRequest(run, replace),
    );
  };

/**
 * Creates the same for image generations: their prompt, and the options of providers, such as a negative prompt. The
 * prompt of a generation for a tool is the text of a model. It is scanned here, because it has not been before.
 */
export const createPromptFilter =
  (parts: InputFilterParts) =>
  (run: FilteredRun & { readonly request: PromptChange }): MaybePromise<Verdict<PromptChange>> => {
    const { contentFilters } = run.caller;
    if (contentFilters === undefined || run.parent?.isInspected) return pass;
    const { prompt, provider } = run.request;
    return filterTexts(parts, contentFilters, run, (replace) => {
      const replaceOfUser = (text: string, field: string) => replace(text, field, run.parent === undefined);
      const change = { prompt: replaceOfUser(prompt, 'prompt') };
      if (!provider?.options) return change;
      const options = Object.entries(provider.options).map(([slug, fields]) => {
        return [slug, mapTexts(fields, replaceOfUser, '')] as const;
      });
      return { ...change, provider: { ...provider, options: Object.fromEntries(options) } };
    });
  };

type PromptChange = Pick<ImageRequest, 'prompt' | 'provider'>;

/**
 * Creates the same for embeddings: every text of the input. Ids of tokens cannot be scanned, so a caller with filters
 * must not send them.
 */
export const createEmbeddingFilter =
  (parts: InputFilterParts) =>
  (run: FilteredRun & { readonly request: EmbeddingChange }): MaybePromise<Verdict<EmbeddingChange>> => {
    const { contentFilters } = run.caller;
    if (contentFilters === undefined || run.parent?.isInspected) return pass;
    const { input } = run.request;
    if (input.kind === 'tokens') throw unreadableTokens();
    return filterTexts(parts, contentFilters, run, (replace) => {
      const replaceOfUser = (text: string): string => replace(text, 'input', true);
      if (input.kind === 'text') return { input: { kind: 'text', items: input.items.map(replaceOfUser) } };
      const items = input.items.map((content) =>
        content.map((part) => (part.type === 'text' ? { ...part, text: replaceOfUser(part.text) } : part)),
      );
      return { input: { kind: 'parts', items } };
    });
  };

type EmbeddingChange = Pick<EmbeddingRequest, 'input'>;

/** choice 631 */
const unreadableTokens = (): GatewayError =>
  new GatewayError(
    'invalid_request',
    'input: A guardrail of this key scans texts, and arrays of tokens cannot be scanned. Send texts.',
    { metadata: { issues: [{ path: 'input', message: 'Send texts: a guardrail scans them.' }] } },
  );

/** Creates the same for reranking: the query of the user, and the documents. */
export const createRerankFilter =
  (parts: InputFilterParts) =>
  (run: FilteredRun & { readonly request: RerankChange }): MaybePromise<Verdict<RerankChange>> => {
    const { contentFilters } = run.caller;
    if (contentFilters === undefined || run.parent?.isInspected) return pass;
    const { query, documents } = run.request;
    return filterTexts(parts, contentFilters, run, (replace) => ({
      query: replace(query, 'query', true),
      documents: documents.map((document) => replace(document, 'documents', false)),
    }));
  };

type RerankChange = Pick<RerankRequest, 'query' | 'documents'>;

/** Returns another text, or the same. */
type ReplaceInput = (text: string, field: string, isOfUser: boolean) => string;

/** A text of the input. */
interface Place {
  readonly text: string;
  /** The field that it is in. */
  readonly field: string;
  readonly filters: FilterSet | undefined;
}

/** @param map calls its argument for each text, always in the same order @returns the changes */
async function filterTexts<Change>(
  parts: InputFilterParts,
  sources: readonly FilterSource[],
  run: FilteredRun,
  map: (replace: ReplaceInput) => Change,
): Promise<Verdict<Change>> {
  const sets = parts.sets();
  const user = await sets.find(sources, 'user');
  const context = await sets.find(sources, 'context');
  const places: Place[] = [];
  map((text, field, isOfUser) => {
    places.push({ text, field, filters: isOfUser ? user : context });
    return text;
  });
  const tally = new FindingTally();
  const changed = await scanPlaces(places, tally, new TextScanner(run.cancellation));
  if ((user?.hasEntities || context?.hasEntities) && !tally.isBlocked) {
    await analyzePlaces(places, changed, tally, parts, run);
  }
  const hits = tally.list();
  if (hits.length === 0) return pass;
  pushStages(run, createGuardrailStages(hits));
  let at = 0;
  const change = changed.size === 0 ? undefined : map((text) => changed.get(at++) ?? text);
  if (tally.isBlocked) {
    return { type: 'block', error: createBlockError(hits), change };
  }
  return change ? { type: 'replace', change } : pass;
}

/** Applies the filters of recognized entities to the texts after the patterns. */
async function analyzePlaces(
  places: readonly Place[],
  changed: Map<number, string>,
  tally: FindingTally,
  { entities, onSkipped }: InputFilterParts,
  run: FilteredRun,
): Promise<void> {
  const settings = entities();
  const engine = settings.recognizer?.engine ?? 'none';
  const texts = places.map(({ text, filters }, at) => ({
    text: changed.get(at) ?? text,
    filters: filters?.combined ?? [],
  }));
  const { results, skipped } = await scanEntities(texts, settings, run.cancellation.signal);
  for (const [at, result] of results) {
    const { filters, text } = texts[at]!;
    tally.add(filters, result, engine);
    if (result.isBlocked) changed.set(at, result.text + BLOCKED);
    else if (result.text !== text) changed.set(at, keepJson(text, result.text));
  }
  if (skipped === undefined) return;
  onSkipped(skipped);
  if (settings.rejects) {
    throw new GatewayError('unavailable', `The request was not searched for names and addresses. ${skipped}`);
  }
  const filters = texts.flatMap((text) => text.filters.filter(isRecognized));
  pushStages(run, createSkippedStages(filters, engine, skipped));
}

/** Leaves out what is there already: a plugin may have changed a message whose other text was scanned before. */
function pushStages({ stages }: FilteredRun, added: readonly StageRecord[]): void {
  for (const stage of added) if (!stages.some((known) => isDeepStrictEqual(known, stage))) stages.push(stage);
}

/** Stands for the rest of a text that is blocked, where the request is recorded. */
const BLOCKED = '[BLOCKED]';

/** @returns what becomes of the texts that filters change, by index */
async function scanPlaces(
  places: readonly Place[],
  tally: FindingTally,
  scanner: TextScanner,
): Promise<Map<number, string>> {
  const changed = new Map<number, string>();
  for (const [at, { text, field, filters }] of places.entries()) {
    if (!filters || text === '' || filters.compiled.entries.length === 0) continue;
    const { combined, compiled } = filters;
    const scanned = scanner.scan(compiled, text, field === 'arguments' ? 'json' : 'plain');
    const result = scanned instanceof Promise ? await scanned : scanned;
    if (result.findings.length === 0) continue;
    tally.add(combined, result);
    if (result.isBlocked) changed.set(at, result.text + BLOCKED);
    else if (result.text !== text) changed.set(at, keepJson(text, result.text));
  }
  return changed;
}

/** Replaces the texts of a request. The request itself stays unchanged. */
function mapRequest(
  { request, input }: Pick<FilteredResponse, 'request' | 'input'>,
  replace: ReplaceInput,
): InputChange {
  const replaceContext = (text: string, field: string) => replace(text, field, false);
  const { prompt } = request;
  const instructions = mapTexts(request.instructions, replaceContext, 'instructions');
  const variables = mapTexts(prompt?.variables, replaceContext, 'variables');
  const prediction = mapTexts(request.prediction, replaceContext, 'prediction');
  const plugins = request.plugins && mapSearchPrompts(request.plugins, replaceContext);
  return {
    input: mapItems(input.read(), replace),
    settings: {
      ...(instructions === request.instructions ? undefined : { instructions }),
      ...(variables === prompt?.variables ? undefined : { prompt: { ...prompt!, variables } }),
      ...(prediction === request.prediction ? undefined : { prediction }),
      ...(plugins && { plugins }),
    },
  };
}

/**
 * Replaces the texts that plugins put before their search results, so that a blocked one is found before a search is
 * paid for.
 *
 * @returns undefined if nothing changes
 */
function mapSearchPrompts(
  plugins: readonly PluginSetting[],
  replace: (text: string, field: string) => string,
): PluginSetting[] | undefined {
  const mapped = plugins.map((setting) => {
    const { search_prompt: given } = setting;
    if (typeof given !== 'string') return setting;
    const prompt = replace(given, 'search_prompt');
    return prompt === given ? setting : { ...setting, search_prompt: prompt };
  });
  return mapped.some((setting, at) => setting !== plugins[at]) ? mapped : undefined;
}

/** @returns undefined if nothing changes */
function mapItems(items: readonly InputItem[], replace: ReplaceInput): InputItem[] | undefined {
  const replaceContext = (text: string, field: string) => replace(text, field, false);
  const replaceOfUser = (text: string, field: string) => replace(text, field, field !== 'file_data'); // a user did not write the file
  const mapped = items.map((item) => mapItemTexts(item, isOfUser(item) ? replaceOfUser : replaceContext));
  return mapped.some((item, at) => item !== items[at]) ? mapped : undefined;
}

const isOfUser = (item: InputItem): boolean => item.type === 'message' && 'role' in item && item.role === 'user';
