import type { Issue } from '../domain/errors.ts';
import { MAX_SIZE, type Node, PatternError, parsePattern, sizeOf } from './regex/parse-pattern.ts';

/** In UTF-16 code units. */
export const MAX_PATTERN_LENGTH = 100_000;
export const MAX_LABEL_LENGTH = 100;
/** Custom patterns of one guardrail. */
export const MAX_CUSTOM_PATTERNS = 200;

/** @throws {PatternError} if the pattern is too long, invalid or not supported */
export function parseCustomPattern(pattern: string): Node {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw new PatternError(
      `The pattern has ${pattern.length} characters, but at most ${MAX_PATTERN_LENGTH} are allowed.`,
    );
  }
  return parsePattern(pattern);
}

/** What is wrong with a custom filter. */
export type FilterIssue = Issue & { readonly code?: 'invalid_regex_pattern' };

/**
 * Returns what is wrong with the custom filters of a guardrail, for the API that creates it. Empty: they can be used.
 *
 * @param path of the list in the body
 */
export function checkCustomFilters(
  filters: readonly { pattern: string; label?: string | null }[],
  path: string,
): FilterIssue[] {
  const issues: FilterIssue[] = [];
  if (filters.length > MAX_CUSTOM_PATTERNS) {
    issues.push({ path, message: `must have at most ${MAX_CUSTOM_PATTERNS} items, got ${filters.length}` });
    return issues;
  }
  let size = 0;
  for (const [index, { pattern, label }] of filters.entries()) {
    if (label && label.length > MAX_LABEL_LENGTH) {
      const message = `must have at most ${MAX_LABEL_LENGTH} characters, got ${label.length}`;
      issues.push({ path: `${path}[${index}].label`, message });
    }
    try {
      size += sizeOf(parseCustomPattern(pattern));
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      issues.push({ path: `${path}[${index}].pattern`, message: error.message, code: 'invalid_regex_pattern' });
    }
  }
  if (size > MAX_SIZE) {
    const message = `The patterns are too large: with their counts written out they have ${size} parts, more than ${MAX_SIZE}.`;
    issues.push({ path, message, code: 'invalid_regex_pattern' });
  }
  return issues;
}
