import type { Route } from '../../http/routes.ts';
import { type DefinedRoute, routesOf } from '../../http/define-route.ts';
import { inData, openObject } from '../../openapi/shapes.ts';
import { showHome } from '../home/handler.ts';
import { health, readiness } from './shapes.ts';

export type GatewayRouteParts = Record<
  'showOpenApi' | 'health' | 'ready' | 'showMetrics' | 'showConfig',
  Route['handler']
>;

const route = routesOf<GatewayRouteParts>({ base: '', tag: 'Gateway', permission: 'none' });

/** Load balancers check with OPTIONS. */
const row = { method: 'OPTIONS', path: '/ready', permission: 'none' } as const;
const readyOptions: DefinedRoute<GatewayRouteParts> = {
  ...row,
  operation: undefined,
  bind: ({ ready }) => ({ ...row, handler: ready }),
};

/** The gateway itself. */
export const gatewayRoutes = [
  route('GET', '/api/v1/openapi.json', {
    id: 'showOpenApi',
    summary: 'Read this document',
    response: { description: 'OpenAPI 3.1.', schema: openObject },
    open: ({ showOpenApi }) => showOpenApi,
  }),
  route('GET', '/api/v1/config', {
    id: 'showConfig',
    summary: 'Read the configuration in use',
    description: 'With defaults, variables of the environment and options of the command line. Secrets are `***`.',
    permission: 'management',
    response: { description: 'The configuration, its file and the version.', schema: inData(openObject) },
    open: ({ showConfig }) => showConfig,
  }),
  route('GET', '/', {
    id: 'showHome',
    summary: 'Show a page for people',
    response: { description: 'First steps, for browsers.', type: 'text/html' },
    open: () => showHome,
  }),
  route('GET', '/health', {
    id: 'health',
    summary: 'Check whether the process runs',
    response: { description: 'It runs.', schema: health },
    open: ({ health }) => health,
  }),
  route('GET', '/ready', {
    id: 'ready',
    summary: 'Check whether the process accepts requests',
    statuses: [503],
    response: { description: 'It does. Other fields name problems.', schema: readiness },
    open: ({ ready }) => ready,
  }),
  route('GET', '/metrics', {
    id: 'showMetrics',
    summary: 'Read the metrics',
    description: '`server.metrics` decides whether a management key is required.',
    statuses: [401, 403, 404],
    response: { description: 'Prometheus text.', type: 'text/plain' },
    open: ({ showMetrics }) => showMetrics,
  }),
  readyOptions,
];
