import type { Caller } from '../domain/caller.ts';
import type { Issue } from '../domain/errors.ts';
import type { ServerTool } from './server-tool.ts';

/** An entry of `parameters.tools` of a tool that calls another model. */
export interface InnerTool {
  readonly type: string;
  readonly parameters?: Record<string, unknown>;
}

/** Finds a server tool of the gateway by its type. */
export type FindTool = (type: string) => ServerTool | undefined;

/** Checks the tools of another model as those of a request are. @returns issues with paths below `parameters` */
export function checkInnerTools(tools: readonly InnerTool[], findTool: FindTool, caller?: Caller): Issue[] {
  const issues: Issue[] = [];
  const entries = new Map<ServerTool, { places: number[]; parameters: unknown[] }>();
  for (const [index, { type, parameters = {} }] of tools.entries()) {
    const path = `parameters.tools[${index}]`;
    const tool = findTool(type);
    if (!tool) {
      issues.push({
        path: `${path}.type`,
        message: `\`type\` names no tool of this gateway: "${type.slice(0, 100)}".`,
      });
      continue;
    }
    const known = entries.get(tool) ?? { places: [], parameters: [] };
    if (known.places.length > 0 && !tool.checkEntries) {
      issues.push({ path: `${path}.type`, message: `\`type\` repeats \`${type}\`; name it once.` });
      continue;
    }
    entries.set(tool, known);
    known.places.push(index);
    known.parameters.push(parameters);
    for (const issue of tool.checkParameters(parameters, caller))
      issues.push({ ...issue, path: `${path}.${issue.path}` });
  }
  for (const [tool, { places, parameters }] of entries) {
    for (const { path, message } of tool.checkEntries?.(parameters) ?? []) {
      const placed = path.replace(/^\[(\d+)\]/, (_, at) => `parameters.tools[${places[Number(at)]}]`);
      issues.push({ path: placed, message });
    }
  }
  return issues;
}
