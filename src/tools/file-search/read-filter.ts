import type { Issue } from '../../domain/errors.ts';
import type { FileField, FileFilter } from '../../domain/file-search.ts';
import { fileFields } from './parameters.ts';

/** Maximum number of conditions, and depth. */
const MAX_CONDITIONS = 50;
const MAX_DEPTH = 5;

const operators: ReadonlySet<unknown> = new Set(['eq', 'ne', 'gt', 'gte', 'lt', 'lte']);

/**
 * Reads a condition of `file_search`.
 *
 * @returns the first problem, with a path below the condition
 */
export function readFileFilter(given: unknown): FileFilter | { issue: Issue } {
  let conditions = 0;
  const fail = (path: string, message: string): never => {
    throw new FilterProblem({ path, message });
  };
  function read(filter: unknown, path: string, depth: number): FileFilter {
    const { type, key, value, filters } = (filter ?? {}) as Record<string, unknown>;
    if (++conditions > MAX_CONDITIONS) fail(path, `The filter has more than ${MAX_CONDITIONS} conditions.`);
    if (depth > MAX_DEPTH) fail(path, `The conditions are nested more than ${MAX_DEPTH} deep.`);
    if (type === 'and' || type === 'or') {
      if (!Array.isArray(filters)) return fail(`${path}.filters`, '`filters` must be a list of conditions.');
      return { type, filters: filters.map((each, index) => read(each, `${path}.filters[${index}]`, depth + 1)) };
    }
    if (!operators.has(type))
      fail(`${path}.type`, '`type` must be one of `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `and`, `or`.');
    if (typeof key !== 'string' || !Object.hasOwn(fileFields, key)) {
      const known = Object.keys(fileFields)
        .map((name) => `\`${name}\``)
        .join(', ');
      return fail(`${path}.key`, `\`key\` must be one of ${known}, got ${JSON.stringify(String(key).slice(0, 100))}.`);
    }
    const expected = fileFields[key as FileField]; // it has this key
    const values = Array.isArray(value) ? value : [value];
    if (Array.isArray(value) && type !== 'eq' && type !== 'ne')
      fail(`${path}.value`, `\`value\` cannot be a list with \`${type}\`.`);
    if (values.some((each) => typeof each !== expected)) {
      fail(
        `${path}.value`,
        `\`value\` must be a ${expected}${key === 'created_at' ? ' of Unix seconds' : ''} for \`${key}\`.`,
      );
    }
    return { type, key, value } as FileFilter; // checked above
  }
  try {
    return read(given, '', 1);
  } catch (error) {
    if (error instanceof FilterProblem) return { issue: error.issue };
    throw error;
  }
}

class FilterProblem extends Error {
  readonly issue: Issue;
  constructor(issue: Issue) {
    super(issue.message);
    this.issue = issue;
  }
}
