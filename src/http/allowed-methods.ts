import type { Route } from './routes.ts';

/**
 * The methods that a path takes, for whoever came with another one.
 *
 * @returns a function from a path without its query to methods, HEAD beside GET; none when no route has the path
 */
export function createMethodFinder(routes: readonly Pick<Route, 'method' | 'path'>[]): (path: string) => string[] {
  const shapes = routes.map(({ method, path }) => ({ method, shape: shapeOf(path) }));
  return (path) => {
    const methods = shapes.flatMap(({ method, shape }) => (shape.test(path) ? [method] : []));
    return [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))];
  };
}

/** `:name` is a segment, `*` the rest; a slash at the end says nothing. */
const shapeOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll(/[.]/g, '\\.').replaceAll(/:\w+/g, '[^/]+').replaceAll('*', '.+')}/?$`);
