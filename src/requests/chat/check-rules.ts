import { isObject } from '../../schema/by-kind.ts';
import type { Report } from '../../schema/report.ts';

/** Kinds of tools whose calls a client answers with items that chat completions do not have. */
const itemTools: ReadonlySet<unknown> = new Set([
  'computer_use_preview',
  'local_shell',
  'shell',
  'apply_patch',
  'namespace',
  'router:apply_patch',
]);

/** Checks the 400 rules that only chat completions have. @param body its fields may have wrong shapes */
export function checkChatRules(body: Record<string, unknown>, report: Report): void {
  const { logprobs, top_logprobs: top, tools } = body;
  if (typeof top === 'number' && top > 0 && logprobs !== true) {
    report.add('top_logprobs', 'needs `logprobs: true`');
  }
  if (Array.isArray(tools)) for (const [index, tool] of tools.entries()) checkTool(tool, `tools[${index}]`, report);
}

function checkTool(tool: unknown, path: string, report: Report): void {
  if (!isObject(tool) || tool.type === 'function') return;
  if (itemTools.has(tool.type)) {
    report.add(
      `${path}.type`,
      `is ${JSON.stringify(tool.type)}, whose calls chat completions cannot carry; use POST /responses`,
    );
  }
  const { parameters } = tool;
  if (tool.type === 'router:subagent' && isObject(parameters)) {
    for (const field of ['inherit_functions', 'inherited_function_names']) {
      const value = parameters[field];
      if (value === true || (Array.isArray(value) && value.length > 0)) {
        report.add(
          `${path}.parameters.${field}`,
          'needs items that chat completions cannot carry; use POST /responses',
        );
      }
    }
  }
  if (tool.type === 'mcp' && tool['require_approval'] !== 'never') {
    report.add(
      `${path}.require_approval`,
      'must be `never`, since chat completions cannot carry approvals; use POST /responses otherwise',
    );
  }
}
