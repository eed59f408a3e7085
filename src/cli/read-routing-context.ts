import { createCatalog } from '../catalog/catalog.ts';
import { loadCatalogRecords } from '../catalog/load-catalog.ts';
import { buildEndpoints } from '../compose/build-endpoints.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { WorkspaceRecord } from '../platform/storage/ports/workspaces.ts';
import { createRoutingContext } from '../routing/routing-context.ts';

/**
 * Where requests would be routed by a gateway with this configuration that has served nothing yet. Workspaces have their
 * names for ids, since the store need not be asked.
 *
 * @param warn told what is odd in the catalog's files
 * @param stored workspaces of the store, for providers that name one by its id
 * @throws with a message for people when the configuration contradicts itself
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

/** The id of a workspace in that world: its name, in the file before the store. What neither has stays as it is. */
export function resolveWorkspaceId(
  { config }: Pick<LoadedConfig, 'config'>,
  named: string,
  stored: readonly NamedWorkspace[] = [],
): string {
  const isNamed = ({ id, name }: { id?: string; name: string }) => id === named || name === named;
  const inFile = config.bootstrap.workspaces.find(isNamed);
  if (inFile) return inFile.name;
  const found = stored.find(isNamed);
  // One of the store may have another name in the file.
  return (
    config.bootstrap.workspaces.find(({ id }) => id !== undefined && id === found?.id)?.name ?? found?.name ?? named
  );
}
