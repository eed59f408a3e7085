import { invalidRequest, type Issue } from '../../domain/errors.ts';
import { type GatewayTool, isServerTool, type Tool } from '../../domain/items.ts';
import { findToolPath } from '../../domain/late-tools.ts';
import type { ServerTool } from '../../tools/server-tool.ts';
import type { Run } from '../run/run.ts';
import type { OfferedServerTool, ToolLoop } from '../run/server-tools.ts';
import { nameRequest } from './call-context.ts';
import type { ReturnedTools } from './returned-tools.ts';
import { nameToolType } from './show-server-tools.ts';

/**
 * Creates the check of parameters that only a store can check, also of tools that the client runs.
 *
 * @returns undefined if no tool has such parameters
 */
export function checkStored(
  run: Run,
  named: readonly Tool[],
  offered: ReadonlyMap<string, OfferedServerTool>,
  clientRun: { returned: ReturnedTools; tools: ReadonlyMap<string, ServerTool> },
): ToolLoop['check'] {
  const checked = [...listOffered(named, offered), ...listReturned(named, clientRun)].filter(
    ({ tool }) => tool.prepare,
  );
  if (checked.length === 0) return undefined;
  return async () => {
    const { caller, request } = run;
    const context = { caller, request, requestId: nameRequest(run), conversation: () => run.input.read() };
    const issues: Issue[] = [];
    for (const { tool, parameters, entry, hosted } of checked) {
      const at = findToolPath(entry, named.indexOf(entry));
      for (const { path, message } of await tool.prepare!(parameters, context)) {
        issues.push({ path: hosted ? at : `${at}.${path}`, message });
      }
    }
    if (issues.length > 0) throw invalidRequest(issues);
  };
}

interface StoredCheck {
  tool: ServerTool;
  parameters: Record<string, unknown>;
  entry: Tool;
  hosted: unknown;
}

const listOffered = (named: readonly Tool[], offered: ReadonlyMap<string, OfferedServerTool>): StoredCheck[] =>
  [...offered.values()].map(({ tool, parameters, hosted, instance }) => {
    const own = named.filter(({ type }) => type === tool.type);
    return { tool, parameters, entry: hosted ?? own[instance]!, hosted }; // `offered` has one for each entry
  });

const listReturned = (
  named: readonly Tool[],
  { returned, tools }: { returned: ReturnedTools; tools: ReadonlyMap<string, ServerTool> },
): StoredCheck[] =>
  named.flatMap((entry): StoredCheck[] => {
    if (!isServerTool(entry) || returned.nameOf(entry) === undefined) return [];
    const tool = tools.get(nameToolType(entry.type));
    return tool ? [{ tool, parameters: (entry as GatewayTool).parameters ?? {}, entry, hosted: undefined }] : [];
  });
