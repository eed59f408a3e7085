import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Link, redirect } from '@tanstack/react-router';
import { parseSearch, stringifySearch } from './logic/search.ts';
import { readRequestSearch } from './requests/filters.ts';
import { Root } from './shell/shell.tsx';
import { Empty, Failed, Loading } from './ui/states.tsx';

const root = createRootRoute({
  component: Root,
  notFoundComponent: () => (
    <Empty icon="search" title="There is no such page">
      <p>
        <Link to="/">Go to the start</Link>
      </p>
    </Empty>
  ),
});
const parent = { getParentRoute: () => root };

const start = createRoute({
  ...parent,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/requests', replace: true });
  },
});
/** After a sign-in, a link that works once leads to the start. */
const signIn = createRoute({ ...parent, path: '/sign-in', beforeLoad: () => {} });
const requests = createRoute({
  ...parent,
  path: '/requests',
  validateSearch: readRequestSearch,
  component: lazyRouteComponent(() => import('./requests/requests-page.tsx'), 'RequestsPage'),
});
const request = createRoute({
  ...parent,
  path: '/requests/$id',
  component: lazyRouteComponent(() => import('./request/request-page.tsx'), 'RequestPage'),
});

export const router = createRouter({
  routeTree: root.addChildren([start, signIn, requests, request]),
  basepath: new URL(document.baseURI).pathname,
  parseSearch: (text) => parseSearch(text),
  stringifySearch,
  defaultPreload: 'intent',
  defaultPendingComponent: () => <Loading />,
  defaultErrorComponent: ({ error, reset }) => <Failed error={error} onRetry={reset} />,
  defaultStructuralSharing: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
