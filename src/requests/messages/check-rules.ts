import { type Report, show } from '../../schema/report.ts';
import type { MessagesBody } from './schema.ts';

/** Checks the rules of the format that need more than one field. The body has the right shape. */
export function checkMessagesRules(body: MessagesBody, report: Report): void {
  if (body.fallbacks && body.models) report.add('fallbacks', 'and `models` name the same thing; send one of them');
  checkChoice(body, report);
  checkServers(body, report);
}

function checkChoice({ tool_choice: choice, tools }: MessagesBody, report: Report): void {
  if (!choice || choice.type === 'none') return;
  if (!tools || tools.length === 0) {
    if (choice.type !== 'auto') report.add('tool_choice', 'needs `tools`, and there are none');
    return;
  }
  if (choice.type !== 'tool') return;
  const names = (tools as { name?: unknown; type?: string }[]).map(({ name, type }) => name ?? type);
  if (!names.includes(choice.name)) {
    report.add('tool_choice.name', `names a tool that is not in \`tools\`, got ${show(choice.name)}`);
  }
}

/** A list of tools names a server, and the server has the address. */
function checkServers({ tools, mcp_servers: servers }: MessagesBody, report: Report): void {
  const names = new Set((servers ?? []).map(({ name }) => name));
  if (names.size < (servers?.length ?? 0)) report.add('mcp_servers', 'must have different names');
  for (const [index, tool] of ((tools ?? []) as { type?: string; mcp_server_name?: string }[]).entries()) {
    if (tool.type === 'mcp_toolset' && !names.has(tool.mcp_server_name!)) {
      const says = `names a server that is not in \`mcp_servers\`, got ${show(tool.mcp_server_name)}`;
      report.add(`tools[${index}].mcp_server_name`, says);
    }
  }
}
