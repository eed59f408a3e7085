import type { AdditionalToolsItem, InputItem, Tool } from '../../domain/items.ts';
import { joinsTools, noteLateTool } from '../../domain/late-tools.ts';
import type { ParsedRequest } from './request.ts';

/** Tools that several entries may have. */
const repeatable: ReadonlySet<string> = new Set(['mcp', 'router:advisor', 'router:subagent', 'namespace']);

/**
 * Moves the tools of `additional_tools` items that are not plain functions into `tools`, where the gateway runs, shows or
 * replaces them. A late tool replaces an earlier one, as a late function does. Changes the request. // choice 555
 *
 * @see docs/reference/tools.md
 */
export function joinLateTools(read: ParsedRequest): void {
  const { request } = read;
  const late: Tool[] = [];
  const { input } = request;
  for (let index = 0; index < input.length; index++) {
    const item = input[index]!;
    if (item.type !== 'additional_tools') continue;
    for (const [at, tool] of (item as AdditionalToolsItem).tools.entries()) {
      if (!joinsTools(tool)) continue;
      noteLateTool(tool, `input[${index}].tools[${at}]`);
      late.push(tool);
    }
  }
  if (late.length === 0) return;
  read.hasLateTools = true;
  const all = [...(request.tools ?? []), ...late];
  const named = new Set(late.map(nameTool));
  const last = new Map(all.map((tool, index) => [nameTool(tool), index]));
  request.tools = all.filter((tool, index) => {
    const name = nameTool(tool);
    return repeatable.has(tool.type) || !named.has(name) || last.get(name) === index;
  });
  request.input = withoutLateTools(request.input);
}

/** Removes the tools that `joinLateTools` has moved. An item without others is left out. */
export const withoutLateTools = (input: readonly InputItem[]): InputItem[] =>
  input.flatMap((item) => {
    if (item.type !== 'additional_tools') return [item];
    const { tools } = item as AdditionalToolsItem;
    const left = tools.filter((tool) => !joinsTools(tool));
    if (left.length === tools.length) return [item];
    return left.length === 0 ? [] : [{ ...item, tools: left } as InputItem];
  });

/** Two tools with the same text replace one another. */
const nameTool = (tool: Tool): string => `${tool.type} ${'name' in tool ? tool.name : ''}`;
