import { type FunctionTool, isServerTool, type Tool, type ToolChoice } from '../../domain/items.ts';
import type { RequestSettings } from '../../domain/request.ts';
import type { ServerTool } from '../../tools/server-tool.ts';
import type { OfferedServerTool } from '../run/server-tools.ts';
import type { ReturnedTools } from './returned-tools.ts';

/** Returns the settings with which the model sees server tools as functions. */
export function showTools(
  { tool_choice: choice }: RequestSettings,
  named: readonly Tool[],
  offered: ReadonlyMap<string, OfferedServerTool>,
  returned: ReturnedTools,
): Partial<RequestSettings> {
  const offers = [...offered.values()];
  // a type means its first entry
  const byType = new Map<string, { name: string; tool?: ServerTool }>(offers.toReversed().flatMap(listTypes));
  const replaced = new Set<Tool | undefined>(offers.map(({ hosted }) => hosted));
  const seen = new Map<string, number>();
  const tools = named.flatMap((entry): Tool[] => {
    if (!isServerTool(entry) && !replaced.has(entry)) return [entry];
    const shown = returned.show(entry);
    if (shown) return [shown];
    const first = byType.get(nameToolType(entry.type));
    if (!first) return [];
    const instance = seen.get(first.name) ?? 0;
    seen.set(first.name, instance + 1);
    const offer = offers.find(({ tool, instance: other }) => tool === first.tool && other === instance);
    return offer ? [showTool(offer)] : [];
  });
  for (const [type, name] of returned.byType) byType.set(type, { name });
  const shown = choice === undefined ? undefined : showChoice(choice, byType, tools.length > 0);
  return shown === undefined ? { tools } : { tools, tool_choice: shown };
}

/** The interface has another name for the tool search. */
export const nameToolType = (type: string): string => (type === 'tool_search' ? 'router:tool_search' : type);

/** The tools that a choice may name without their prefix. */
const shortNames: ReadonlySet<string> = new Set(['router:apply_patch', 'router:shell']);

/** The words of a choice that mean a tool. */
const listTypes = (offer: OfferedServerTool): [string, OfferedServerTool][] =>
  [offer.tool.type, ...(offer.hosted || shortNames.has(offer.tool.type) ? (offer.tool.hosted?.types ?? []) : [])].map(
    (type) => [type, offer],
  );

/** `strict` is false, because strict functions have no optional arguments. */
function showTool({ tool, name, parameters: given }: OfferedServerTool): FunctionTool {
  const { description, arguments: parameters } = tool.show(given);
  return { type: 'function', name, description, parameters, strict: false };
}

function showChoice(
  choice: ToolChoice,
  byType: ReadonlyMap<string, { readonly name: string }>,
  hasTools: boolean,
): ToolChoice {
  if (typeof choice === 'string') return hasTools ? choice : 'auto';
  if (choice.type === 'allowed_tools') {
    const tools = choice.tools.flatMap((entry) => {
      const tool = byType.get(nameToolType(entry.type));
      if (!isServerTool(entry) && !tool) return [entry];
      return tool ? [{ type: 'function', name: tool.name }] : [];
    });
    return { ...choice, tools };
  }
  const tool = byType.get(choice.type);
  if (!isServerTool(choice) && !tool) return choice;
  return tool ? { type: 'function', name: tool.name } : 'auto';
}
