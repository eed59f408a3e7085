import { GatewayError } from '../../domain/errors.ts';
import type { CustomTool, FunctionTool, NamespaceTool, Tool, ToolChoice } from '../../domain/items.ts';
import { type Draft, dropUnknown, refuse } from './draft.ts';
import type { ChatTool, ChatToolChoice, OfferedTool } from './wire.ts';

/** A group is flattened into the name: chat completions knows no namespaces. @see responses-tools.md section 2 */
export const upstreamName = (name: string, namespace: string | undefined): string =>
  namespace === undefined ? name : `${namespace}__${name}`;

/** The tools of one request. The map keeps their order; `offered` has those whose calls must be translated back. */
export interface ToolBox {
  tools: Map<string, ChatTool>;
  offered: Map<string, OfferedTool> | undefined;
}

type Callable = FunctionTool | CustomTool | NamespaceTool['tools'][number];

const known = {
  function: new Set(['type', 'name', 'description', 'parameters', 'strict']),
  custom: new Set(['type', 'name', 'description', 'format']),
  namespace: new Set(['type', 'name', 'description', 'tools']),
};

/**
 * Adds a list of tools to the box.
 *
 * @param path of the list: `tools` or `input[0].tools`
 * @param replaces a tool that comes up again takes the place of the earlier one; otherwise it is an error
 */
export function addTools(draft: Draft, box: ToolBox, tools: readonly Tool[], path: string, replaces = false): void {
  for (let index = 0; index < tools.length; index++) {
    const tool = tools[index]!;
    const place = () => `${path}[${index}]`;
    switch (tool.type) {
      case 'function':
      case 'custom':
        addTool(draft, box, tool as FunctionTool | CustomTool, undefined, place, replaces);
        break;
      case 'namespace': {
        const group = tool as NamespaceTool;
        dropUnknown(draft, group, known.namespace, place);
        group.tools.forEach((entry, entryIndex) => {
          addTool(draft, box, entry, group, () => `${place()}.tools[${entryIndex}]`, replaces);
        });
        break;
      }
      default:
        throw refuse(draft, place(), `The tool ${tool.type}`);
    }
  }
}

function addTool(
  draft: Draft,
  box: ToolBox,
  tool: Callable,
  group: NamespaceTool | undefined,
  place: () => string,
  replaces: boolean,
): void {
  dropUnknown(draft, tool, known[tool.type], place);
  const name = upstreamName(tool.name, group?.name);
  if (!replaces && box.tools.has(name)) {
    throw new GatewayError(
      'invalid_request',
      `${place()}.name: two tools would be called ${name} at ${draft.target.endpoint}.`,
    );
  }
  box.tools.set(name, tool.type === 'custom' ? writeCustom(name, tool, group) : writeFunction(name, tool, group));
  if (tool.type === 'custom' || group !== undefined) {
    box.offered ??= new Map();
    box.offered.set(name, { name: tool.name, kind: tool.type, namespace: group?.name });
  } else {
    box.offered?.delete(name);
  }
}

function writeFunction(
  name: string,
  tool: FunctionTool | Exclude<NamespaceTool['tools'][number], CustomTool>,
  group: NamespaceTool | undefined,
): ChatTool {
  const written: ChatTool = { type: 'function', function: { name } };
  const description = describe(group, tool.description);
  if (description) written.function.description = description;
  if (tool.parameters) written.function.parameters = tool.parameters;
  if (tool.strict !== null && tool.strict !== undefined) written.function.strict = tool.strict;
  return written;
}

/** A function with one text, which the reader takes out again. */
function writeCustom(name: string, tool: CustomTool, group: NamespaceTool | undefined): ChatTool {
  const grammar =
    tool.format?.type === 'grammar'
      ? `\`input\` must match this grammar (${tool.format.syntax}):\n${tool.format.definition}`
      : undefined;
  const description = describe(group, tool.description, grammar);
  const written: ChatTool = { type: 'function', function: { name } };
  if (description) written.function.description = description;
  written.function.parameters = {
    type: 'object',
    properties: { input: { type: 'string' } },
    required: ['input'],
    additionalProperties: false,
  };
  return written;
}

function describe(group: NamespaceTool | undefined, ...texts: (string | null | undefined)[]): string {
  if (group === undefined && texts.length === 1) return texts[0] ?? '';
  return [group?.description, ...texts].filter(Boolean).join('\n\n');
}

/** The tools that go out, and which of them the model must or may call. */
export interface ToolPlan {
  tools: ChatTool[];
  choice?: ChatToolChoice;
}

/** Applies `tool_choice`; of `allowed_tools` the listed tools alone are sent, and its mode is the choice. */
export function planTools(draft: Draft, box: ToolBox, choice: ToolChoice | undefined): ToolPlan {
  const all = [...box.tools.values()];
  if (choice === undefined || choice === null) return { tools: all };
  if (typeof choice === 'string') {
    if (all.length > 0 || choice === 'required') return { tools: all, choice };
    draft.dropped.push('tool_choice'); // servers refuse the field when there are no tools
    return { tools: all };
  }
  switch (choice.type) {
    case 'function':
    case 'custom':
      return { tools: all, choice: { type: 'function', function: { name: findName(box, choice) } } };
    case 'allowed_tools': {
      const allowed = new Set<string>();
      choice.tools.forEach((entry, index) => {
        const names = namesOf(box, entry);
        if (names.length === 0) draft.dropped.push(`tool_choice.tools[${index}]`);
        for (const name of names) allowed.add(name);
      });
      const tools = [...box.tools].filter(([name]) => allowed.has(name)).map(([, tool]) => tool);
      if (tools.length > 0) return { tools, choice: choice.mode };
      if (choice.mode === 'required') throw refuse(draft, 'tool_choice.tools', 'A choice of none of the offered tools');
      return { tools };
    }
    default:
      throw refuse(draft, 'tool_choice', `The choice of the tool ${choice.type}`);
  }
}

interface Choice {
  type: string;
  name?: string;
  namespace?: unknown;
}

function namesOf(box: ToolBox, entry: Choice): string[] {
  if (entry.type === 'namespace') {
    return [...(box.offered ?? [])].filter(([, { namespace }]) => namespace === entry.name).map(([name]) => name);
  }
  if (entry.type !== 'function' && entry.type !== 'custom') return [];
  const name = findName(box, entry);
  return box.tools.has(name) ? [name] : [];
}

/** The name upstream of a chosen tool. One in a namespace may be chosen by its short name. */
function findName(box: ToolBox, { name = '', namespace }: Choice): string {
  if (typeof namespace === 'string') return upstreamName(name, namespace);
  if (box.tools.has(name)) return name;
  for (const [flatName, tool] of box.offered ?? []) if (tool.name === name) return flatName;
  return name;
}
