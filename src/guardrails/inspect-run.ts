import type { Caller } from '../domain/caller.ts';
import type { FilterSource } from '../domain/content-filter.ts';
import type { InputItem } from '../domain/items.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { RequestSettings } from '../domain/request.ts';
import type { StageRecord } from '../domain/router-metadata.ts';
import { type InputChange, pass, type Verdict } from '../domain/verdict.ts';
import type { FilterSet, FilterSets } from './filter-sets.ts';
import { FindingTally } from './finding-tally.ts';
import { mapItemTexts, mapTexts } from './map-texts.ts';
import { redactArguments } from './redact-arguments.ts';
import { createBlockError, createGuardrailStages } from './report-findings.ts';
import { TextScanner } from './text-scanner.ts';

/** The parts of a run that content filters read. */
export interface FilteredRun {
  readonly caller: Pick<Caller, 'contentFilters'>;
  readonly request: Pick<RequestSettings, 'instructions' | 'prompt'>;
  readonly input: { read(): InputItem[] };
  readonly stages: { push(...stages: StageRecord[]): unknown };
  readonly cancellation: { readonly reason?: Error | undefined };
  /** Set if the gateway itself makes the request, of texts that have been inspected. */
  readonly parent?: object | undefined;
}

/**
 * Creates the inspector that applies the content filters of a caller's guardrails to everything that a request sends to
 * models: instructions, messages, calls of tools and their results.
 *
 * @see docs/reference/guardrails.md#what-is-scanned
 */
export const createInputFilter =
  (sets: () => FilterSets) =>
  (run: FilteredRun): MaybePromise<Verdict> => {
    const { contentFilters } = run.caller;
    return contentFilters === undefined || run.parent ? pass : filterInput(sets(), contentFilters, run);
  };

/** A text of the input. */
interface Place {
  readonly text: string;
  /** The field that it is in. */
  readonly field: string;
  readonly filters: FilterSet | undefined;
}

async function filterInput(sets: FilterSets, sources: readonly FilterSource[], run: FilteredRun): Promise<Verdict> {
  const user = await sets.find(sources, 'user');
  const context = await sets.find(sources, 'context');
  const places: Place[] = [];
  mapInput(run, (text, field, isOfUser) => {
    places.push({ text, field, filters: isOfUser ? user : context });
    return text;
  });
  const tally = new FindingTally();
  const changed = await scanPlaces(places, tally, new TextScanner(run.cancellation));
  const hits = tally.list();
  if (hits.length === 0) return pass;
  run.stages.push(...createGuardrailStages(hits));
  let at = 0;
  const change = changed.size === 0 ? undefined : mapInput(run, (text) => changed.get(at++) ?? text);
  if (hits.some(({ filter }) => filter.action === 'block')) {
    return { type: 'block', error: createBlockError(hits), change };
  }
  return change ? { type: 'replace', change } : pass;
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
    if (!filters || text === '') continue;
    const { combined, compiled } = filters;
    const scanned = scanner.scan(compiled, text);
    const result = scanned instanceof Promise ? await scanned : scanned;
    if (result.findings.length === 0) continue;
    tally.add(combined, result);
    if (result.isBlocked) changed.set(at, result.text + BLOCKED);
    else if (result.text !== text) {
      const redact = async (value: string) => (await scanner.scan(compiled, value)).text;
      changed.set(at, field === 'arguments' ? await redactArguments(text, result.text, redact) : result.text);
    }
  }
  return changed;
}

/**
 * Replaces the texts of the input. The input itself stays unchanged.
 *
 * @param replace is called for each text, always in the same order
 */
function mapInput(
  { request, input }: Pick<FilteredRun, 'request' | 'input'>,
  replace: (text: string, field: string, isOfUser: boolean) => string,
): InputChange {
  const replaceContext = (text: string, field: string) => replace(text, field, false);
  const replaceOfUser = (text: string, field: string) => replace(text, field, true);
  const { prompt } = request;
  const instructions = mapTexts(request.instructions, replaceContext, 'instructions');
  const variables = mapTexts(prompt?.variables, replaceContext, 'variables');
  const items = input.read();
  const mapped = items.map((item) => mapItemTexts(item, isOfUser(item) ? replaceOfUser : replaceContext));
  return {
    input: mapped.some((item, at) => item !== items[at]) ? mapped : undefined,
    settings: {
      ...(instructions === request.instructions ? undefined : { instructions }),
      ...(variables === prompt?.variables ? undefined : { prompt: { ...prompt!, variables } }),
    },
  };
}

const isOfUser = (item: InputItem): boolean => item.type === 'message' && 'role' in item && item.role === 'user';
