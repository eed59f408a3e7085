import { createCatalog } from '../catalog/catalog.ts';
import { loadCatalogRecords } from '../catalog/load-catalog.ts';
import { buildEndpoints } from '../compose/build-endpoints.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { WorkspaceRecord } from '../platform/storage/ports/workspaces.ts';
import { createRoutingContext } from '../routing/routing-context.ts';

/**
 * Creates the routing context of a gateway with this configuration that has served no request. Uses the names of
 * workspaces as their ids, because the store is not needed.
 *
 * @param warn called with problems in the files of the catalog
 * @param stored workspaces of the store, for providers that name one by its id
 * @throws {Error} with a message for the operator, if the configuration contradicts itself
 */
export function readRoutingContext(
  { config, dataDir }: LoadedConfig,
  warn: (message: string) => void,
  stored: readonly NamedWorkspace[] = [],
) {
  const { builtin, overrides } = config.catalog;
  const records = loadCatalogRecords({ builtin, overrides, dataDir }, warn);
  const { endpoints, models } = buildEndpoints(config, records, (named) =>
    resolveWorkspaceId({ config }, named, stored),
  );
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

type NamedWorkspace = Pick<WorkspaceRecord, 'id' | 'name'>;

/**
 * Returns the id of a workspace in that context: its name in the file, or else its name in the store. Returns an
 * unknown id unchanged.
 */
export function resolveWorkspaceId(
  { config }: Pick<LoadedConfig, 'config'>,
  named: string,
  stored: readonly NamedWorkspace[] = [],
): string {
  const isNamed = ({ id, name }: { id?: string; name: string }) => id === named || name === named;
  const inFile = config.bootstrap.workspaces.find(isNamed);
  if (inFile) return inFile.name;
  const found = stored.find(isNamed);
  // A stored workspace may have another name in the file.
  return (
    config.bootstrap.workspaces.find(({ id }) => id !== undefined && id === found?.id)?.name ?? found?.name ?? named
  );
}
