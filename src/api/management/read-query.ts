import type { FastifyRequest } from 'fastify';
import { type Issue, invalidRequest } from '../../domain/errors.ts';
import type { Page } from '../../platform/storage/ports/page.ts';
import { findNearestName } from '../../domain/nearest-name.ts';

/**
 * Reads the parameters of a query one by one. An absent or empty parameter is undefined. A parameter that is never read
 * is unknown, and the routes of management reject it, so read all of them, regardless of their values.
 */
export interface QueryReader {
  text(name: string): string | undefined;
  /** @param rule the end of the sentence "… is not …" */
  shaped(name: string, shape: RegExp, rule: string): string | undefined;
  word<Word extends string>(name: string, words: readonly Word[]): Word | undefined;
  integer(name: string, limits: { min: number; max: number; byDefault: number }): number;
  refuse(name: string, value: string, rule: string): void;
  /** Rejects a parameter that similar APIs have. Lists of parameters do not name it. @param message why, as a sentence */
  lacks(name: string, message: string): void;
}

/**
 * @param read reads the parameters
 * @param options.isStrict whether unknown parameters are rejected. Absent: only on routes of management
 * @throws {GatewayError} `invalid_request` that names every invalid parameter, its value and the valid values
 */
export function readQuery<Result>(
  request: FastifyRequest,
  read: (reader: QueryReader) => Result,
  { isStrict = request.routeSetting.permission === 'management' } = {},
): Result {
  const query = request.query as Record<string, unknown>; // as Fastify parses a query string: a text, or several
  const issues: Issue[] = [];
  const refuse = (path: string, value: string, rule: string): void => {
    issues.push({ path, message: `"${value.slice(0, 100)}" is not ${rule}.` });
  };
  const known = new Set<string>();
  const unlisted = new Set<string>();
  const text = (name: string): string | undefined => {
    known.add(name);
    const value = query[name];
    if (Array.isArray(value)) refuse(name, value.join(', '), 'one value: the parameter is repeated');
    const one = typeof value === 'string' ? value.trim() : '';
    return one === '' ? undefined : one;
  };
  const result = read({
    text,
    refuse,
    lacks(name, message) {
      unlisted.add(name);
      if (query[name] !== undefined) issues.push({ path: name, message });
    },
    shaped(name, shape, rule) {
      const value = text(name);
      if (value !== undefined && !shape.test(value)) refuse(name, value, rule);
      return value;
    },
    word(name, words) {
      const value = text(name);
      const found = words.find((word) => word === value);
      if (value !== undefined && found === undefined) refuse(name, value, `one of ${words.join(', ')}`);
      return found;
    },
    integer(name, { min, max, byDefault }) {
      const value = text(name);
      if (value === undefined) return byDefault;
      const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
      if (number >= min && number <= max) return number;
      refuse(name, value, `an integer from ${min} to ${max}`);
      return byDefault;
    },
  });
  // A misspelled filter of management would return too much. Clients of other routes add parameters of their own. choice 218
  for (const name of isStrict ? Object.keys(query) : []) {
    if (known.has(name) || unlisted.has(name)) continue;
    const meant = findNearestName(name, known);
    const hint = meant === undefined ? `the parameters are ${[...known].join(', ')}.` : `did you mean \`${meant}\`?`;
    issues.push({
      path: name.slice(0, 100),
      message: `\`${name.slice(0, 100)}\` is not a parameter of this route; ${hint}`,
    });
  }
  if (issues.length > 0) throw invalidRequest(issues);
  return result;
}

/** `offset` and `limit` of a list. @see docs/reference/management.md */
export const readPage = (reader: QueryReader): Page => ({
  offset: readOffset(reader),
  limit: reader.integer('limit', { min: 1, max: 100, byDefault: 50 }),
});

export const readOffset = (reader: QueryReader): number =>
  reader.integer('offset', { min: 0, max: Number.MAX_SAFE_INTEGER, byDefault: 0 });
