import { loadCatalogRecords } from '../catalog/load-catalog.ts';
import { buildEndpoints } from '../compose/build-endpoints.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Endpoint } from '../providers/provider.ts';

/** Lists the endpoints of a configuration that a gateway has loaded, in its order. The gateway has logged its warnings. */
export function listEndpoints({ config, dataDir }: LoadedConfig): Endpoint[] {
  const { builtin, overrides } = config.catalog;
  const records = loadCatalogRecords({ builtin, overrides, dataDir }, () => {});
  const { endpoints, providers } = buildEndpoints(config, records);
  for (const provider of providers) void provider.close(true);
  return endpoints;
}
