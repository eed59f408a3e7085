import { findMeantPath } from './advise-on-path.ts';
import type { ErrorDialect } from './error-dialect.ts';
import { GEMINI_BASE } from './gemini-paths.ts';
import type { Route } from './routes.ts';

/** What the table of routes says about a path. */
export interface KnownPath {
  /** With HEAD beside GET. */
  readonly methods: readonly string[];
  /** Whether one of its routes needs no key. */
  readonly isOpen: boolean;
  /** Whether its GET upgrades the connection to a WebSocket. */
  readonly hasSocket: boolean;
  /** How its errors are written. Undefined: in the usual way. */
  readonly errors: ErrorDialect | undefined;
}

type Row = Pick<Route, 'method' | 'path' | 'permission' | 'errors' | 'isSocket'>;

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
    hasSocket: rows.some(({ isSocket }) => isSocket),
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
 * Finds the nearest path above a path without a route that has one: its errors are those of the path, so that a client of
 * an API gets them everywhere below.
 *
 * @returns undefined if no path above has a route
 */
export function findPathAbove(path: string, findPath: ReturnType<typeof createPathFinder>): KnownPath | undefined {
  if (path.startsWith(GEMINI_BASE)) return findPath(`${GEMINI_BASE}/models`);
  const segments = findMeantPath(path).split('/', MAX_SEGMENTS);
  for (; segments.length > 0; segments.pop()) {
    const known = findPath(segments.join('/'));
    if (known) return known;
  }
  return undefined;
}
