import { type BuiltinSlug, type ContentFilter, INJECTION_SLUG } from '../domain/content-filter.ts';
import { builtinTexts, CUSTOM_PLACEHOLDER, patternDetectors } from './builtin-filters.ts';
import { parseCustomPattern } from './custom-pattern.ts';
import type { Detector } from './detector.ts';
import { evasionChecks, injectionPatterns, prepareEvasionChecks } from './injection/detectors.ts';
import { normalizeText } from './normalize/normalizer.ts';
import { finishInSlices, finishSteps } from './regex/finish-steps.ts';
import { type Node, parseInSlices, parsePattern } from './regex/parse-pattern.ts';
import { PatternSet } from './regex/search.ts';

/** The filter to which a pattern of the set belongs. */
export type Entry =
  | { readonly type: 'phrase' }
  | {
      readonly type: 'filter';
      /** Index in `filters`. */
      readonly filter: number;
      /** An entity, a format of a secret, the id of an injection pattern; empty for custom patterns. */
      readonly id: string;
      readonly placeholder: string;
      readonly check: ((text: string) => boolean) | undefined;
      /** Units of work of the check for each character. */
      readonly checkWork: number;
      /** Present if phrases on the allowlist hide from it: the same pattern on its own. */
      readonly alone: (() => PatternSet) | undefined;
    };

/** Filters, ready to scan texts. Any number of scans may use it at the same time. */
export interface CompiledFilters {
  readonly filters: readonly ContentFilter[];
  readonly set: PatternSet;
  readonly entries: readonly Entry[];
  /** Whether some entries are phrases. */
  readonly hasPhrases: boolean;
}

/**
 * Compiles filters for scanning. It takes milliseconds, the first time a few hundred: keep the result.
 *
 * Filters of recognized entities have no patterns; an `EntityRecognizer` serves them.
 *
 * @param allowedPhrases hide from the patterns of prompt injection
 * @throws {PatternError} if a custom pattern cannot be used
 */
export function compileFilters(
  filters: readonly ContentFilter[],
  allowedPhrases: readonly string[] = [],
): CompiledFilters {
  return finishSteps(compile(filters, allowedPhrases));
}

/** Does the same as `compileFilters`, with other work between the patterns. */
export const compileInSlices = (
  filters: readonly ContentFilter[],
  allowedPhrases: readonly string[] = [],
): Promise<CompiledFilters> => finishInSlices(compile(filters, allowedPhrases));

/** Yields where other work may run. */
function* compile(
  filters: readonly ContentFilter[],
  allowedPhrases: readonly string[],
): Generator<void, CompiledFilters> {
  const patterns: { node: Node; maxLength?: number }[] = [];
  const entries: Entry[] = [];
  const add = (entry: Entry, node: Node, maxLength?: number): void => {
    entries.push(entry);
    patterns.push({ node, maxLength });
  };
  for (const [filter, each] of filters.entries()) {
    if (each.type === 'custom') {
      const node = yield* parseCustomPattern(each.pattern);
      add(
        {
          type: 'filter',
          filter,
          id: '',
          placeholder: CUSTOM_PLACEHOLDER,
          check: undefined,
          checkWork: 0,
          alone: undefined,
        },
        node,
      );
      yield;
      continue;
    }
    for (const detector of findDetectors(each.slug)) {
      const { id, maxLength, check, checkWork = CHECK_WORK } = detector;
      const node = yield* parseDetector(detector);
      const hides = allowedPhrases.length > 0 && injectionPatterns.includes(detector);
      const alone = hides ? once(() => PatternSet.create([{ node, maxLength }])) : undefined;
      const placeholder = each.slug === 'secrets' ? `[SECRET:${id}]` : builtinTexts[each.slug].placeholder;
      add({ type: 'filter', filter, id, placeholder, check, checkWork, alone }, node, maxLength);
      yield;
    }
  }
  if (filters.some((filter) => filter.type === 'builtin' && filter.slug === INJECTION_SLUG)) {
    yield* prepareEvasionChecks();
    const phrases = new Set(allowedPhrases.flatMap((phrase) => [phrase, normalizeText(phrase) || phrase]));
    for (const phrase of phrases) add({ type: 'phrase' }, parsePhrase(phrase), phrase.length);
  }
  yield;
  const hasPhrases = entries.some(({ type }) => type === 'phrase');
  return { filters, set: yield* PatternSet.createInSlices(patterns), entries, hasPhrases };
}

function findDetectors(slug: BuiltinSlug): readonly Detector[] {
  if (slug === INJECTION_SLUG) return [...injectionPatterns, ...evasionChecks];
  return slug === 'person-name' || slug === 'address' ? [] : patternDetectors[slug];
}

/** Units of work of most checks, for each character. */
const CHECK_WORK = 20;

const parsed = new Map<Detector, Node>();

function* parseDetector(detector: Detector): Generator<void, Node> {
  let node = parsed.get(detector);
  if (!node) {
    node = yield* parseInSlices(detector.source, { allowLooks: true, ignoreCase: detector.ignoreCase ?? false });
    parsed.set(detector, node);
  }
  return node;
}

/** @throws {PatternError} if the phrase is empty */
const parsePhrase = (phrase: string): Node =>
  parsePattern(phrase.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), { ignoreCase: true });

function once<T>(create: () => T): () => T {
  let created: T | undefined;
  return () => {
    created ??= create();
    return created;
  };
}
