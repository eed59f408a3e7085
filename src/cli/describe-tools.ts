import { isServerTool } from '../domain/items.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { StageRecord } from '../domain/router-metadata.ts';
import { MAX_STEPS } from '../pipeline/run/server-tools.ts';
import { MAX_TOOL_CALLS } from '../pipeline/tools/tool-loop.ts';

/** Returns the server tools of a request and the limits of its loop; empty: it has none. */
export function describeTools({
  tools = [],
  max_tool_calls: limit,
  stop_server_tools_when: conditions,
}: ResponseRequest): StageRecord[] {
  const types = tools.filter((tool) => isServerTool(tool) || tool.type === 'mcp').map(({ type }) => type);
  if (types.length === 0) return [];
  const ends =
    conditions === undefined
      ? { max_tool_calls: limit ?? MAX_TOOL_CALLS }
      : { stop_when: [conditions].flat().map(({ type }) => type) };
  return [{ type: 'server_tools', name: 'server-tools', data: { tools: types, ...ends, max_turns: MAX_STEPS } }];
}
