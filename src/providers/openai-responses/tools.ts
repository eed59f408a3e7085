import { isClientSearch, isServerTool, searchTypes, type Tool, type ToolChoice } from '../../domain/items.ts';
import { findToolPath } from '../../domain/late-tools.ts';
import { dropMark } from '../kit/draft.ts';
import type { Dialect } from './dialect.ts';

/** Settings of the web-search kinds of the gateway or another vendor. Routing has already applied `engine`. */
const searchSettings = ['engine', 'max_results', 'max_uses', 'mode', 'x_search'] as const;

/** The result of writing the tools of a request. */
export interface WrittenTools {
  tools: Tool[];
  /** Whether one of the tools runs at the provider, so that a limit of calls applies there. */
  hasHosted: boolean;
}

interface ToolWriting {
  lacking: ReadonlySet<string>;
  keepsMarks: boolean;
  dropped: string[];
}

/** Tools that a server runs itself. */
interface ServerAbilities {
  searches: boolean;
  draws: boolean;
  patches: boolean;
  runsShell: boolean;
  runsCode: boolean;
}

/** Returns what a server with a dialect can do itself. */
export const listAbilities = (dialect: Dialect): ServerAbilities => ({
  searches: dialect.native_search,
  draws: dialect.native_images,
  patches: dialect.native_patches,
  runsShell: dialect.native_shell,
  runsCode: dialect.native_code_interpreter,
});

/** Returns the types of hosted tools that a server does not have. */
export const listLacking = ({ searches, draws, patches, runsShell, runsCode }: ServerAbilities): ReadonlySet<string> =>
  searches && draws && patches && runsShell && runsCode
    ? nothingLacks
    : new Set([
        ...(searches ? [] : searchTypes),
        ...(draws ? [] : ['image_generation']),
        ...(patches ? [] : ['apply_patch']),
        ...(runsShell ? [] : ['shell', 'local_shell']),
        ...(runsCode ? [] : ['code_interpreter']),
      ]);

const nothingLacks: ReadonlySet<string> = new Set();

/**
 * Writes tool definitions, without those of the gateway and without settings that only the gateway reads. Copies only
 * definitions that must change.
 *
 * @param how.lacking types of hosted tools that the server does not have
 * @param how.keepsMarks whether functions may have marks of the prompt cache
 * @param how.dropped receives the paths of omitted tools and settings
 */
export function writeTools(tools: Tool[], how: ToolWriting): WrittenTools {
  const { lacking, dropped } = how;
  const written: WrittenTools = { tools, hasHosted: false };
  let changed = false;
  const keepsDeferral = tools.some(isClientSearch);
  for (let index = 0; index < tools.length; index++) {
    const tool = tools[index]!;
    const isLacking = lacking.has(tool.type);
    if (isLacking) dropped.push(`${findToolPath(tool, index)} (${tool.type})`);
    const after = isLacking || isServerTool(tool) ? undefined : writeTool(tool, index, { ...how, keepsDeferral });
    if (after !== tool && !changed) {
      changed = true;
      written.tools = tools.slice(0, index);
    }
    if (after === undefined) continue;
    if (changed) written.tools.push(after);
    if (tool.type !== 'function' && tool.type !== 'custom' && tool.type !== 'namespace') written.hasHosted = true;
  }
  return written;
}

function writeTool(tool: Tool, index: number, how: ToolWriting & { keepsDeferral: boolean }): Tool {
  const { dropped, keepsDeferral } = how;
  switch (tool.type) {
    case 'function': {
      const shown = withoutMark(keepsDeferral ? tool : withoutDeferral(tool), how);
      return shown.parameters === undefined ? { ...shown, parameters: null } : shown; // the upstream requires the field
    }
    case 'custom':
      return withoutMark(withoutDeferral(tool), how);
    case 'namespace': {
      const tools = tool.tools.map((inner) => withoutMark(keepsDeferral ? inner : withoutDeferral(inner), how));
      if (tool.description === undefined) return { ...tool, description: tool.name, tools }; // OpenAI requires one
      return tools.some((inner, at) => inner !== tool.tools[at]) ? { ...tool, tools } : tool;
    }
    case 'web_search':
    case 'web_search_2025_08_26':
    case 'web_search_preview':
    case 'web_search_preview_2025_03_11': {
      const ours = searchSettings.filter((setting) => setting in tool);
      if (ours.length === 0) return tool;
      const bare = { ...tool };
      for (const setting of ours) {
        delete bare[setting];
        if (setting !== 'engine') dropped.push(`${findToolPath(tool, index)}.${setting}`);
      }
      return bare;
    }
    default:
      return tool;
  }
}

/**
 * Removes the mark for the tool search. The gateway has run the search. Upstream, the mark would request another one.
 */
function withoutDeferral<Definition extends object>(tool: Definition): Definition {
  if (!('defer_loading' in tool)) return tool;
  const { defer_loading: _, ...shown } = tool;
  return shown as unknown as Definition; // the field is optional in every definition
}

/** Removes a mark of the prompt cache, which the protocol has only in parts. */
function withoutMark<Definition extends object>(tool: Definition, { keepsMarks, dropped }: ToolWriting): Definition {
  if (keepsMarks || !('cache_control' in tool)) return tool;
  const { cache_control: mark, ...rest } = tool;
  if (mark) dropMark({ dropped });
  return rest as unknown as Definition; // the field is optional in every definition
}

/** @returns undefined if the choice names a tool that is not sent upstream */
export function writeToolChoice(choice: ToolChoice, dropped: string[]): ToolChoice | undefined {
  if (typeof choice === 'string') return choice;
  if (choice.type === 'allowed_tools') {
    if (!choice.tools.some(isServerTool)) return choice;
    const tools = choice.tools.filter((tool) => !isServerTool(tool));
    return tools.length === 0 ? 'none' : { ...choice, tools };
  }
  if (!isServerTool(choice)) return choice;
  dropped.push('tool_choice');
  return undefined;
}
