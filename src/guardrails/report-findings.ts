import { type ContentFilter, type FilterAction, INJECTION_SLUG, recognizedSlugs } from '../domain/content-filter.ts';
import { GatewayError } from '../domain/errors.ts';
import type { StageRecord } from '../domain/router-metadata.ts';
import { builtinTexts } from './builtin-filters.ts';
import { type CombinedFilter, findStrictest } from './combine-filters.ts';

/** Findings of a filter in all texts of a request. */
export interface FilterHit extends CombinedFilter {
  /** Ids of its findings: entities, formats, injection patterns. */
  readonly ids: readonly string[];
  /** The engine of recognized entities. */
  readonly engine?: string | undefined;
}

/** Entries of `patterns` in an error or a stage. */
export const MAX_REPORTED_PATTERNS = 50;
/** UTF-16 code units of an entry. A custom pattern may be longer. */
export const MAX_REPORTED_LENGTH = 1000;

const isInjection = (filter: ContentFilter): boolean => filter.type === 'builtin' && filter.slug === INJECTION_SLUG;
const isRecognized = (filter: ContentFilter): boolean =>
  filter.type === 'builtin' && recognizedSlugs.some((slug) => slug === filter.slug);

/**
 * Creates the error of a blocked request from the filters with the action `block` that matched. It names their patterns,
 * never the text that matched.
 *
 * @param hits at least one has the action `block`
 * @param blocked what must not go on
 * @see docs/reference/guardrails.md#blocked-requests
 */
export function createBlockError(
  hits: readonly FilterHit[],
  blocked: 'Request' | 'Response' = 'Request',
): GatewayError {
  const blocking = hits.filter(({ filter }) => filter.action === 'block');
  const [first] = blocking.toSorted((a, b) => Number(isInjection(b.filter)) - Number(isInjection(a.filter)));
  const same = blocking.filter(({ filter }) => isInjection(filter) === isInjection(first!.filter));
  return new GatewayError('permission_denied', writeMessage(first!.filter, blocked), {
    metadata: { patterns: listPatterns(same), ...listLabels(same) },
    ...(blocked === 'Response' && { incompleteReason: 'content_filter' }),
  });
}

function writeMessage(filter: ContentFilter, blocked: string): string {
  if (isInjection(filter)) return `${blocked} blocked: prompt injection patterns detected`;
  if (filter.type === 'custom') return `${blocked} blocked by content filter: ${filter.label || '[BLOCKED]'}`;
  const { label, entity } = builtinTexts[filter.slug];
  return isRecognized(filter) ? `Blocked PII detected: ${entity}` : `${blocked} blocked by content filter: ${label}`;
}

/** Returns the patterns that matched: custom ones as they were configured, those of built-in filters by their ids. */
function listPatterns(hits: readonly FilterHit[]): string[] {
  const patterns = hits.flatMap(({ filter, ids }) => {
    if (filter.type === 'custom') return [cutPattern(filter.pattern)];
    if (isInjection(filter)) return ids;
    return filter.slug === 'secrets' ? ids.map((id) => `SECRET:${id}`) : [builtinTexts[filter.slug].entity];
  });
  return [...new Set(patterns)].slice(0, MAX_REPORTED_PATTERNS);
}

const cutPattern = (pattern: string): string =>
  pattern.length <= MAX_REPORTED_LENGTH ? pattern : `${pattern.slice(0, MAX_REPORTED_LENGTH - 1).toWellFormed()}…`;

/** Returns the names of the filters that matched, for people. A custom filter may have none. */
function listLabels(hits: readonly FilterHit[]): { labels?: string[] } {
  const names = hits.map(({ filter }) => (filter.type === 'custom' ? filter.label : builtinTexts[filter.slug].label));
  const labels = [...new Set(names)].flatMap((label) => label || []);
  return labels.length > 0 ? { labels: labels.slice(0, MAX_REPORTED_PATTERNS) } : {};
}

const pastTense: Readonly<Record<FilterAction, string>> = { flag: 'flagged', redact: 'redacted', block: 'blocked' };

/** Effects of the filters of the output besides their actions. */
export interface ChangedOutput {
  /** Names of fields of which something was dropped, because it belonged to text that was replaced. */
  readonly dropped: readonly string[];
}

/**
 * Returns the stages of `router_metadata` for what the filters found: for each guardrail one of its prompt-injection
 * filter and one of its other filters.
 *
 * @param output present if they were found in the output
 * @see docs/reference/guardrails.md#stages
 */
export function createGuardrailStages(hits: readonly FilterHit[], output?: ChangedOutput): StageRecord[] {
  const groups = new Map<string, FilterHit[]>();
  for (const hit of hits) {
    const key = JSON.stringify([hit.source.id, hit.source.scope, isInjection(hit.filter)]);
    const group = groups.get(key);
    if (group) group.push(hit);
    else groups.set(key, [hit]);
  }
  return [...groups.values()].map((group) => createStage(group, output));
}

function createStage(
  hits: readonly FilterHit[],
  output: ChangedOutput | undefined,
): StageRecord & { guardrail_id: string; guardrail_scope: string } {
  const [first] = hits as [FilterHit];
  const action = pastTense[findStrictest(hits.map(({ filter }) => filter.action))!];
  const patterns = listPatterns(hits);
  const injection = isInjection(first.filter);
  const engines = [...new Set(hits.map(({ engine }) => engine ?? 'regex'))];
  const types = hits.map(({ filter }) => (filter.type === 'custom' ? 'CUSTOM' : builtinTexts[filter.slug].entity));
  const specific = { ...listLabels(hits), ...(!injection && { matched_entity_types: [...new Set(types)] }) };
  const what = injection ? 'prompt injection' : [...new Set(hits.map(({ filter }) => titleOf(filter)))].join(', ');
  return {
    type: 'guardrail',
    name: injection ? 'regex_pi_detection' : 'content-filter',
    summary: `${action}${output ? ' in the output' : ''}: ${what}`,
    guardrail_id: first.source.id,
    guardrail_scope: first.source.scope,
    data: { action, detected: true, flagged: true, engines, patterns, ...specific, ...(output && writeOutput(output)) },
  };
}

function writeOutput({ dropped }: ChangedOutput): object {
  return { side: 'output', ...(dropped.length > 0 && { dropped }) };
}

/**
 * Returns a stage for each guardrail whose filters of recognized entities were not applied to all texts.
 *
 * @param why a sentence
 */
export function createSkippedStages(
  filters: readonly CombinedFilter[],
  engine: string,
  why: string,
): (StageRecord & { guardrail_id: string; guardrail_scope: string })[] {
  const sources = new Map(filters.map(({ source }) => [`${source.scope} ${source.id}`, source]));
  return [...sources.values()].map(({ id, scope }) => ({
    type: 'guardrail',
    name: 'content-filter',
    summary: `skipped: ${why}`,
    guardrail_id: id,
    guardrail_scope: scope,
    data: {
      action: 'skipped',
      detected: false,
      flagged: false,
      engines: [engine],
      patterns: [],
      matched_entity_types: [],
    },
  }));
}

const titleOf = (filter: ContentFilter): string =>
  filter.type === 'custom' ? filter.label || 'custom pattern' : builtinTexts[filter.slug].label;
