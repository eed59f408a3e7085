import { createCatalog } from '../catalog/catalog.ts';
import { loadCatalogRecords } from '../catalog/load-catalog.ts';
import { buildEndpoints } from '../compose/build-endpoints.ts';
import type { LoadedConfig } from '../config/load.ts';
import { createRoutingContext } from '../routing/routing-context.ts';
import { type NamedWorkspace, resolveWorkspaceId } from './resolve-workspace-id.ts';

/**
 * Creates the routing context of a gateway with this configuration that has served no request. Uses the names of
 * workspaces as their ids, because the store is not needed.
 *
 * @param warn called with problems in the files of the catalog
 * @param stored workspaces of the store, for providers that name one by its id
 * @param resolveId returns the id of a workspace that a provider names
 * @throws {Error} with a message for the operator, if the configuration contradicts itself
 */
export function readRoutingContext(
  { config, dataDir }: LoadedConfig,
  warn: (message: string) => void,
  stored: readonly NamedWorkspace[] = [],
  resolveId = (named: string): string => resolveWorkspaceId({ config }, named, stored),
) {
  const { builtin, overrides } = config.catalog;
  const records = loadCatalogRecords({ builtin, overrides, dataDir }, warn);
  const { endpoints, models } = buildEndpoints(config, records, resolveId);
  const catalog = createCatalog(endpoints, models, records);
  return {
    ...createRoutingContext(catalog, {
      routers: config.routers,
      strategies: config.routing,
      seed: config.routing.seed,
    }),
    catalog,
  };
}
