import { TRIGGER } from '../../domain/compaction.ts';
import { GatewayError, type Issue } from '../../domain/errors.ts';
import type { InputItem, Tool, ToolChoice } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { maxIssues, show } from '../../schema/report.ts';
import { toolsOfPlugins } from '../../domain/server-tool-of.ts';

/**
 * Rejects a request whose body has the right shape but contradicts itself.
 *
 * @throws {GatewayError} `unprocessable`, with every problem in `metadata.issues`
 * @see docs/reference/errors.md
 */
export function checkMeaning(request: ResponseRequest): void {
  const found = [
    checkChoice(request),
    checkOutputs(request.input),
    checkTrigger(request.input),
    checkDeferral(request.tools),
  ];
  const issues = found.flat().slice(0, maxIssues);
  const [first] = issues;
  if (first === undefined) return;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more: see error.metadata.issues)` : '';
  throw new GatewayError('unprocessable', `${first.path}: ${first.message}${more}`, { metadata: { issues } });
}

type ChosenTool = { type: string; name?: string | null; server_label?: unknown };

function checkChoice(request: ResponseRequest): Issue[] {
  const choice = request.tool_choice;
  if (choice === undefined || typeof choice === 'string') return [];
  const offered = new Set(findOfferedTools(request).map(keyOf));
  const issues: Issue[] = [];
  const look = (chosen: ChosenTool, path: string) => {
    if (offered.has(keyOf(chosen))) return;
    const isNamed = chosen.type === 'function' || chosen.type === 'custom';
    const isLabeled = chosen.type === 'mcp' && chosen.server_label !== undefined;
    const what = isNamed
      ? `the ${chosen.type} tool ${show(chosen.name)}`
      : isLabeled
        ? `the MCP server ${show(chosen.server_label)}`
        : `a tool of type ${show(chosen.type)}`;
    const message = `\`tool_choice\` names ${what}, which is not in \`tools\`; add it there or choose another.`;
    issues.push({ path: `${path}.${isNamed ? 'name' : isLabeled ? 'server_label' : 'type'}`, message });
  };
  if (isAllowedTools(choice))
    for (const [index, tool] of choice.tools.entries()) look(tool, `tool_choice.tools[${index}]`);
  else look(choice, 'tool_choice');
  return issues;
}

type AllowedTools = Extract<ToolChoice, { type: 'allowed_tools' }>;

const isAllowedTools = (choice: Exclude<ToolChoice, string>): choice is AllowedTools => choice.type === 'allowed_tools';

function findOfferedTools({ tools = [], input, plugins = [] }: ResponseRequest): ChosenTool[] {
  const announced = input.flatMap((item) => (isOfType(item, 'additional_tools') ? item.tools : []));
  const added = plugins.flatMap(({ id, enabled }) => {
    const type = enabled === false || id === 'web' ? undefined : toolsOfPlugins.get(id); // `web` adds no tool
    return type === undefined ? [] : [{ type }];
  });
  return [...[...tools, ...announced].flatMap(readTool), ...added];
}

const isKind = <Kind extends Tool['type']>(tool: Tool, type: Kind): tool is Extract<Tool, { type: Kind }> =>
  tool.type === type;

/** Returns a tool as a choice may name it: a namespace member by its own name or by `<namespace>__<name>`. */
function readTool(tool: Tool): ChosenTool[] {
  if (isKind(tool, 'function') || isKind(tool, 'custom')) return [tool];
  if (tool.type === 'mcp') return [{ type: 'mcp' }, { type: 'mcp', server_label: tool['server_label'] }];
  if (!isKind(tool, 'namespace')) return [{ type: tool.type }];
  const members = tool.tools.flatMap(({ type, name }) => [
    { type, name },
    { type, name: `${tool.name}__${name}` },
  ]);
  return [{ type: 'namespace', name: tool.name }, ...members];
}

/** Types that name the same tool. The `preview` words force any search kind. The shorthand forces the prefixed tool. */
const families = new Map([
  ['web_search', 'search'],
  ['web_search_2025_08_26', 'search'],
  ['web_search_preview', 'search'],
  ['web_search_preview_2025_03_11', 'search'],
  ['local_shell', 'shell'],
  ['router:shell', 'shell'],
  ['router:apply_patch', 'apply_patch'],
  ['tool_search', 'router:tool_search'],
]);

const familyOf = (type: string): string => families.get(type) ?? type;

/** Returns the key that a choice and its tool share: the family, or the type and name of a client's tool. */
function keyOf({ type, name, server_label: label }: ChosenTool): string {
  const isNamed = type === 'function' || type === 'custom' || type === 'namespace';
  if (type === 'mcp' && label !== undefined) return `mcp ${label}`;
  return isNamed ? `${type} ${name}` : familyOf(type);
}

const isOfType = <Kind extends InputItem['type']>(
  item: InputItem,
  type: Kind,
): item is Extract<InputItem, { type: Kind }> => item.type === type;

/**
 * Checks that every output of a client's tool belongs to a call in the same input, even if the call is asynchronous and
 * was sent in an earlier request. A reference may replace the call. All outputs then pass.
 */
function checkOutputs(input: InputItem[]): Issue[] {
  const callIds = new Set<string>();
  let hasOutputs = false;
  for (const item of input) {
    if (item.type === 'item_reference') return [];
    if (isOfType(item, 'function_call') || isOfType(item, 'custom_tool_call')) callIds.add(item.call_id);
    hasOutputs ||= item.type === 'function_call_output' || item.type === 'custom_tool_call_output';
  }
  if (!hasOutputs) return [];
  const issues: Issue[] = [];
  for (let index = 0; index < input.length; index++) {
    const item = input[index]!;
    if (!isOfType(item, 'function_call_output') && !isOfType(item, 'custom_tool_call_output')) continue;
    if (callIds.has(item.call_id)) continue;
    const message = `\`call_id\` ${show(item.call_id)} belongs to no call in \`input\`; send the call along with its output.`;
    issues.push({ path: `input[${index}].call_id`, message });
  }
  return issues;
}

/** Checks that the item that requests a compaction is the last one, and not the only one. */
function checkTrigger(input: InputItem[]): Issue[] {
  const index = input.findIndex(({ type }) => type === TRIGGER);
  if (index === -1) return [];
  const path = `input[${index}]`;
  if (index < input.length - 1) return [{ path, message: `\`${TRIGGER}\` must be the last item.` }];
  return index > 0 ? [] : [{ path: 'input', message: 'There is no conversation to compact.' }];
}

/**
 * Checks that the model sees at least one tool. The search tool counts as one (docs/reference/tools.md#server-tools).
 */
function checkDeferral(tools: Tool[] | undefined): Issue[] {
  if (tools === undefined || tools.length === 0) return [];
  let count = 0;
  for (const tool of tools) {
    const members: object[] = isKind(tool, 'namespace') ? tool.tools : [tool];
    if (!members.every(isDeferred)) return [];
    count += members.length;
  }
  if (count === 0) return [];
  const message = `\`defer_loading\` is \`true\` on all of the tools (${count}); at least one must stay visible.`;
  return [{ path: 'tools', message }];
}

const isDeferred = (tool: object): boolean => 'defer_loading' in tool && tool.defer_loading === true;
