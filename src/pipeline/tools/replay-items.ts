import type { InputItem, OutputItem } from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';
import type { ReplayedCall, ServerTool } from '../../tools/server-tool.ts';
import { McpReplay } from './mcp/replay-mcp.ts';

/**
 * Replaces the items of server tools by function calls and their outputs, as the model saw them. Calls that follow one
 * another become one turn: first all calls, then all outputs. Items without a result stay, and no wire sends them.
 *
 * @param isOurs whether the gateway calls an MCP server, so that the model sees its items as functions, too
 * @see docs/reference/tools.md#replay
 */
export function replayItems(
  input: readonly InputItem[],
  tools: ReadonlyMap<string, ServerTool>,
  isOurs: (label: string) => boolean,
): InputItem[] {
  const replayed: InputItem[] = [];
  const outputs: InputItem[] = [];
  const taken = new Set<unknown>();
  const mcp = new McpReplay(input, isOurs);
  for (let index = 0; index < input.length; index++) {
    const item = input[index]!;
    const shown = item.type.startsWith('mcp_') ? mcp.translate(item as OutputItem) : undefined; // a carried item
    if (shown === 'nothing') continue;
    if (shown) {
      const { name, arguments: written, result } = shown;
      const callId = nameCall({ ...(item as OutputItem), call_id: shown.callId }, index, taken);
      replayed.push({ type: 'function_call', call_id: callId, name, arguments: written });
      outputs.push({ type: 'function_call_output', call_id: callId, output: JSON.stringify(result) });
      continue;
    }
    const tool = tools.get(item.type);
    const call = tool && readCall(tool, item as OutputItem); // a carried item
    if (!tool || !call) {
      if (!continuesTurn(item)) replayed.push(...outputs.splice(0));
      replayed.push(item);
      continue;
    }
    const callId = nameCall(item as OutputItem, index, taken);
    replayed.push({
      type: 'function_call',
      call_id: callId,
      name: readName(tool, item as OutputItem),
      arguments: call.arguments,
    });
    outputs.push({ type: 'function_call_output', call_id: callId, output: JSON.stringify(call.result) });
  }
  replayed.push(...outputs);
  return replayed;
}

/** Reads the function from an item of a tool with several entries. */
function readName({ name, checkEntries }: ServerTool, { instance_name: given }: OutputItem): string {
  const isInstance = checkEntries !== undefined && typeof given === 'string' && given.startsWith(`${name}__`);
  return isInstance && /^\d{1,3}$/.test(given.slice(name.length + 2)) ? given : name;
}

/** Whether the item can be in the same turn as the calls before it. */
const continuesTurn = ({ type }: InputItem): boolean =>
  type === 'function_call' || type === 'custom_tool_call' || type.startsWith('router:');

function readCall(tool: ServerTool, item: OutputItem): { arguments: string; result: object } | undefined {
  const call = replayCall(tool, item) ?? readFailure(item);
  if (!call) return undefined;
  const { arguments: written } = item;
  // The text that the model wrote, so that the provider finds the same prefix in its cache.
  const isObject = typeof written === 'string' && parseObject(written) !== undefined;
  return { arguments: isObject ? written : JSON.stringify(call.arguments), result: call.result };
}

/** @returns undefined also if the module of an operator fails: no wire sends the item, and the metadata names it */
function replayCall(tool: ServerTool, item: OutputItem): ReplayedCall | undefined {
  try {
    return tool.replay(item);
  } catch {
    return undefined;
  }
}

const readFailure = ({ error }: OutputItem): ReplayedCall | undefined =>
  typeof error === 'string' && error !== '' ? { arguments: {}, result: { error } } : undefined;

/** Returns the id of the call, or a new one if the item has none or another item has the same. */
function nameCall({ id, call_id: given }: OutputItem, index: number, taken: Set<unknown>): string {
  const own = typeof given === 'string' && given !== '' ? given : id && `call_${id}`;
  const name = own && !taken.has(own) ? own : `call_item_${index}`;
  taken.add(name);
  return name;
}
