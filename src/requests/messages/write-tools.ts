import type { Tool, ToolChoice } from '../../domain/items.ts';
import { NATIVE_FIELD } from '../../domain/native.ts';
import { clientTools } from './client-tools.ts';
import type { PathNotes } from '../path-notes.ts';
import type { MessagesBody } from './schema.ts';
import { familyOf, isGatewayType } from './schema/tools.ts';

type Body = Pick<MessagesBody, 'tools' | 'tool_choice' | 'mcp_servers'>;
type AnyTool = Record<string, unknown> & { type?: string };

/** The tools of a request in the shape of the pipeline. */
export interface TranslatedTools {
  tools: Tool[] | undefined;
  choice: ToolChoice | undefined;
  /** Whether the model must not call several tools at once. */
  isSerial: boolean;
  /** Server tools as the client named them, by the type of the gateway's tool. */
  native: Record<string, AnyTool>;
}

/** Translates the tools of a checked body. */
export function translateTools(
  { tools, tool_choice: choice, mcp_servers: servers }: Body,
  notes?: PathNotes,
): TranslatedTools {
  const written: Tool[] = [];
  const native: Record<string, AnyTool> = {};
  const add = (tool: object, path: string): void => {
    notes?.add(`tools[${written.length}]`, path);
    written.push(tool as Tool); // `writeTool` returns the shape of its kind
  };
  const isOwnSearch = searchesItself((tools ?? []) as AnyTool[]);
  for (const [index, tool] of ((tools ?? []) as AnyTool[]).entries()) {
    if (tool.type === 'mcp_toolset') continue;
    const added = writeTool(tool, isOwnSearch);
    add(added, `tools[${index}]`);
    if (added.type !== tool.type && runsAtProvider.has(added.type)) native[added.type] = tool;
  }
  for (const [index, server] of (servers ?? []).entries()) {
    const toolset = (tools as AnyTool[] | null | undefined)?.find(
      (tool) => tool.type === 'mcp_toolset' && tool['mcp_server_name'] === server.name,
    );
    add(writeServer(server, toolset), `mcp_servers[${index}]`);
  }
  const writtenChoice = choice ? writeChoice(choice, (tools ?? []) as AnyTool[]) : undefined;
  return {
    tools: written.length > 0 ? written : undefined,
    choice: writtenChoice,
    isSerial: choice?.type !== 'none' && writtenChoice !== undefined && choice?.disable_parallel_tool_use === true,
    native,
  };
}

/**
 * Tools of the gateway in whose place an endpoint of the same format gets its own. The gateway searches tools itself,
 * because it also keeps the deferred ones.
 */
const runsAtProvider: ReadonlySet<string> = new Set(['router:web_fetch', 'router:code_interpreter']);

const searchFamilies: ReadonlySet<unknown> = new Set(['tool_search_tool_regex', 'tool_search_tool_bm25']);

/**
 * Whether the client searches tools itself: some are deferred, and no search of the gateway could find them. The client
 * returns what it has found as references.
 *
 * @see docs/reference/messages.md#tool-search
 */
function searchesItself(tools: readonly AnyTool[]): boolean {
  const isSearch = ({ type }: AnyTool): boolean =>
    type === 'router:tool_search' || type === 'tool_search' || (!!type && searchFamilies.has(familyOf(type)));
  return tools.some(({ defer_loading: isDeferred }) => isDeferred !== true) && !tools.some(isSearch);
}

type WrittenTool = { type: string; [field: string]: unknown };

function writeTool(tool: AnyTool, isOwnSearch: boolean): WrittenTool {
  const { type } = tool;
  if (type === undefined || type === 'custom') return writeFunction(tool, isOwnSearch);
  const family = familyOf(type);
  switch (family) {
    case 'web_search': {
      const { allowed_domains: allowed, blocked_domains: blocked, max_uses: maxUses, user_location: location } = tool;
      return {
        type: 'web_search',
        ...(allowed || blocked
          ? {
              filters: {
                ...(allowed ? { allowed_domains: allowed } : {}),
                ...(blocked ? { blocked_domains: blocked } : {}),
              },
            }
          : {}),
        ...(maxUses ? { max_uses: maxUses } : {}),
        ...(location ? { user_location: location } : {}),
        [NATIVE_FIELD]: tool,
      };
    }
    case 'web_fetch': {
      const names = ['allowed_domains', 'blocked_domains', 'max_uses', 'max_content_tokens'];
      const parameters = Object.fromEntries(names.flatMap((name) => (tool[name] ? [[name, tool[name]]] : [])));
      return { type: 'router:web_fetch', parameters };
    }
    case 'code_execution':
      return { type: 'router:code_interpreter' };
    case 'advisor': {
      // Its tokens are billed as those of another model, so the gateway consults it itself.
      const { model, max_tokens: maxTokens } = tool;
      const room = maxTokens ? { max_completion_tokens: maxTokens } : undefined;
      return { type: 'router:advisor', parameters: { model, forward_transcript: true, ...room } };
    }
    case 'tool_search_tool_regex':
    case 'tool_search_tool_bm25':
      return { type: 'router:tool_search' };
    case 'bash':
    case 'text_editor':
    case 'memory': {
      const { name, description, parameters } = clientTools.get(family)!;
      const given = typeof tool['name'] === 'string' ? tool['name'] : name;
      return { type: 'function', name: given, description, parameters, [NATIVE_FIELD]: tool };
    }
    case undefined:
      if (isGatewayType(type)) return tool as WrittenTool;
      return { type: `anthropic:${type}`, [NATIVE_FIELD]: tool };
    default:
      return { type: `anthropic:${type}`, [NATIVE_FIELD]: tool };
  }
}

const advisorFields: ReadonlySet<string> = new Set(['type', 'name', 'model', 'max_tokens']);

/** Lists the fields of an advisor that the gateway does not have, such as `max_uses`. */
export const listIgnoredFields = (tool: AnyTool): string[] =>
  tool.type !== undefined && familyOf(tool.type) === 'advisor'
    ? Object.keys(tool).filter((name) => !advisorFields.has(name) && tool[name] !== null)
    : [];

/** @param isOwnSearch whether only the client can find the tool if it is deferred */
function writeFunction(tool: AnyTool, isOwnSearch: boolean): WrittenTool {
  const { type: _, name, description, input_schema: parameters, strict, defer_loading: isDeferred, ...others } = tool;
  const { cache_control: mark, ...rest } = others;
  const written: WrittenTool = { type: 'function', name, parameters };
  if (typeof description === 'string') written['description'] = description;
  written['strict'] = strict === true; // in the Responses format, a function is strict unless it says otherwise
  if (mark) written['cache_control'] = mark;
  if (isDeferred === true) (isOwnSearch ? rest : written)['defer_loading'] = true;
  const kept = Object.entries(rest).filter(([, value]) => value !== undefined && value !== null);
  if (kept.length > 0) written[NATIVE_FIELD] = Object.fromEntries(kept);
  return written;
}

type Server = NonNullable<NonNullable<Body['mcp_servers']>[number]>;

/** The two places that name the tools of a server: the older one beside its address, the newer one in `tools`. */
function writeServer(server: Server, toolset: AnyTool | undefined): object {
  const allowed = server.tool_configuration?.allowed_tools ?? listEnabled(toolset);
  return {
    type: 'mcp',
    server_label: server.name,
    server_url: server.url,
    require_approval: 'never',
    ...(server.authorization_token ? { authorization: server.authorization_token } : {}),
    ...(allowed ? { allowed_tools: allowed } : {}),
  };
}

/** Returns the tools that a toolset allows, if it does not allow all. */
function listEnabled(toolset: AnyTool | undefined): string[] | undefined {
  const { default_config: every, configs } = (toolset ?? {}) as {
    default_config?: { enabled?: boolean } | null;
    configs?: Record<string, { enabled?: boolean }> | null;
  };
  if (every?.enabled !== false) return undefined;
  return Object.entries(configs ?? {}).flatMap(([name, { enabled }]) => (enabled ? [name] : []));
}

function writeChoice(choice: NonNullable<Body['tool_choice']>, tools: readonly AnyTool[]): ToolChoice | undefined {
  switch (choice.type) {
    case 'auto':
    case 'none':
      return choice.type;
    case 'any':
      return 'required';
    default: {
      if (choice.type !== 'tool') return undefined; // only the native wire has it: `request.ts` keeps it
      const named = tools.find((tool) => tool['name'] === choice.name);
      const type = named && writeTool(named, false).type;
      if (type === 'web_search') return { type: 'web_search_preview' };
      if (type?.startsWith('router:')) return { type: type as `router:${string}` };
      return { type: 'function', name: choice.name };
    }
  }
}
