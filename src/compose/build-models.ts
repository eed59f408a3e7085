import { type Catalog, createCatalog } from '../catalog/catalog.ts';
import { loadCatalogRecords } from '../catalog/load-catalog.ts';
import type { Config } from '../config/schema.ts';
import type { WorkspaceRecord } from '../platform/storage/ports/workspaces.ts';
import type { Provider } from '../providers/provider.ts';
import type { ConfiguredMcpServer } from '../domain/mcp.ts';
import { buildEndpoints } from './build-endpoints.ts';
import { buildMcpServers } from './build-mcp-servers.ts';

/** The models of a configuration, and its MCP servers. A reload rebuilds them. */
export interface ConfiguredModels {
  providers: readonly Provider[];
  catalog: Catalog;
  /** By label. */
  mcpServers: ReadonlyMap<string, ConfiguredMcpServer>;
}

export interface ModelsOptions {
  dataDir: string;
  workspaces: readonly Pick<WorkspaceRecord, 'id' | 'name'>[];
  /** The providers before a reload. */
  before?: readonly Provider[] | undefined;
  /** Called for a problem in the catalog's files. */
  warn: (message: string) => void;
}

/** @throws with a message for the operator if the configuration contradicts itself or names an unknown workspace */
export function buildModels(
  config: Config,
  { dataDir, workspaces, warn, before = [] }: ModelsOptions,
): ConfiguredModels {
  const { builtin, overrides } = config.catalog;
  const records = loadCatalogRecords({ builtin, overrides, dataDir }, warn);
  const findWorkspace = (named: string): string => {
    const found = workspaces.find(({ id, name }) => id === named || name === named);
    if (!found) throw new Error(`there is no workspace ${named}; add it to bootstrap.workspaces.`);
    return found.id;
  };
  const { providers, endpoints, models } = buildEndpoints(config, records, findWorkspace, before);
  const mcpServers = buildMcpServers(config.mcp, findWorkspace);
  return { providers, catalog: createCatalog(endpoints, models, records), mcpServers };
}
