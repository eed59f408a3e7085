import { isHosted, isServerTool, type NamespaceTool, type Tool, toolTypes } from './items.ts';

/** Tools of `additional_tools` items → their paths in the request. */
const places = new WeakMap<object, string>();

/** Notes where a tool came from, for messages. */
export const noteLateTool = (tool: Tool, path: string): void => void places.set(tool, path);

/** Returns the path of an entry of `tools`. A late one has its path in `input`. */
export const findToolPath = (tool: Tool, index: number): string => places.get(tool) ?? `tools[${index}]`;

/** Whether the model must see a late tool in the list of the others: the gateway may run, show or replace it. */
export function joinsTools(tool: Tool): boolean {
  if (isServerTool(tool) || (isHosted(tool) && toolTypes.has(tool.type))) return true;
  if (tool.type !== 'namespace') return isDeferred(tool);
  return (tool as NamespaceTool).tools.some(isDeferred);
}

const isDeferred = (tool: object): boolean => 'defer_loading' in tool && tool.defer_loading === true;
