import type { Route } from './routes.ts';

/**
 * Finds the methods of a path.
 *
 * @returns a function from a path without its query to methods, with HEAD beside GET; empty if no route has the path
 */
export function createMethodFinder(routes: readonly Pick<Route, 'method' | 'path'>[]): (path: string) => string[] {
  const shapes = routes.map(({ method, path }) => ({ method, shape: shapeOf(path) }));
  return (path) => {
    const methods = shapes.flatMap(({ method, shape }) => (shape.test(path) ? [method] : []));
    return [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))];
  };
}

/** `:name` matches a segment, `*` the rest. A trailing slash is ignored. */
const shapeOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll(/[.]/g, '\\.').replaceAll(/:\w+/g, '[^/]+').replaceAll('*', '.+')}/?$`);
