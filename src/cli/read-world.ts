import { createCatalog } from '../catalog/catalog.ts';
import { loadCatalogRecords } from '../catalog/load-catalog.ts';
import { buildEndpoints } from '../compose/build-endpoints.ts';
import type { LoadedConfig } from '../config/load.ts';
import { createWorld } from '../routing/world.ts';

/**
 * Where requests would be routed by a gateway with this configuration that has served nothing yet. Workspaces have their
 * names for ids, since the store is not asked.
 *
 * @param warn told what is odd in the catalogue's files
 * @throws with a message for people when the configuration contradicts itself
 */
export function readWorld({ config, dataDir }: LoadedConfig, warn: (message: string) => void) {
  const { builtin, overrides } = config.catalog;
  const records = loadCatalogRecords({ builtin, overrides, dataDir }, warn);
  const { endpoints, models } = buildEndpoints(config, records, (named) => placeOf({ config }, named));
  const catalog = createCatalog(endpoints, models, records);
  return { ...createWorld(catalog, { routers: config.routers, seed: config.routing.seed }), catalog };
}

/** The id of a workspace in that world. Names and ids of the file are one there, and so they are of the store. */
export function placeOf({ config }: Pick<LoadedConfig, 'config'>, named = ''): string {
  const { workspaces } = config.bootstrap;
  return workspaces.find(({ id, name }) => id === named || name === named)?.name ?? named;
}
