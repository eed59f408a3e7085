import { PlacedItems } from '../../domain/input-places.ts';
import { findToolPath, noteLateTool } from '../../domain/late-tools.ts';
import {
  type ClientSearchTool,
  type FunctionTool,
  type InputItem,
  isClientSearch,
  type Tool,
} from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { listKnownTools } from '../../domain/tool-references.ts';
import { clientSearchName } from '../../domain/client-search.ts';

/** The wire that has the tool and its items. */
const NATIVE_WIRE = 'openai-responses';

/** A request whose search is a function. */
export interface TranslatedSearch {
  request: ResponseRequest;
  /** Paths of items that no function can express. */
  dropped: readonly string[];
  /** The function that stands for the search; undefined: the request offers none. */
  search?: string;
}

/**
 * Turns the search of a client, as Codex has it, into a function for wires that lack it: its calls and outputs are those
 * of the function, and the tools that it has found join the others.
 *
 * @see docs/reference/tools.md#search-by-the-client
 */
export function translateToolSearch(request: ResponseRequest, wire: string | undefined): TranslatedSearch {
  const offers = request.tools?.some(isClientSearch) === true;
  const hasItems = request.input.some(isSearchItem);
  if (wire === NATIVE_WIRE || (!offers && !hasItems)) return { request, dropped: [] };
  const dropped: string[] = [];
  const input = hasItems ? translateItems(request.input, dropped) : request.input;
  if (!offers) return { request: { ...request, input }, dropped };
  const known = listKnownTools(request.tool_choice, request.input);
  const tools = request.tools!.flatMap((tool, index): Tool[] => {
    const path = findToolPath(tool, index);
    const shown = isClientSearch(tool) ? writeSearch(tool) : isDeferred(tool) ? undefined : tool;
    const written = shown ?? (known.has((tool as FunctionTool).name) ? withoutMark(tool) : undefined);
    if (!written) return [];
    noteLateTool(written, path);
    return [written];
  });
  return { request: { ...request, input, tools }, dropped, search: clientSearchName };
}

type SearchItem = { type: string; call_id?: unknown; arguments?: unknown; tools?: unknown };

const isSearchItem = ({ type }: { type: string }): boolean =>
  type === 'tool_search_call' || type === 'tool_search_output';

const isDeferred = (tool: Tool): boolean => (tool as FunctionTool).defer_loading === true;

function withoutMark<Definition extends object>(tool: Definition): Definition {
  const { defer_loading: _, ...rest } = tool as Definition & { defer_loading?: unknown };
  return rest as Definition; // the field is optional
}

function writeSearch({ description, parameters }: ClientSearchTool): FunctionTool {
  return {
    type: 'function',
    name: clientSearchName,
    description: description ?? 'Finds tools.',
    parameters: parameters ?? { type: 'object', properties: {} },
    strict: false,
  };
}

function translateItems(input: readonly InputItem[], dropped: string[]): InputItem[] {
  const translated = new PlacedItems();
  for (const [index, item] of input.entries()) {
    const { type, call_id: callId, arguments: given, tools } = item as SearchItem;
    if (!isSearchItem(item)) translated.add(item, index);
    else if (typeof callId !== 'string')
      dropped.push(`input[${index}] (${type})`); // a search that the provider ran
    else if (type === 'tool_search_call') {
      const text = typeof given === 'string' ? given : JSON.stringify(given ?? {});
      translated.add({ type: 'function_call', call_id: callId, name: clientSearchName, arguments: text }, index);
    } else {
      const found = (Array.isArray(tools) ? (tools as Tool[]) : []).map(showFound);
      const names = found.map((tool) => String((tool as FunctionTool).name));
      const output = names.length === 0 ? 'Found no tool.' : `Found: ${names.join(', ')}.`;
      translated.add({ type: 'function_call_output', call_id: callId, output }, index);
      if (found.length > 0) translated.add({ type: 'additional_tools', role: 'developer', tools: found }, index);
    }
  }
  return translated.finish(input);
}

/** Returns a found tool without the marks that hide it. */
function showFound(tool: Tool): Tool {
  if (tool.type !== 'namespace') return withoutMark(tool);
  return { ...tool, tools: (tool as { tools: object[] }).tools.map(withoutMark) } as Tool;
}
