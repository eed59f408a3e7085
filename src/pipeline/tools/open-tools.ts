import { citeSources, type CitableSource } from '../../domain/cite-sources.ts';
import { invalidRequest, type Issue } from '../../domain/errors.ts';
import {
  type AdditionalToolsItem,
  type FunctionTool,
  type GatewayTool,
  type HostedTool,
  type InputItem,
  isServerTool,
  nameInstance,
  type NamespaceTool,
  type Tool,
  type ToolChoice,
} from '../../domain/items.ts';
import { findToolPath } from '../../domain/late-tools.ts';
import type { RequestSettings } from '../../domain/request.ts';
import type { ServerTool } from '../../tools/server-tool.ts';
import type { Run } from '../run/run.ts';
import type { OpenMcp, ServerTools } from '../run/server-tools.ts';
import { DeferredTools } from './deferred-tools.ts';
import { useNativeTools } from './native-tools.ts';
import { replayItems } from './replay-items.ts';
import type { CallPorts, OfferedServerTool, SharedByEntries } from './planned-call.ts';
import { ServerToolLoop } from './tool-loop.ts';

export interface ServerToolsParts extends CallPorts {
  /** All tools of the gateway, by type. */
  tools: ReadonlyMap<string, ServerTool>;
  openMcp: OpenMcp;
  /** Whether an MCP server of the operator has this label. */
  ownsMcp(label: string): boolean;
}

/** Creates the server tools of a gateway. */
export function createServerTools({ tools, openMcp, ownsMcp, ...ports }: ServerToolsParts): ServerTools {
  const replacing = new Map(
    [...tools.values()].flatMap((tool) => [...(tool.hosted?.types ?? [])].map((type) => [type, tool])),
  );
  return {
    open(run) {
      const { tools: all } = run.request;
      if (!all || !namesTool(all, replacing)) return undefined;
      const named = run.within ? hideTools(run, run.within, all) : all;
      const clientNames = listClientNames(run, named);
      const deferred = new DeferredTools(run.request, run.input.read());
      const offered = checkTools(named, { tools, replacing, deferred, caller: run.caller }, clientNames);
      const mcp = openMcp(run, clientNames, offered);
      if (offered.size === 0 && !mcp && named === all) return undefined;
      const found: CitableSource[] = [];
      const { max_tool_calls: limit, stop_server_tools_when: conditions } = run.request;
      const isOff = limit === 0 && conditions === undefined;
      const settings = showTools(run.request, named, isOff ? new Map() : offered);
      const visible = () => (deferred.list.length === 0 ? settings : deferred.show(settings));
      return new ServerToolLoop({
        run,
        offered,
        clientNames,
        mcp,
        settings: mcp ? () => mcp.show(visible()) : visible,
        adapt: (request, endpoint) => useNativeTools(request, endpoint, offered),
        reviser: citeSources({ sources: () => (found.length > 0 ? found : undefined), named: new Set() }),
        addSources: (sources) => void found.push(...sources),
        ports,
      });
    },
    replay(run, input, { carries }) {
      // A provider that runs MCP reads the items of servers that it has called.
      const isNative = carries?.({ what: 'tool', type: 'mcp' }) === true;
      const isOurs = (label: string) => !isNative || ownsMcp(label) || run.toolLoop?.callsMcp(label) === true;
      return replayItems(input, tools, isOurs);
    },
  };
}

/** Removes the tools that the run itself serves, and lists them in the metadata. */
function hideTools({ stages }: Run, within: readonly string[], all: readonly Tool[]): readonly Tool[] {
  const hidden = all.filter(({ type }) => within.includes(type)).map(({ type }) => type);
  if (hidden.length === 0) return all;
  stages.push({ type: 'server_tools', name: 'depth-guard', data: { unavailable: hidden } });
  return all.filter(({ type }) => !within.includes(type));
}

/** Whether some tool runs at the gateway. Every request with tools asks, and most have only functions. */
function namesTool(named: readonly Tool[], replacing: ReadonlyMap<string, ServerTool>): boolean {
  for (const tool of named) {
    if (tool.type === 'function') continue;
    if (isServerTool(tool) || replacing.has(tool.type) || tool.type === 'mcp') return true;
  }
  return false;
}

interface KnownTools {
  /** By type. */
  readonly tools: ReadonlyMap<string, ServerTool>;
  /** Tools that replace those of a provider, by the type of the latter. */
  readonly replacing: ReadonlyMap<string, ServerTool>;
  readonly deferred: DeferredTools;
  readonly caller: Run['caller'];
}

/** @returns the tools by the name that the model sees */
function checkTools(
  named: readonly Tool[],
  { tools, replacing, deferred, caller }: KnownTools,
  clientNames: ReadonlySet<string>,
): Map<string, OfferedServerTool> {
  const offered = new Map<string, OfferedServerTool>();
  const issues: Issue[] = [];
  const entries = new Map<ServerTool, { paths: string[]; parameters: Record<string, unknown>[] }>();
  const shares = new Map<ServerTool, SharedByEntries>();
  const offer = (tool: ServerTool, parameters: Record<string, unknown>, hosted?: HostedTool) => {
    const shared = shares.get(tool) ?? { entries: 0, begun: 0, memory: {} };
    shares.set(tool, shared);
    const instance = shared.entries++;
    const name = nameInstance(tool.name, instance);
    offered.set(name, { tool, name, parameters, hosted, instance, shared, deferred: deferred.list });
    return name;
  };
  for (const [index, entry] of named.entries()) {
    if (!isServerTool(entry)) continue;
    const path = findToolPath(entry, index);
    const tool = tools.get(nameType(entry.type));
    const { parameters = {} } = entry as GatewayTool;
    if (!tool) {
      const known = [...tools.keys()].map((type) => `\`${type}\``).join(', ');
      const message = `\`type\` names no tool of this gateway: "${entry.type.slice(0, 100)}"; it has ${known}.`;
      issues.push({ path: `${path}.type`, message });
      continue;
    }
    const earlier = entries.get(tool);
    if (earlier && !tool.checkEntries) {
      issues.push({ path: `${path}.type`, message: `\`type\` repeats \`${entry.type}\`; name it once.` });
      continue;
    }
    const name = offer(tool, parameters);
    if (clientNames.has(name)) {
      const message = `\`type\` clashes with your function \`${name}\`, the name under which the model sees \`${entry.type}\`; rename the function.`;
      issues.push({ path: `${path}.type`, message });
    }
    for (const issue of tool.checkParameters(parameters, caller))
      issues.push({ ...issue, path: `${path}.${issue.path}` });
    if (earlier) {
      earlier.paths.push(path);
      earlier.parameters.push(parameters);
    } else entries.set(tool, { paths: [path], parameters: [parameters] });
  }
  if (issues.length > 0) throw invalidRequest(issues);
  for (const [tool, { paths, parameters }] of entries) {
    for (const issue of tool.checkEntries?.(parameters) ?? [])
      issues.push({ ...issue, path: placeEntry(issue.path, paths) });
  }
  if (issues.length > 0) throw invalidRequest(issues);
  for (const entry of named) {
    const tool = replacing.get(entry.type);
    if (!tool?.hosted || offered.has(tool.name) || clientNames.has(tool.name)) continue; // only the provider runs it
    const hosted = entry as HostedTool; // of one of its types
    const parameters = tool.hosted.readParameters(hosted, caller);
    if (parameters) offer(tool, parameters, hosted);
  }
  return offered;
}

/** Replaces the position of an entry among those of its tool: `[1].parameters` becomes `tools[3].parameters`. */
const placeEntry = (path: string, paths: readonly string[]): string =>
  path.replace(/^\[(\d+)\]/, (place, index) => paths[Number(index)] ?? place);

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
  offered: ReadonlyMap<string, OfferedServerTool>,
): Partial<RequestSettings> {
  const offers = [...offered.values()];
  const byType = new Map(offers.toReversed().flatMap(listTypes)); // a type means its first entry
  const replaced = new Set<Tool | undefined>(offers.map(({ hosted }) => hosted));
  const seen = new Map<string, number>();
  const tools = named.flatMap((entry): Tool[] => {
    if (!isServerTool(entry) && !replaced.has(entry)) return [entry];
    const first = byType.get(nameType(entry.type));
    if (!first) return [];
    const instance = seen.get(first.name) ?? 0;
    seen.set(first.name, instance + 1);
    const offer = offers.find(({ tool, instance: other }) => tool === first.tool && other === instance);
    return offer ? [showTool(offer)] : [];
  });
  const shown = choice === undefined ? undefined : showChoice(choice, byType, tools.length > 0);
  return shown === undefined ? { tools } : { tools, tool_choice: shown };
}

/** The interface has another name for the tool search. */
const nameType = (type: string): string => (type === 'tool_search' ? 'router:tool_search' : type);

/** The tool that a choice may name without its prefix. */
const PATCH = 'router:apply_patch';

/** The words of a choice that mean a tool. */
const listTypes = (offer: OfferedServerTool): [string, OfferedServerTool][] =>
  [offer.tool.type, ...(offer.hosted || offer.tool.type === PATCH ? (offer.tool.hosted?.types ?? []) : [])].map(
    (type) => [type, offer],
  );

/** `strict` is false, because strict functions have no optional arguments. */
function showTool({ tool, name, parameters: given }: OfferedServerTool): FunctionTool {
  const { description, arguments: parameters } = tool.show(given);
  return { type: 'function', name, description, parameters, strict: false };
}

function showChoice(choice: ToolChoice, byType: ReadonlyMap<string, OfferedServerTool>, hasTools: boolean): ToolChoice {
  if (typeof choice === 'string') return hasTools ? choice : 'auto';
  if (choice.type === 'allowed_tools') {
    const tools = choice.tools.flatMap((entry) => {
      const tool = byType.get(nameType(entry.type));
      if (!isServerTool(entry) && !tool) return [entry];
      return tool ? [{ type: 'function', name: tool.name }] : [];
    });
    return { ...choice, tools };
  }
  const tool = byType.get(choice.type);
  if (!isServerTool(choice) && !tool) return choice;
  return tool ? { type: 'function', name: tool.name } : 'auto';
}
