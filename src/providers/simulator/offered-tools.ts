import { type InputItem, nameFunction, type Tool, type ToolChoice } from '../../domain/items.ts';
import type { SimulatorRequest } from './wire.ts';

/** A tool that the model may call in this turn. */
export interface CallableTool {
  kind: 'function' | 'custom';
  name: string;
  namespace?: string;
  /** Parameters of a function. Null if it has none. */
  parameters?: Record<string, unknown> | null;
}

/** Returns the tools of the request and of `additional_tools` items that `tool_choice` allows. */
export function listOfferedTools({ tools = [], tool_choice: choice, input }: SimulatorRequest): CallableTool[] {
  return [...tools, ...input.flatMap(readAdditionalTools)].flatMap(flatten).filter((tool) => isAllowed(tool, choice));
}

/** Whether the model must call a tool, regardless of the prompt. */
export function requiresToolCall(choice: ToolChoice | undefined): boolean {
  if (typeof choice !== 'object') return choice === 'required';
  return choice.type === 'function' || choice.type === 'custom' || ('mode' in choice && choice.mode === 'required');
}

/**
 * Finds a tool by its name. A tool in a group is also found by `group.name`, a server tool by its type, and a hosted tool
 * that the gateway runs by its type, such as `shell`.
 */
export function findTool(tools: CallableTool[], name: string): CallableTool | undefined {
  const shown = nameFunction(name);
  const found = tools.find((tool) => tool.name === shown || `${tool.namespace}.${tool.name}` === name);
  return found ?? tools.find((tool) => tool.name === nameFunction(`router:${name}`));
}

const readAdditionalTools = (item: InputItem): Tool[] => (item.type === 'additional_tools' ? item.tools : []);

function flatten(tool: Tool): CallableTool[] {
  switch (tool.type) {
    case 'function':
      return [{ kind: 'function', name: tool.name, parameters: tool.parameters }];
    case 'custom':
      return [{ kind: 'custom', name: tool.name }];
    case 'namespace':
      return tool.tools.flatMap((inner) => flatten(inner as Tool).map((flat) => ({ ...flat, namespace: tool.name })));
    default:
      return [];
  }
}

function isAllowed(tool: CallableTool, choice: ToolChoice | undefined): boolean {
  if (choice === 'none') return false;
  if (typeof choice !== 'object') return true;
  if (choice.type === 'allowed_tools') return choice.tools.some((allowed) => allowed.name === tool.name);
  return !('name' in choice) || choice.name === tool.name;
}
