import type { Issue } from '../domain/errors.ts';
import { countThreads } from './regex/count-threads.ts';
import { finishInSlices } from './regex/finish-steps.ts';
import { MAX_RANGES, MAX_SIZE, type Node, PatternError, parseInSlices, sizeOf } from './regex/parse-pattern.ts';

/** In UTF-16 code units. */
export const MAX_PATTERN_LENGTH = 100_000;
export const MAX_LABEL_LENGTH = 100;
/** Custom patterns of one guardrail. */
export const MAX_CUSTOM_PATTERNS = 200;

/** Parts of the patterns of a guardrail that one character may continue. @see countThreads */
export const MAX_THREADS = 5000;

/** Yields where other work may run. @throws {PatternError} if the pattern is too long, invalid or not supported */
export function* parseCustomPattern(pattern: string): Generator<void, Node> {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw new PatternError(
      `The pattern has ${pattern.length} characters, but at most ${MAX_PATTERN_LENGTH} are allowed.`,
    );
  }
  return yield* parseInSlices(pattern);
}

/** A problem of a custom filter. */
export type FilterIssue = Issue & { readonly code?: 'invalid_regex_pattern' };

/**
 * Returns what is wrong with the custom filters of a guardrail, for the API that creates it. Empty: they can be used. Other
 * work runs in between.
 *
 * @param path of the list in the body
 */
export const checkCustomFilters = (
  filters: readonly { pattern: string; label?: string | null }[],
  path: string,
): Promise<FilterIssue[]> => finishInSlices(check(filters, path));

function* check(
  filters: readonly { pattern: string; label?: string | null }[],
  path: string,
): Generator<void, FilterIssue[]> {
  if (filters.length > MAX_CUSTOM_PATTERNS) {
    return [{ path, message: `must have at most ${MAX_CUSTOM_PATTERNS} items, got ${filters.length}` }];
  }
  const issues: FilterIssue[] = [];
  const nodes: Node[] = [];
  let size = 0;
  for (const [index, { pattern, label }] of filters.entries()) {
    if (label && label.length > MAX_LABEL_LENGTH) {
      const message = `must have at most ${MAX_LABEL_LENGTH} characters, got ${label.length}`;
      issues.push({ path: `${path}[${index}].label`, message });
    }
    if (size > MAX_SIZE) continue;
    try {
      const node = yield* parseCustomPattern(pattern);
      nodes.push(node);
      size += sizeOf(node);
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      issues.push({ path: `${path}[${index}].pattern`, message: error.message, code: 'invalid_regex_pattern' });
    }
  }
  if (size > MAX_SIZE) {
    const message = `The patterns are too large: after their counts are expanded, they have more than ${MAX_SIZE} parts.`;
    return [...issues, { path, message, code: 'invalid_regex_pattern' }];
  }
  const { threads, ranges } = yield* countThreads(nodes);
  if (ranges > MAX_RANGES) {
    const message = `The patterns have too many different classes: ${ranges} ranges of characters, but at most ${MAX_RANGES} are allowed.`;
    issues.push({ path, message, code: 'invalid_regex_pattern' });
  } else if (threads > MAX_THREADS) {
    const message = `The patterns are too slow: a character may continue ${threads} of their parts, but at most ${MAX_THREADS} are allowed. Lower counts such as {1,4000}, or make fewer parts match the same character.`;
    issues.push({ path, message, code: 'invalid_regex_pattern' });
  }
  return issues;
}
