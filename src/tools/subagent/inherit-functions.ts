import type { AdditionalToolsItem, FunctionTool, InputItem, NamespaceTool, Tool } from '../../domain/items.ts';

/** The parameters that name functions. */
interface Inheritance {
  readonly inherit_functions?: boolean;
  readonly inherited_function_names?: readonly string[];
}

type Member = NamespaceTool['tools'][number];

/**
 * Returns the functions of the caller that a subagent inherits, alone and in groups. The subagent sees all of them at
 * once, and waits for each output.
 *
 * @param tools of the request
 * @param input may have further tools
 */
export function inheritFunctions(
  { inherit_functions: all = false, inherited_function_names: names = [] }: Inheritance,
  tools: readonly Tool[],
  input: readonly InputItem[],
): Tool[] {
  if (!all && names.length === 0) return [];
  const wanted = new Set(names.map((name) => name.trim()));
  const isWanted = (tool: Tool | Member): tool is FunctionTool =>
    tool.type === 'function' && (all || wanted.has((tool as FunctionTool).name));
  const announced = input.flatMap((item) =>
    item.type === 'additional_tools' ? (item as AdditionalToolsItem).tools : [],
  );
  return [...tools, ...announced].flatMap((tool): Tool[] => {
    if (isWanted(tool)) return [plain(tool)];
    if (tool.type !== 'namespace') return [];
    const group = tool as NamespaceTool;
    const members = group.tools.filter(isWanted).map(plain);
    return members.length === 0 ? [] : [{ ...group, tools: members }];
  });
}

function plain(tool: FunctionTool): FunctionTool {
  const { defer_loading: _hidden, async: _async, ...rest } = tool;
  return rest;
}
