import { isHosted, isServerTool, type Tool } from '../../domain/items.ts';
import { findToolPath } from '../../domain/late-tools.ts';
import { createUrlCheck, nameUse, type Reach, refuseUse } from '../../domain/reach.ts';
import type { ServerTool } from '../../tools/server-tool.ts';
import type { Run } from '../run/run.ts';

/** Removes the tools that the run itself serves, and lists them in the metadata. */
export function hideTools({ stages }: Run, served: readonly string[], all: readonly Tool[]): readonly Tool[] {
  const hidden = all.filter(({ type }) => served.includes(type)).map(({ type }) => type);
  if (hidden.length === 0) return all;
  stages.push({ type: 'server_tools', name: 'depth-guard', data: { unavailable: hidden } });
  return all.filter(({ type }) => !served.includes(type));
}

/**
 * Whether some tool runs at the gateway. Every request with tools asks, and most have only functions.
 *
 * @throws {GatewayError} `permission_denied` for a tool that an intern cannot use
 */
export function namesTool(
  { caller }: Run,
  named: readonly Tool[],
  replacing: ReadonlyMap<string, ServerTool>,
): boolean {
  if (caller.reach) checkUse(caller.reach, named);
  for (const tool of named) {
    if (tool.type === 'function') continue;
    if (isServerTool(tool) || replacing.has(tool.type) || tool.type === 'mcp') return true;
  }
  return false;
}

function checkUse(reach: Reach, all: readonly Tool[]): void {
  for (const [index, tool] of all.entries()) {
    if (!isServerTool(tool) && !isHosted(tool)) continue;
    const name = nameUse(tool);
    if (name === undefined || !reach.mayUse(name))
      throw refuseUse(`${findToolPath(tool, index)}.type`, name ?? tool.type);
    const { server_url: url } = tool as { server_url?: unknown };
    if (tool.type === 'mcp' && typeof url === 'string')
      checkServer(reach, url, `${findToolPath(tool, index)}.server_url`);
  }
}

/** A URL that cannot be parsed is rejected with the other fields of the server. */
function checkServer(reach: Reach, url: string, path: string): void {
  const parsed = URL.parse(url);
  if (parsed) createUrlCheck(reach, path)?.(parsed);
}
