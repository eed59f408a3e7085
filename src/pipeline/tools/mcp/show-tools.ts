import { invalidRequest } from '../../../domain/errors.ts';
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
  const find = (entry: ChosenTool): { type: 'function'; name: string }[] | undefined => {
    if (entry.type !== 'mcp' || !chosen.some((each) => isOf(each, entry))) return undefined;
    return findOffers(entry, offers).map(({ name }) => ({ type: 'function', name }));
  };
  if (typeof choice === 'string') return hasTools ? choice : 'auto';
  if (choice.type === 'allowed_tools') {
    return { ...choice, tools: choice.tools.flatMap((entry) => find(entry) ?? [entry]) };
  }
  const tools = find(choice);
  if (!tools) return choice;
  return tools.length === 1 ? tools[0]! : { type: 'allowed_tools', mode: 'required', tools };
}

/**
 * Rejects a choice that forces a tool which its server does not have.
 *
 * @throws {GatewayError} `invalid_request`
 */
export function checkMcpChoice(
  choice: ToolChoice | undefined,
  chosen: readonly McpEntry[],
  offers: readonly McpOffer[],
): void {
  if (typeof choice !== 'object' || choice.type !== 'mcp' || !chosen.some((entry) => isOf(entry, choice))) return;
  if (findOffers(choice, offers).length > 0) return;
  const { server_label: label, name } = choice;
  const what = typeof name === 'string' ? `the tool ${JSON.stringify(name.slice(0, 100))}` : 'a tool';
  const message = `\`tool_choice\` forces ${what} of the MCP server \`${label.slice(0, 64)}\`, which does not offer it.`;
  throw invalidRequest([{ path: 'tool_choice', message }]);
}

/** An entry of a choice. */
interface ChosenTool {
  type: string;
  server_label?: unknown;
  name?: unknown;
}

const isOf = ({ label }: McpEntry, chosen: ChosenTool): boolean => label === chosen.server_label;

/** Finds the tools of a server that a choice means. Without a name, it means all. */
const findOffers = ({ server_label: label, name }: ChosenTool, offers: readonly McpOffer[]): readonly McpOffer[] =>
  offers.filter(
    ({ entry, tool }) => entry.label === label && (name === undefined || name === null || tool.name === name),
  );
