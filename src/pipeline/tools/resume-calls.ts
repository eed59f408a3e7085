import type { Chunk } from '../../domain/chunks.ts';
import { createId } from '../../domain/ids.ts';
import type { FunctionCallOutputItem, InputItem, OutputItem } from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';
import type { Sink } from '../../domain/sink.ts';
import type { ResumedCall } from '../../tools/server-tool.ts';
import type { OfferedServerTool, Resumption } from '../run/server-tools.ts';
import { type CallParts, type RunningCall, writeItem } from './run-call.ts';
import { runAll } from './run-calls.ts';
import type { AwaitedCallItem } from './suspended-calls.ts';

/** A call of an earlier response that waits for functions of the caller. */
interface SuspendedCall {
  readonly offered: OfferedServerTool;
  readonly item: Fields & { call_id: string };
  /** The functions of the last suspension, with their outputs. */
  readonly resumed: ResumedCall;
}

type Fields = Record<string, unknown>;

/** Maximum calls that a request continues. The model reads an error of the others. */
const MAX_RESUMED = 32;

/**
 * Finds the calls that are still suspended at the end of the input.
 *
 * @param offered tools of the request. A call of another tool cannot go on: `replay-items.ts` shows the model an error
 */
export function findSuspendedCalls(
  input: readonly InputItem[],
  offered: ReadonlyMap<string, OfferedServerTool>,
): SuspendedCall[] {
  const waiting = new Map<string, { offered: OfferedServerTool; item: SuspendedCall['item'] }>();
  for (const item of input) {
    if (!item.type.startsWith('router:')) continue;
    const fields = item as unknown as Fields;
    const { call_id: callId, status } = fields;
    if (typeof callId !== 'string') continue;
    const offer = findOffer(offered, item.type, fields['instance_name']);
    if (status !== 'in_progress') waiting.delete(callId);
    else if (offer?.tool.resume) waiting.set(callId, { offered: offer, item: { ...fields, call_id: callId } });
  }
  if (waiting.size === 0) return [];
  const outputs = new Map(input.filter(isOutput).map(({ call_id, output }) => [call_id, output]));
  const calls = Map.groupBy(input.filter(isAwaitedCall), ({ subagent_id: id }) => id);
  return [...waiting.values()].slice(0, MAX_RESUMED).map(({ offered: offer, item }) => {
    return { offered: offer, item, resumed: readLastRound(calls.get(item.call_id) ?? [], outputs) };
  });
}

/** Finds the entry of a tool that an item belongs to. Without `instance_name`, it is the first one. */
function findOffer(
  offered: ReadonlyMap<string, OfferedServerTool>,
  type: string,
  instanceName: unknown,
): OfferedServerTool | undefined {
  for (const offer of offered.values()) {
    if (offer.tool.type !== type) continue;
    if (instanceName === undefined ? offer.instance === 0 : offer.name === instanceName) return offer;
  }
  return undefined;
}

const isOutput = (item: InputItem): item is FunctionCallOutputItem => item.type === 'function_call_output';

const isAwaitedCall = (item: InputItem): item is InputItem & AwaitedCallItem =>
  item.type === 'function_call' && typeof (item as unknown as Fields)['subagent_id'] === 'string';

/** The functions since the last transcript. An output that is missing is left out: the tool reports it. */
function readLastRound(
  calls: readonly AwaitedCallItem[],
  outputs: ReadonlyMap<string, FunctionCallOutputItem['output']>,
): ResumedCall {
  const first = calls.findLastIndex(({ subagent_items: items }) => items !== undefined);
  if (first === -1) return { transcript: [], calls: [] };
  const last = calls.slice(first).flatMap(({ call_id: id, name, namespace, arguments: text }) => {
    const output = outputs.get(id);
    const call = { name, arguments: text, ...(namespace !== undefined && { namespace }) };
    return output === undefined ? [] : [{ ...call, output }];
  });
  return { transcript: calls[first]!.subagent_items!, calls: last }; // it has one
}

/**
 * Continues suspended calls, several at the same time. The client sees an item for each call that ends.
 *
 * @throws the reason of the cancellation of the run
 */
export async function resumeCalls(
  { model, ...parts }: CallParts & { readonly model: string },
  suspended: readonly SuspendedCall[],
  out: Sink<Chunk>,
): Promise<Resumption> {
  const running = suspended.map(({ offered, item, resumed }, index): RunningCall => {
    const { type } = offered.tool;
    const input = readInput(offered, item);
    const call = { callId: item.call_id, arguments: JSON.stringify(input) };
    return {
      call: { ...call, ...readText(item) },
      offered,
      input,
      model,
      takesImages: false,
      resumed,
      key: `tool/resumed/${index}/${type}`,
      id: createId(offered.tool.itemPrefix),
    };
  });
  const results = await runAll(parts, running, out);
  const ended = running.flatMap((each): OutputItem[] => {
    const { item, status, suspension } = results.get(each)!; // every call has ended
    return suspension ? [] : [writeItem(each, item, status)];
  });
  return { items: ended as InputItem[], isWaiting: ended.length < running.length }; // clients send such items back, too
}

/** The arguments as the model wrote them. */
const readText = ({ arguments: text }: Fields): { arguments?: string } =>
  typeof text === 'string' && parseObject(text) !== undefined ? { arguments: text } : {};

/** Reads the arguments of the call. A client may have kept only the documented fields of the item. */
function readInput({ tool, parameters }: OfferedServerTool, item: Fields): Record<string, unknown> {
  const written = typeof item['arguments'] === 'string' ? parseObject(item['arguments']) : undefined;
  if (written && tool.checkArguments(written) === undefined) return written;
  const { properties = {} } = tool.show(parameters).arguments as { properties?: object };
  return Object.fromEntries(Object.keys(properties).flatMap((name) => (name in item ? [[name, item[name]]] : [])));
}
