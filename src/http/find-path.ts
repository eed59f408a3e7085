import { findMeantPath } from './advise-on-path.ts';
import type { ErrorDialect } from './error-dialect.ts';
import type { Route } from './routes.ts';

/** What the table of routes says about a path. */
export interface KnownPath {
  /** With HEAD beside GET. */
  readonly methods: readonly string[];
  /** Whether one of its routes needs no key. */
  readonly isOpen: boolean;
  /** How its errors are written. Undefined: as the error envelope. */
  readonly errors: ErrorDialect | undefined;
}

type Row = Pick<Route, 'method' | 'path' | 'permission' | 'errors'>;

/**
 * Finds a path in the table of routes. If several rows match, those of the most specific path count: `/guardrails/test`
 * is not a guardrail.
 *
 * @returns a function from a path without its query; it returns undefined if no route has the path
 */
export function createPathFinder(routes: readonly Row[]): (path: string) => KnownPath | undefined {
  const paths = [...Map.groupBy(routes, ({ path }) => path)]
    .map(([path, rows]) => ({ rank: rankOf(path), shape: shapeOf(path), known: describe(rows) }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1));
  return (path) => paths.find(({ shape }) => shape.test(path))?.known;
}

function describe(rows: readonly Row[]): KnownPath {
  const methods = rows.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return {
    methods: [...new Set(methods)],
    isOpen: rows.some(({ permission }) => permission === 'none'),
    errors: rows.find(({ errors }) => errors)?.errors,
  };
}

/** `:name` matches a segment, `*` the rest. A trailing slash is ignored. */
const shapeOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll(/[.]/g, '\\.').replaceAll(/:\w+/g, '[^/]+').replaceAll('*', '.+')}/?$`);

/** Ranks a fixed segment before a parameter, and both before a wildcard, from left to right. */
const rankOf = (path: string): string =>
  path
    .split('/')
    .map((segment) => (segment === '*' ? 2 : segment.startsWith(':') ? 1 : 0))
    .join('');

/** Maximum number of segments of a path that are read to find how its errors are written. */
const MAX_SEGMENTS = 12;

/**
 * Finds how errors are written on a path without a route: as on the nearest path above it that has one, so that a client
 * of an API gets its errors everywhere below.
 *
 * @returns undefined: as the error envelope
 */
export function findErrorsBelow(path: string, findPath: ReturnType<typeof createPathFinder>): ErrorDialect | undefined {
  const segments = findMeantPath(path).split('/', MAX_SEGMENTS);
  for (; segments.length > 0; segments.pop()) {
    const known = findPath(segments.join('/'));
    if (known) return known.errors;
  }
  return undefined;
}
