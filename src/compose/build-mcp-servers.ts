import type { McpConfig } from '../config/schema.ts';
import type { ConfiguredMcpServer, McpServer } from '../domain/mcp.ts';

/**
 * Reads the MCP servers of the operator.
 *
 * @param findWorkspace returns the id of a workspace by its name or id
 * @throws with a message for the operator if a workspace does not exist
 */
export function buildMcpServers(
  { servers, timeout_ms }: McpConfig,
  findWorkspace: (named: string) => string,
): ReadonlyMap<string, ConfiguredMcpServer> {
  return new Map(
    Object.entries(servers).map(([label, server]): [string, ConfiguredMcpServer] => {
      const { workspaces, allowed_tools, require_approval, description } = server;
      return [
        label,
        {
          server: { label, owner: 'operator', target: readTarget(server), timeoutMs: server.timeout_ms ?? timeout_ms },
          workspaces: workspaces && new Set(workspaces.map((named) => naming(label, () => findWorkspace(named)))),
          allowedTools: allowed_tools && new Set(allowed_tools),
          approval: require_approval,
          description,
        },
      ];
    }),
  );
}

function readTarget({
  url,
  headers = {},
  command,
  args = [],
  env = {},
  cwd,
}: McpConfig['servers'][string]): McpServer['target'] {
  if (url !== undefined) return { type: 'http', url, headers, isCallers: false };
  return { type: 'process', command: command!, args, env, cwd }; // the configuration has one of both
}

function naming<T>(label: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Error(`mcp.servers.${label}.workspaces: ${(error as Error).message}`, { cause: error }); // it throws Errors
  }
}
