import type { NamespaceTool } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';

/** A tool of any kind, with the fields that checks read. */
export interface AnyTool {
  type: string;
  defer_loading?: boolean;
}

/**
 * Finds tools in `tools` and in the `additional_tools` items, members of namespaces included. Only the paths of those
 * that are meant are written: agents send a hundred tools with each request.
 */
export function findTools(
  { tools, input }: ResponseRequest,
  isMeant: (tool: AnyTool) => boolean,
): { path: string; tool: AnyTool }[] {
  const found: { path: string; tool: AnyTool }[] = [];
  const look = (list: readonly AnyTool[], path: string): void => {
    for (const [index, tool] of list.entries()) {
      if (tool.type === 'namespace') look((tool as NamespaceTool).tools, `${path}[${index}].tools`);
      else if (isMeant(tool)) found.push({ path: `${path}[${index}]`, tool });
    }
  };
  if (tools) look(tools as AnyTool[], 'tools');
  for (let index = 0; index < input.length; index++) {
    const item = input[index]!;
    if (item.type === 'additional_tools') look(item.tools as AnyTool[], `input[${index}].tools`);
  }
  return found;
}
