import { addedToolPattern, readPlainItem } from '../../domain/added-tools.ts';
import { type Placed, PlacedItems, placesOf } from '../../domain/input-places.ts';
import { type InputItem, nameFunction, type OutputItem } from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';
import type { ReplayedCall, ServerTool } from '../../tools/server-tool.ts';
import type { ReplayedInput } from '../run/server-tools.ts';
import { McpReplay } from './mcp/replay-mcp.ts';
import { HostedCalls } from './replay-hosted.ts';
import { type WrittenCall, writeReplayedCall } from './written-call.ts';

/** Facts about a run and its endpoint. */
export interface ReplayFacts {
  /** Whether the gateway calls an MCP server, so that the model sees its items as functions, too. */
  isOurs: (label: string) => boolean;
  /** Whether the request offers the tools of an MCP server. */
  isOffered: (label: string) => boolean;
  /** Whether the wire of the endpoint has items of a type. */
  isCarried: (type: string) => boolean;
  /** Whether the endpoint gets the tool of the provider for a tool of the request. */
  isNative: (tool: ServerTool) => boolean;
}

/**
 * Replaces the items of server tools by function calls and their outputs, as the model saw them. Calls that follow one
 * another become one turn: first all calls, then all outputs. Items without a result stay, and no wire sends them.
 *
 * @param tools all tools of the gateway. The request need not name them
 * @see docs/reference/tools.md#replay
 */
export function replayItems(
  input: readonly InputItem[],
  tools: ReadonlyMap<string, ServerTool>,
  facts: ReplayFacts,
): ReplayedInput {
  const replayed = new PlacedItems();
  const dropped: string[] = [];
  const places = placesOf(input);
  const outputs: Placed<InputItem>[] = [];
  const suspended = findSuspended(input, tools);
  const taken = listCallIds(input, suspended?.hidden);
  const mcp = new McpReplay(input, facts.isOurs, facts.isOffered);
  const hosted = new HostedCalls(input, tools, facts);
  for (let index = 0; index < input.length; index++) {
    const item = hosted.native.get(input[index]!) ?? input[index]!;
    const place = () => `input[${places?.[index] ?? index}]`;
    for (const field of hosted.lost.get(item) ?? []) dropped.push(`${place()}.${field}`);
    if (suspended?.hidden.has(item) || hosted.hidden.has(item)) continue;
    const shown = item.type.startsWith('mcp_') ? mcp.translate(item as OutputItem) : undefined; // a carried item
    if (typeof shown === 'string') {
      if (shown === 'lost') dropped.push(`${place()} (${item.type})`);
      if (shown === 'lost reason') dropped.push(`${place()}.reason`);
      continue;
    }
    if (shown) {
      const { name, arguments: written, result } = shown;
      const callId = nameCall({ ...(item as OutputItem), call_id: shown.callId }, index, taken);
      replayed.add({ type: 'function_call', call_id: callId, name, arguments: written }, index);
      outputs.push({ item: writeOutput(callId, result), place: index });
      continue;
    }
    const translated = hosted.calls.get(item);
    const tool = translated?.tool ?? tools.get(item.type);
    const call = translated?.call ?? suspended?.calls.get(item) ?? readCall(tool, item as OutputItem); // a carried item
    if (!call) {
      if (!continuesTurn(item)) replayed.addAll(outputs);
      replayed.add(item, index);
      continue;
    }
    const callId = nameCall(item as OutputItem, index, taken);
    const name = tool ? readName(tool, item as OutputItem) : nameFunction(item.type);
    replayed.add({ type: 'function_call', call_id: callId, name, arguments: call.arguments }, index);
    outputs.push({ item: writeOutput(callId, call.result), place: index });
  }
  replayed.addAll(outputs);
  return { input: replayed.finish(input), dropped };
}

const writeOutput = (callId: string, result: unknown): InputItem => ({
  type: 'function_call_output',
  call_id: callId,
  output: JSON.stringify(result),
});

/** The ids of calls that the client has run. They stay, because their outputs name them. choice 591 */
function listCallIds(input: readonly InputItem[], hidden: ReadonlySet<InputItem> | undefined): Set<unknown> {
  const taken = new Set<unknown>();
  for (const item of input) {
    const { type, call_id: callId } = item as OutputItem; // a carried item
    if ((type === 'function_call' || type === 'custom_tool_call') && !hidden?.has(item)) taken.add(callId);
  }
  return taken;
}

/** Suspended calls in a conversation. */
interface SuspendedItems {
  /** A suspended item stands for its call. The call has the result of the later item, or an error. */
  readonly calls: ReadonlyMap<InputItem, WrittenCall>;
  /** The later items, and the functions of the client that the calls waited for. */
  readonly hidden: ReadonlySet<InputItem>;
}

/** @returns undefined if there are none, as in most conversations */
function findSuspended(
  input: readonly InputItem[],
  tools: ReadonlyMap<string, ServerTool>,
): SuspendedItems | undefined {
  const waiting = new Map<unknown, { item: OutputItem; tool: ServerTool }>();
  for (const item of input) {
    const tool = tools.get(item.type);
    const { status, call_id: callId } = item as OutputItem; // a carried item
    if (tool?.resume && status === 'in_progress' && !waiting.has(callId)) {
      waiting.set(callId, { item: item as OutputItem, tool });
    }
  }
  if (waiting.size === 0) return undefined;
  const calls = new Map<InputItem, WrittenCall>();
  for (const { item, tool } of waiting.values()) calls.set(item as InputItem, writeInterrupted(tool, item));
  const hidden = new Set<InputItem>();
  const own = new Set<unknown>();
  for (const item of input) {
    const { type, call_id: callId, subagent_id: id, status } = item as OutputItem;
    const begun = waiting.get(callId);
    if (begun && type === begun.tool.type && status !== 'in_progress') {
      const call = readCall(begun.tool, item as OutputItem);
      if (call) calls.set(begun.item as InputItem, call);
      hidden.add(item);
    } else if (type === 'function_call' && waiting.has(id)) {
      own.add(callId);
      hidden.add(item);
    } else if (type === 'function_call_output' && own.has(callId)) hidden.add(item);
  }
  return { calls, hidden };
}

/** A call that was never resumed. */
function writeInterrupted(tool: ServerTool, item: OutputItem): WrittenCall {
  const input = parseObject(String(item['arguments'] ?? '')) ?? {};
  const result = tool.writeFailure('The call was interrupted.', { ...item, ...input });
  return { arguments: JSON.stringify(input), result };
}

/** Reads the function from an item of a tool with several entries. */
function readName({ name, checkEntries }: ServerTool, { instance_name: given }: OutputItem): string {
  const isInstance = checkEntries !== undefined && typeof given === 'string' && given.startsWith(`${name}__`);
  return isInstance && /^\d{1,3}$/.test(given.slice(name.length + 2)) ? given : name;
}

/** Whether the item can be in the same turn as the calls before it. */
const continuesTurn = ({ type }: InputItem): boolean =>
  type === 'function_call' || type === 'custom_tool_call' || type.startsWith('router:');

/** @param tool undefined: the gateway has none for the item. It may be that of a module which the operator has removed */
function readCall(tool: ServerTool | undefined, item: OutputItem): WrittenCall | undefined {
  if (!tool && !addedToolPattern.test(item.type)) return undefined;
  const call = (tool ? replayCall(tool, item) : readPlainItem(item)) ?? readFailure(item);
  return call && writeReplayedCall(call, item);
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
