import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Link, redirect } from '@tanstack/react-router';
import { parseSearch, stringifySearch } from './logic/search.ts';
import { readRequestSearch } from './requests/filters.ts';
import { Root } from './shell/shell.tsx';
import { readSpendSearch } from './spend/spend-search.ts';
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
    throw redirect({ to: '/overview', replace: true });
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

const overview = createRoute({
  ...parent,
  path: '/overview',
  component: lazyRouteComponent(() => import('./overview/overview-page.tsx'), 'OverviewPage'),
});
const spend = createRoute({
  ...parent,
  path: '/spend',
  validateSearch: readSpendSearch,
  component: lazyRouteComponent(() => import('./spend/spend-page.tsx'), 'SpendPage'),
});
/** The state of a page with a search field in the URL. */
const readText = ({ search }: Record<string, unknown>): { search?: string } =>
  typeof search === 'string' ? { search } : {};
const models = createRoute({
  ...parent,
  path: '/models',
  validateSearch: readText,
  component: lazyRouteComponent(() => import('./models/models-page.tsx'), 'ModelsPage'),
});
const audit = createRoute({
  ...parent,
  path: '/audit',
  component: lazyRouteComponent(() => import('./audit/audit-page.tsx'), 'AuditPage'),
});
const sessions = createRoute({
  ...parent,
  path: '/sessions',
  component: lazyRouteComponent(() => import('./sessions/sessions-page.tsx'), 'SessionsPage'),
});
const keys = createRoute({
  ...parent,
  path: '/keys',
  validateSearch: readText,
  component: lazyRouteComponent(() => import('./keys/keys-page.tsx'), 'KeysPage'),
});
const budgets = createRoute({
  ...parent,
  path: '/budgets',
  component: lazyRouteComponent(() => import('./budgets/budgets-page.tsx'), 'BudgetsPage'),
});
const members = createRoute({
  ...parent,
  path: '/members',
  component: lazyRouteComponent(() => import('./members/members-page.tsx'), 'MembersPage'),
});
const workspaces = createRoute({
  ...parent,
  path: '/workspaces',
  component: lazyRouteComponent(() => import('./workspaces/workspaces-page.tsx'), 'WorkspacesPage'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    start,
    signIn,
    overview,
    requests,
    request,
    spend,
    models,
    keys,
    budgets,
    members,
    workspaces,
    audit,
    sessions,
  ]),
  basepath: new URL(document.baseURI).pathname,
  parseSearch: (text) => parseSearch(text),
  stringifySearch,
  scrollRestoration: true,
  scrollToTopSelectors: ['#content'],
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
