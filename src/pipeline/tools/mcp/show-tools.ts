import type { FunctionTool, Tool, ToolChoice } from '../../../domain/items.ts';
import type { RequestSettings } from '../../../domain/request.ts';
import type { McpOffer } from './create-mcp-tool.ts';
import type { McpEntry } from './read-entry.ts';

/**
 * Replaces the servers that the gateway calls by functions.
 *
 * @param settings with the tools of the request
 */
export function showMcpTools(
  { tools = [], tool_choice: choice, ...settings }: Partial<RequestSettings>,
  chosen: readonly McpEntry[],
  offers: readonly McpOffer[],
): Partial<RequestSettings> {
  const byEntry = new Map(chosen.map((entry) => [entry.hosted as Tool, entry]));
  const shown = tools.flatMap((tool): Tool[] => {
    const entry = byEntry.get(tool);
    return entry ? offers.filter((offer) => offer.entry === entry).map(showFunction) : [tool];
  });
  if (choice === undefined) return { ...settings, tools: shown };
  return { ...settings, tools: shown, tool_choice: showChoice(choice, { offers, chosen, hasTools: shown.length > 0 }) };
}

/** `strict` is false, because the schemas of servers do not follow its rules. */
function showFunction({ name, tool, description }: McpOffer): FunctionTool {
  const { $schema: _, ...parameters } = tool.input_schema;
  return { type: 'function', name, description, parameters, strict: false };
}

interface Shown {
  chosen: readonly McpEntry[];
  offers: readonly McpOffer[];
  hasTools: boolean;
}

function showChoice(choice: ToolChoice, { chosen, offers, hasTools }: Shown): ToolChoice {
  if (typeof choice === 'string') return hasTools ? choice : 'auto';
  if (choice.type !== 'allowed_tools') return choice;
  const tools = choice.tools.flatMap((entry) => {
    const { type, server_label: label, name } = entry as { type: string; server_label?: unknown; name?: unknown };
    if (type !== 'mcp' || !chosen.some(({ label: own }) => own === label)) return [entry];
    const meant = offers.filter(
      (offer) => offer.entry.label === label && (name === undefined || offer.tool.name === name),
    );
    return meant.map((offer) => ({ type: 'function', name: offer.name }));
  });
  return { ...choice, tools };
}
