import { isObject } from '../../schema/by-kind.ts';
import { type Report, show } from '../../schema/report.ts';
import { checkNames } from '../../tools/check-names.ts';

/** A tool and its path. Its fields may have wrong shapes. Every problem must be found. */
interface FoundTool {
  path: string;
  tool: Record<string, unknown>;
}

/**
 * Checks the 400 rules that need more than one tool.
 *
 * @see docs/reference/errors.md, docs/reference/tools.md#server-tools
 */
export function checkTools(body: Record<string, unknown>, report: Report): void {
  if (hasPlainToolsOnly(body)) return;
  const tools = findTools(body.tools, 'tools');
  const announced = Array.isArray(body.input) ? findAnnouncedTools(body.input) : [];
  if (tools.length === 0 && announced.length === 0) return;

  const all = [...tools, ...announced];
  checkInstanceNames(all, 'router:advisor', report);
  checkInstanceNames(all, 'router:subagent', report);
  checkInheritedFunctions(all, report);
  const searches = all.filter(({ tool }) => tool.type === 'router:tool_search' || tool.type === 'tool_search');
  if (searches.length === 0) checkDeferredTools(tools, announced, report);
  else if (searches.some(({ tool }) => tool.execution !== 'client')) checkSearchChoice(body.tool_choice, report);
}

/** Whether all tools are functions that the model sees at once, as in most requests. No rule is about these. */
function hasPlainToolsOnly({ tools, input }: Record<string, unknown>): boolean {
  if (Array.isArray(tools)) {
    for (const tool of tools) if (tool?.type !== 'function' || tool.defer_loading === true) return false;
  }
  if (Array.isArray(input)) for (const item of input) if (item?.type === 'additional_tools') return false;
  return true;
}

function findTools(list: unknown, path: string): FoundTool[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((tool, index) => (isObject(tool) ? [{ path: `${path}[${index}]`, tool }] : []));
}

function findAnnouncedTools(input: readonly unknown[]): FoundTool[] {
  const found: FoundTool[] = [];
  for (let index = 0; index < input.length; index++) {
    const item = input[index];
    if (!isObject(item) || item.type !== 'additional_tools') continue;
    for (const tool of findTools(item.tools, `input[${index}].tools`)) found.push(tool);
  }
  return found;
}

/** Replaces each namespace with its members. */
function flatten(tools: FoundTool[]): FoundTool[] {
  return tools.flatMap(({ path, tool }) =>
    tool.type === 'namespace' ? findTools(tool.tools, `${path}.tools`) : [{ path, tool }],
  );
}

/** Checks the names of the entries of a tool. Identity is positional (docs/reference/items.md#replayed-output). */
function checkInstanceNames(tools: FoundTool[], type: string, report: Report): void {
  const entries = tools.filter(({ tool }) => tool.type === type);
  const names = entries.map(({ tool }) => (isObject(tool.parameters) ? tool.parameters.name : undefined));
  for (const { path, message } of checkNames(type, names)) {
    report.take({ path: path.replace(/^\[(\d+)\]/, (_, at) => entries[Number(at)]!.path), message });
  }
}

function checkInheritedFunctions(tools: FoundTool[], report: Report): void {
  let functionNames: Set<unknown> | undefined;
  for (const { path, tool } of tools) {
    const { parameters } = tool;
    if (tool.type !== 'router:subagent' || !isObject(parameters) || parameters.inherit_functions === true) continue;
    if (!Array.isArray(parameters.inherited_function_names)) continue;
    functionNames ??= findFunctionNames(tools);
    for (const [index, name] of parameters.inherited_function_names.entries()) {
      if (typeof name !== 'string' || name.trim() === '' || functionNames.has(name.trim())) continue;
      const says = `names no function of \`tools\`, got ${show(name)}`;
      report.add(`${path}.parameters.inherited_function_names[${index}]`, says);
    }
  }
}

const findFunctionNames = (tools: FoundTool[]): Set<unknown> =>
  new Set(flatten(tools).flatMap(({ tool }) => (tool.type === 'function' ? [tool.name] : [])));

/** Checks that the model may search if there is a search tool (docs/reference/tools.md#tool-choice). */
function checkSearchChoice(choice: unknown, report: Report): void {
  if (choice === undefined || choice === 'auto' || (isObject(choice) && choice.type === 'allowed_tools')) return;
  const given = isObject(choice) ? show(choice.type) : show(choice);
  report.add(
    'tool_choice',
    `must be absent, \`auto\` or \`allowed_tools\` beside \`router:tool_search\`, got ${given}`,
  );
}

/**
 * Rejects deferred tools without tool search, because the model could never find them. If every tool is deferred, the
 * body is valid but contradictory: `check-meaning.ts` rejects it with 422 (docs/reference/errors.md).
 */
function checkDeferredTools(tools: FoundTool[], announced: FoundTool[], report: Report): void {
  const own = flatten(tools);
  if (own.length > 0 && own.every(({ tool }) => tool.defer_loading === true)) return;
  for (const { path, tool } of [...own, ...flatten(announced)]) {
    if (tool.defer_loading === true) {
      report.add(`${path}.defer_loading`, 'needs the tool `router:tool_search` in `tools`, got `true` without it');
    }
  }
}
