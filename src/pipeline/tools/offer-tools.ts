import { invalidRequest, type Issue } from '../../domain/errors.ts';
import {
  type AdditionalToolsItem,
  type GatewayTool,
  type HostedTool,
  type InputItem,
  isServerTool,
  nameInstance,
  type NamespaceTool,
  type Tool,
} from '../../domain/items.ts';
import { findToolPath } from '../../domain/late-tools.ts';
import type { ServerTool } from '../../tools/server-tool.ts';
import type { Run } from '../run/run.ts';
import type { OfferedServerTool, SharedByEntries, ToolLoop } from '../run/server-tools.ts';
import { atPath } from './at-path.ts';
import { checkStored } from './check-stored.ts';
import type { DeferredTools } from './deferred-tools.ts';
import { explainUnknownTool } from './explain-unknown-tool.ts';
import { ReturnedTools } from './returned-tools.ts';
import { nameToolType } from './show-server-tools.ts';

interface KnownTools {
  /** By type. */
  readonly tools: ReadonlyMap<string, ServerTool>;
  /** Tools that replace those of a provider, by the type of the latter. */
  readonly replacing: ReadonlyMap<string, ServerTool>;
  readonly deferred: DeferredTools;
}

/** The server tools of a request. */
export interface NamedServerTools {
  /** By the name that the model sees. */
  readonly offered: Map<string, OfferedServerTool>;
  /** Those that the client runs. */
  readonly returned: ReturnedTools;
  /** Names of the tools that the client runs. */
  readonly clientNames: ReadonlySet<string>;
  readonly check: ToolLoop['check'];
}

/**
 * Offers the server tools that a request names.
 *
 * @throws {GatewayError} `invalid_request` for an unknown tool, wrong parameters, or a name that is used twice
 */
export function offerTools(run: Run, named: readonly Tool[], known: KnownTools): NamedServerTools {
  const own = listClientNames(run, named);
  const returned = new ReturnedTools(run, named, known.tools);
  const offered = checkTools(named, { ...known, returned, caller: run.caller }, own);
  const clientNames = new Set([...own, ...returned.names]);
  return { offered, returned, clientNames, check: checkStored(run, named, offered, { returned, tools: known.tools }) };
}

/** @returns the tools by the name that the model sees */
function checkTools(
  named: readonly Tool[],
  { tools, replacing, deferred, caller, returned }: KnownTools & { caller: Run['caller']; returned: ReturnedTools },
  clientNames: ReadonlySet<string>,
): Map<string, OfferedServerTool> {
  const offered = new Map<string, OfferedServerTool>();
  const issues: Issue[] = [];
  const entries = new Map<ServerTool, { paths: string[]; parameters: Record<string, unknown>[] }>();
  const shares = new Map<ServerTool, SharedByEntries>();
  const offer = (tool: ServerTool, path: string, parameters: Record<string, unknown>, hosted?: HostedTool) => {
    const shared = shares.get(tool) ?? { entries: 0, begun: 0, memory: {} };
    shares.set(tool, shared);
    const instance = shared.entries++;
    const name = nameInstance(tool.name, instance);
    offered.set(name, { tool, path, name, parameters, hosted, instance, shared, deferred: deferred.list });
    return name;
  };
  for (const [index, entry] of named.entries()) {
    if (!isServerTool(entry)) continue;
    const path = findToolPath(entry, index);
    const tool = tools.get(nameToolType(entry.type));
    const { parameters = {} } = entry as GatewayTool;
    if (!tool) {
      issues.push(explainUnknownTool(entry.type, path, tools.keys()));
      continue;
    }
    const earlier = entries.get(tool);
    if (earlier && !tool.checkEntries) {
      issues.push({ path: `${path}.type`, message: `\`type\` repeats \`${entry.type}\`; name it once.` });
      continue;
    }
    const name = returned.nameOf(entry) ?? offer(tool, path, parameters);
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
  for (const [index, entry] of named.entries()) {
    const tool = replacing.get(entry.type);
    if (!tool?.hosted || offered.has(tool.name) || clientNames.has(tool.name)) continue; // only the provider runs it
    const hosted = entry as HostedTool; // of one of its types
    const path = findToolPath(entry, index);
    const parameters = atPath(path, () => tool.hosted!.readParameters(hosted, caller));
    if (parameters) offer(tool, path, parameters, hosted);
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
