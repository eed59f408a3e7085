import { expect, it } from 'vitest';
import { internRoutes } from './intern-routes.ts';
import { type Handlers, listRoutes } from './routes.ts';

it('an intern has routes that exist, and none that changes or deletes', () => {
  const handlers = new Proxy({}, { get: () => async () => undefined }) as Handlers; // no route is called
  const names = listRoutes(handlers).map(({ method, path }) => `${method} ${path}`);
  expect([...internRoutes].filter((name) => !names.includes(name))).toEqual([]);
  expect([...internRoutes].filter((name) => /^(PUT|PATCH|DELETE)/.test(name))).toEqual([]);
});
