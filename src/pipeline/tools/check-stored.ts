import { invalidRequest, type Issue } from '../../domain/errors.ts';
import type { Tool } from '../../domain/items.ts';
import { findToolPath } from '../../domain/late-tools.ts';
import type { Run } from '../run/run.ts';
import type { ToolLoop } from '../run/server-tools.ts';
import { nameRequest } from './call-context.ts';
import type { OfferedServerTool } from './planned-call.ts';

/**
 * Creates the check of parameters that only a store can check.
 *
 * @returns undefined if no tool has such parameters
 */
export function checkStored(
  run: Run,
  named: readonly Tool[],
  offered: ReadonlyMap<string, OfferedServerTool>,
): ToolLoop['check'] {
  const checked = [...offered.values()].filter(({ tool }) => tool.prepare);
  if (checked.length === 0) return undefined;
  return async () => {
    const { caller, request } = run;
    const context = { caller, request, requestId: nameRequest(run), conversation: () => run.input.read() };
    const issues: Issue[] = [];
    for (const { tool, parameters, hosted, instance } of checked) {
      const own = named.filter(({ type }) => type === tool.type);
      const entry = hosted ?? own[instance]!; // `offered` has one for each entry
      const at = findToolPath(entry, named.indexOf(entry));
      for (const { path, message } of await tool.prepare!(parameters, context)) {
        issues.push({ path: hosted ? at : `${at}.${path}`, message });
      }
    }
    if (issues.length > 0) throw invalidRequest(issues);
  };
}
