import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../../domain/errors.ts';
import {
  type CacheControl,
  type CustomTool,
  type FunctionTool,
  isProviderRun,
  type NamespaceTool,
  searchTypes,
  type Tool,
  type ToolChoice,
} from '../../domain/items.ts';
import { findToolPath } from '../../domain/late-tools.ts';
import { readNative } from '../../domain/native.ts';
import type { OfferedTool } from './offered-tools.ts';
import { type Draft, dropMark, dropUnknown, refuse, refuseBecause, refuseKind } from './draft.ts';

/*
 * Tools for wires that support only functions. A group is flattened into the name. A custom tool is a function with one
 * text parameter. A choice of some tools is a shorter list.
 */

/** Returns the name upstream, which contains the group. @see docs/reference/tools.md#namespace */
export const upstreamName = (name: string, namespace: string | undefined): string =>
  namespace === undefined ? name : `${namespace}__${name}`;

/** A function in a form that every wire can write. */
export interface FlatTool {
  name: string;
  description?: string;
  /** JSON Schema. Absent if the function has no parameters. */
  parameters?: Record<string, unknown>;
  strict?: boolean;
  /** Absent for a wire without marks of tools. */
  cacheControl?: CacheControl;
  /** Fields that exist only in the format of the wire. Absent for requests of other formats. */
  native?: Readonly<Record<string, unknown>>;
}

/**
 * The tools of one request. The map keeps their order. `offered` contains those whose calls must be translated back.
 */
export class ToolBox {
  readonly tools = new Map<string, FlatTool>();
  offered: Map<string, OfferedTool> | undefined;
  /** Types of hosted tools that the provider does not support. They are omitted. */
  readonly leftOut = new Set<string>();
  private byName: Map<string, string[]> | undefined;
  private byGroup: Map<string | undefined, string[]> | undefined;

  /** Returns the name upstream of the first tool with this name in its group. Call it after all tools are added. */
  findByName(name: string): string | undefined {
    this.byName ??= this.index((tool) => tool.name);
    return this.byName.get(name)?.[0];
  }

  /** Returns the names upstream of a group's tools. Call it after all tools are added. */
  listGroup(group: string): readonly string[] {
    this.byGroup ??= this.index((tool) => tool.namespace);
    return this.byGroup.get(group) ?? [];
  }

  /** Indexes the tools, because a choice may list every tool and a linear search for each would be slow. */
  private index<Key>(keyOf: (tool: OfferedTool) => Key): Map<Key, string[]> {
    const index = new Map<Key, string[]>();
    for (const [flatName, tool] of this.offered ?? []) {
      const names = index.get(keyOf(tool));
      if (names) names.push(flatName);
      else index.set(keyOf(tool), [flatName]);
    }
    return index;
  }
}

type Callable = FunctionTool | CustomTool | NamespaceTool['tools'][number];

const known = {
  function: new Set(['type', 'name', 'description', 'parameters', 'strict', 'cache_control']),
  custom: new Set(['type', 'name', 'description', 'format', 'cache_control']),
  namespace: new Set(['type', 'name', 'description', 'tools']),
};

export interface ToolList {
  tools: readonly Tool[];
  /** Path of the list: `tools` or `input[0].tools`. */
  path: string;
  /** Whether a repeated tool replaces the earlier one. Otherwise, it is an error. */
  replaces?: boolean;
  /** Takes a tool that is not a function, custom tool or group. @returns false if it cannot */
  takeOther?: (tool: Tool, place: () => string) => boolean;
}

/** Adds a list of tools to the box. */
export function addTools(draft: Draft, box: ToolBox, list: ToolList): void {
  const { tools, path } = list;
  for (let index = 0; index < tools.length; index++) {
    const tool = tools[index]!;
    const place = () => (path === 'tools' ? findToolPath(tool, index) : `${path}[${index}]`);
    switch (tool.type) {
      case 'function':
      case 'custom':
        addTool(draft, box, tool as FunctionTool | CustomTool, undefined, place, list);
        break;
      case 'namespace': {
        const group = tool as NamespaceTool;
        dropUnknown(draft, group, known.namespace, place);
        group.tools.forEach((entry, entryIndex) => {
          addTool(draft, box, entry, group, () => `${place()}.tools[${entryIndex}]`, list);
        });
        break;
      }
      default:
        if (list.takeOther?.(tool, place)) break;
        if (!isProviderRun(tool)) throw refuseKind(draft, place(), 'tool', tool.type);
        box.leftOut.add(tool.type);
        draft.dropped.push(`${place()} (${tool.type})`);
    }
  }
}

function addTool(
  draft: Draft,
  box: ToolBox,
  tool: Callable,
  group: NamespaceTool | undefined,
  place: () => string,
  { replaces }: ToolList,
): void {
  dropUnknown(draft, tool, known[tool.type], place);
  const name = upstreamName(tool.name, group?.name);
  const flat =
    tool.type === 'custom' ? flattenCustom(draft, name, tool, group) : flattenFunction(draft, name, tool, group);
  const native = draft.keepsNative ? readNative(tool) : undefined;
  const written = native ? { ...flat, native } : flat;
  const isPlain = tool.type !== 'custom' && group === undefined;
  const offered = isPlain ? undefined : { name: tool.name, kind: tool.type, namespace: group?.name };
  const first = replaces ? undefined : box.tools.get(name);
  if (first) {
    // Some clients list a tool twice, which Claude and Gemini reject: LuthienResearch/luthien-proxy#161.
    if (!isDeepStrictEqual([first, box.offered?.get(name)], [written, offered])) {
      throw new GatewayError(
        'invalid_request',
        `${place()}.name: two tools would have the name ${name} at ${draft.target.endpoint}.`,
      );
    }
    draft.adapted.add('repeated tools');
    return;
  }
  box.tools.set(name, written);
  if (offered) {
    box.offered ??= new Map();
    box.offered.set(name, offered);
  } else {
    box.offered?.delete(name);
  }
}

function flattenFunction(
  draft: Draft,
  name: string,
  tool: FunctionTool | Exclude<NamespaceTool['tools'][number], CustomTool>,
  group: NamespaceTool | undefined,
): FlatTool {
  const flat: FlatTool = { name };
  const description = describe(group, tool.description);
  if (description) flat.description = description;
  if (tool.parameters) flat.parameters = tool.parameters;
  if (tool.strict === true) flat.strict = true; // false is the default of every other format
  return markTool(draft, flat, tool.cache_control);
}

function markTool(draft: Draft, flat: FlatTool, mark: CacheControl | null | undefined): FlatTool {
  if (mark && draft.marksTools) flat.cacheControl = mark;
  else if (mark) dropMark(draft);
  return flat;
}

/** Writes a function with one text parameter. The reader extracts the text again. */
function flattenCustom(draft: Draft, name: string, tool: CustomTool, group: NamespaceTool | undefined): FlatTool {
  const grammar =
    tool.format?.type === 'grammar'
      ? `\`input\` must match this grammar (${tool.format.syntax}):\n${tool.format.definition}`
      : undefined;
  const description = describe(group, tool.description, grammar);
  const flat: FlatTool = { name };
  if (description) flat.description = description;
  flat.parameters = {
    type: 'object',
    properties: { input: { type: 'string' } },
    required: ['input'],
    additionalProperties: false,
  };
  return markTool(draft, flat, tool.cache_control);
}

function describe(group: NamespaceTool | undefined, ...texts: (string | null | undefined)[]): string {
  if (group === undefined && texts.length === 1) return texts[0] ?? '';
  return [group?.description, ...texts].filter(Boolean).join('\n\n');
}

/** The tools to send, and which of them the model must or may call. `name`: only this one. */
export interface ToolPlan {
  tools: FlatTool[];
  choice?: 'auto' | 'none' | 'required' | { name: string };
}

/** Applies `tool_choice`. For `allowed_tools`, only the listed tools are sent, and its mode is the choice. */
export function planTools(draft: Draft, box: ToolBox, choice: ToolChoice | undefined): ToolPlan {
  const all = [...box.tools.values()];
  if (choice === undefined || choice === null) return { tools: all };
  if (typeof choice === 'string') {
    if (all.length === 0 && choice === 'required' && box.leftOut.size > 0) {
      throw refuseChoice(draft, [...box.leftOut].join(', '));
    }
    if (all.length > 0 || choice === 'required') return { tools: all, choice };
    draft.dropped.push('tool_choice'); // servers reject the field if there are no tools
    return { tools: all };
  }
  switch (choice.type) {
    case 'function':
    case 'custom':
      return { tools: all, choice: { name: findName(box, choice) } };
    case 'allowed_tools': {
      const allowed = new Set<string>();
      const groups = new Set<string | undefined>();
      choice.tools.forEach((entry, index) => {
        if (entry.type === 'namespace' && groups.size === groups.add(entry.name).size) return; // listed before
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
      throw refuseChoice(draft, choice.type);
  }
}

/** Creates the error for a choice that forces a tool which this provider does not have. */
function refuseChoice(draft: Draft, type: string): GatewayError {
  const search = type.split(', ').some((each) => searchTypes.has(each))
    ? ' The gateway searches itself if tools.web_search.engines is configured.'
    : '';
  return refuseBecause(
    'tool_choice',
    `${draft.target.endpoint} does not have the tool ${type}, and tool_choice forces it.${search}`,
  );
}

interface Choice {
  type: string;
  name?: string;
  namespace?: unknown;
}

function namesOf(box: ToolBox, entry: Choice): readonly string[] {
  if (entry.type === 'namespace') return entry.name === undefined ? [] : box.listGroup(entry.name);
  if (entry.type !== 'function' && entry.type !== 'custom') return [];
  const name = findName(box, entry);
  return box.tools.has(name) ? [name] : [];
}

/** Returns the name upstream of a chosen tool. A tool in a namespace may be chosen by its short name. */
function findName(box: ToolBox, { name = '', namespace }: Choice): string {
  if (typeof namespace === 'string') return upstreamName(name, namespace);
  if (box.tools.has(name)) return name;
  return box.findByName(name) ?? name;
}
