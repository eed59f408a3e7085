import { loadTools } from '../compose/load-tools.ts';
import { invalidRequest } from '../domain/errors.ts';
import { isServerTool } from '../domain/items.ts';
import { findToolPath } from '../domain/late-tools.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { StageRecord } from '../domain/router-metadata.ts';
import { explainUnknownTool } from '../pipeline/tools/explain-unknown-tool.ts';
import { nameToolType } from '../pipeline/tools/show-server-tools.ts';
import { MAX_TOOL_CALLS } from '../domain/max-tool-calls.ts';
import { builtInTools } from '../tools/index.ts';

/**
 * Returns the server tools of a request and the limits of its loop; empty: it has none.
 *
 * @param maxSteps `tools.max_steps`
 */
export function describeTools(
  { tools = [], max_tool_calls: limit, stop_server_tools_when: conditions }: ResponseRequest,
  maxSteps: number,
): StageRecord[] {
  const types = tools.filter((tool) => isServerTool(tool) || tool.type === 'mcp').map(({ type }) => type);
  if (types.length === 0) return [];
  const ends =
    conditions === undefined
      ? { max_tool_calls: limit ?? MAX_TOOL_CALLS }
      : { stop_when: [conditions].flat().map(({ type }) => type), max_steps: maxSteps };
  return [{ type: 'server_tools', name: 'server-tools', data: { tools: types, ...ends } }];
}

/**
 * Rejects server tools that the gateway does not have, as the API does. Loads the operator's tools only if the request
 * names one that is not built in.
 *
 * @param modules `tools.modules`
 * @throws {GatewayError} `invalid_request`
 */
export async function rejectUnknownTools({ tools = [] }: ResponseRequest, modules: readonly string[]): Promise<void> {
  const others = tools.flatMap((tool, index) => {
    if (!isServerTool(tool) || builtInTools.includes(nameToolType(tool.type))) return [];
    return [{ type: tool.type, path: findToolPath(tool, index) }];
  });
  if (others.length === 0) return;
  const added: readonly string[] = (await loadTools(modules)).map(({ type }) => type);
  const known = [...builtInTools, ...added];
  const issues = others
    .filter(({ type }) => !added.includes(type))
    .map(({ type, path }) => explainUnknownTool(type, path, known));
  if (issues.length > 0) throw invalidRequest(issues);
}
