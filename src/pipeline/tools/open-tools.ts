import { invalidRequest, type Issue } from '../../domain/errors.ts';
import {
  type AdditionalToolsItem,
  type FunctionTool,
  type InputItem,
  isServerTool,
  type NamespaceTool,
  type ServerTool as NamedTool,
  type Tool,
  type ToolChoice,
} from '../../domain/items.ts';
import type { RequestSettings } from '../../domain/request.ts';
import type { ServerTool } from '../../tools/server-tool.ts';
import type { Run } from '../run/run.ts';
import type { ServerTools } from '../run/server-tools.ts';
import { replayItems } from './replay-items.ts';
import type { CallPorts, OfferedTool } from './call-tool.ts';
import { ServerToolLoop } from './tool-loop.ts';

export interface ServerToolsParts extends CallPorts {
  /** All tools of the gateway, by type. */
  tools: ReadonlyMap<string, ServerTool>;
}

/** Creates the server tools of a gateway. */
export const createServerTools = ({ tools, ...ports }: ServerToolsParts): ServerTools => ({
  open(run) {
    const { tools: named } = run.request;
    if (!named?.some(isServerTool)) return undefined;
    const clientNames = listClientNames(run, named);
    const offered = checkTools(named, tools, clientNames);
    const { max_tool_calls: limit, stop_server_tools_when: conditions } = run.request;
    return new ServerToolLoop({
      run,
      offered,
      clientNames,
      settings: showTools(run.request, named, limit === 0 && conditions === undefined ? new Map() : offered),
      ports,
    });
  },
  replay: (input) => replayItems(input, tools),
});

/** @returns the tools by the name that the model sees */
function checkTools(
  named: readonly Tool[],
  tools: ReadonlyMap<string, ServerTool>,
  clientNames: ReadonlySet<string>,
): ReadonlyMap<string, OfferedTool> {
  const offered = new Map<string, OfferedTool>();
  const issues: Issue[] = [];
  for (const [index, entry] of named.entries()) {
    if (!isServerTool(entry)) continue;
    const path = `tools[${index}]`;
    const tool = tools.get(entry.type);
    const { parameters = {} } = entry as NamedTool;
    if (!tool) {
      const known = [...tools.keys()].map((type) => `\`${type}\``).join(', ');
      issues.push({ path: `${path}.type`, message: `\`type\` names no tool of this gateway; it has ${known}.` });
    } else if (offered.has(tool.name)) {
      issues.push({ path: `${path}.type`, message: `\`type\` repeats \`${entry.type}\`; name it once.` });
    } else if (clientNames.has(tool.name)) {
      const message = `\`type\` clashes with your function \`${tool.name}\`, the name under which the model sees \`${entry.type}\`; rename the function.`;
      issues.push({ path: `${path}.type`, message });
    } else {
      for (const issue of tool.checkParameters(parameters)) issues.push({ ...issue, path: `${path}.${issue.path}` });
      offered.set(tool.name, { tool, parameters, begun: 0 });
    }
  }
  if (issues.length > 0) throw invalidRequest(issues);
  return offered;
}

/** The names under which the model sees the caller's own tools. */
function listClientNames(run: Run, named: readonly Tool[]): ReadonlySet<string> {
  const late = run.input.read().flatMap((item) => (isToolList(item) ? item.tools : []));
  return new Set([...named, ...late].flatMap(namesOf));
}

const isToolList = (item: InputItem): item is AdditionalToolsItem => item.type === 'additional_tools';

function namesOf(tool: Tool): string[] {
  if (tool.type === 'namespace') {
    const { name: group, tools } = tool as NamespaceTool;
    return tools.flatMap(({ name }) => [name, `${group}__${name}`]);
  }
  return 'name' in tool && typeof tool.name === 'string' ? [tool.name] : [];
}

/** Returns the settings with which the model sees server tools as functions. */
function showTools(
  { tool_choice: choice }: RequestSettings,
  named: readonly Tool[],
  offered: ReadonlyMap<string, OfferedTool>,
): Partial<RequestSettings> {
  const byType = new Map([...offered.values()].map(({ tool }) => [tool.type as string, tool]));
  const tools = named.flatMap((entry): Tool[] => {
    if (!isServerTool(entry)) return [entry];
    const tool = byType.get(entry.type);
    return tool ? [showTool(tool)] : [];
  });
  const shown = choice === undefined ? undefined : showChoice(choice, byType, tools.length > 0);
  return shown === undefined ? { tools } : { tools, tool_choice: shown };
}

/** `strict` is false, because strict functions have no optional arguments. */
const showTool = ({ name, description, arguments: parameters }: ServerTool): FunctionTool => ({
  type: 'function',
  name,
  description,
  parameters,
  strict: false,
});

function showChoice(choice: ToolChoice, byType: ReadonlyMap<string, ServerTool>, hasTools: boolean): ToolChoice {
  if (typeof choice === 'string') return hasTools ? choice : 'auto';
  if (choice.type === 'allowed_tools') {
    const tools = choice.tools.flatMap((entry) => {
      if (!isServerTool(entry)) return [entry];
      const tool = byType.get(entry.type);
      return tool ? [{ type: 'function', name: tool.name }] : [];
    });
    return { ...choice, tools };
  }
  if (!isServerTool(choice)) return choice;
  const tool = byType.get(choice.type);
  return tool ? { type: 'function', name: tool.name } : 'auto';
}
