import type { FunctionCallItem, FunctionCallOutputItem, InputItem } from '../../domain/items.ts';
import type { ResponseObject } from '../../domain/response.ts';
import type { AwaitedCall, ResumedCall, Suspension } from '../server-tool.ts';

/* A subagent with functions of the caller works in rounds. The caller runs the functions between two rounds. */

const isCall = (item: { type: string }): item is FunctionCallItem => item.type === 'function_call';

/** @returns the functions that the subagent waits for after a round; undefined if it waits for none */
export function findAwaited(response: ResponseObject, before: readonly InputItem[]): Suspension | undefined {
  const { status, output } = response;
  const calls = status === 'completed' ? (output as InputItem[]).filter(isCall) : [];
  if (calls.length === 0) return undefined;
  return { calls: calls.map(readCall), transcript: [...before, ...(output as InputItem[])] };
}

const readCall = ({ name, namespace, arguments: text }: FunctionCallItem): AwaitedCall => ({
  name,
  arguments: text,
  ...(namespace !== undefined && { namespace }),
});

/**
 * Returns the conversation before the next round: the transcript with the outputs of the functions.
 *
 * @param isInput whether items have the shapes of a request. The caller could have changed them
 * @returns why it cannot go on, for the model
 */
export function readTranscript(
  { transcript, calls }: ResumedCall,
  isInput: (items: readonly unknown[]) => items is InputItem[],
): InputItem[] | string {
  const changed = 'The subagent cannot go on, because its items were not sent back unchanged.';
  if (transcript.length === 0 || !isInput(transcript) || !transcript.every(isOfSubagent)) return changed;
  const open = findOpen(transcript);
  if (open.length > calls.length) return 'The subagent cannot go on, because an output of its functions is missing.';
  const outputs = open.flatMap(({ call_id, name }, index): InputItem[] => {
    const call = calls[index];
    return call?.name === name ? [{ type: 'function_call_output', call_id, output: call.output }] : [];
  });
  if (open.length === 0 || outputs.length !== calls.length) return changed;
  return [...transcript, ...outputs];
}

/** Finds calls without an output. Providers may use the id of a call again in a later turn. */
function findOpen(transcript: readonly InputItem[]): FunctionCallItem[] {
  const open = new Map<string, FunctionCallItem>();
  for (const item of transcript) {
    if (isCall(item)) open.set(item.call_id, item);
    else if (item.type === 'function_call_output') open.delete((item as FunctionCallOutputItem).call_id);
  }
  return [...open.values()];
}

/** Items that no transcript contains. */
const foreign: ReadonlySet<string> = new Set([
  'additional_tools',
  'configuration_update',
  'item_reference',
  'agent_message',
  'compaction',
  'context_compaction',
  'mcp_approval_response',
]);

/** Whether a subagent can have written or read the item. */
const isOfSubagent = (item: InputItem): boolean =>
  item.type === 'message' ? item.role === 'assistant' : !foreign.has(item.type);

/** Number of server tools that the subagent has called so far. */
export const countServerCalls = (items: readonly InputItem[]): number =>
  items.filter(({ type }) => type.startsWith('router:')).length;
