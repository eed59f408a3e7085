import { type InputItem, type OutputItem, replayedTypes } from '../../domain/items.ts';
import type { ServerTool } from '../../tools/server-tool.ts';
import type { ReplayFacts } from './replay-items.ts';
import { type WrittenCall, writeReplayedCall } from './written-call.ts';

/** Calls of hosted tools in a conversation, which the model sees as calls of functions. */
export class HostedCalls {
  readonly calls = new Map<InputItem, { readonly tool: ServerTool; readonly call: WrittenCall }>();
  /** Calls for endpoints where the tool of the provider replaces that of the gateway → the items of the provider. */
  readonly native = new Map<InputItem, InputItem>();
  /** The items with their results. */
  readonly hidden = new Set<InputItem>();
  /** Items of others → the fields that the model does not see. */
  readonly lost = new Map<InputItem, readonly string[]>();
  /** Items with results, by type and id of their call. */
  private readonly outputs = new Map<string, OutputItem>();

  constructor(input: readonly InputItem[], tools: ReadonlyMap<string, ServerTool>, facts: ReplayFacts) {
    const readers = new Map<string, ServerTool>();
    for (const tool of tools.values())
      for (const type of tool.hosted?.replay?.types.keys() ?? []) readers.set(type, tool);
    const items = input as readonly OutputItem[];
    for (const item of items) {
      const { type, call_id: callId = item.id } = item; // that of a local shell has the id of the call
      if (replayedTypes.has(type) && !readers.has(type)) this.outputs.set(`${type} ${callId}`, item);
    }
    for (const [index, item] of items.entries()) {
      const tool = readers.get(item.type);
      const replay = tool?.hosted?.replay;
      if (!tool || !replay) continue;
      if (replay.writeNative && facts.isNative(tool)) {
        this.native.set(input[index]!, replay.writeNative(item));
        continue;
      }
      if (facts.isCarried(item.type) && !replay.isOwn(item)) continue;
      const output = this.findOutput(item, replay.types.get(item.type));
      const call = replay.read(item, output);
      if (!call) continue;
      this.calls.set(input[index]!, { tool, call: writeReplayedCall(call, item) });
      if (output) this.hidden.add(output as InputItem);
      if (replay.isOwn(item)) continue; // the model sees what it saw
      for (const each of output ? [item, output] : [item]) {
        const lost = listLost(each, replay.fields);
        if (lost.length > 0) this.lost.set(each as InputItem, lost);
      }
    }
  }

  private findOutput({ call_id: callId, id }: OutputItem, type: string | undefined): OutputItem | undefined {
    return this.outputs.get(`${type} ${callId}`) ?? this.outputs.get(`${type} ${id}`);
  }
}

/** Fields of every item that only a provider with a store reads. */
const common: ReadonlySet<string> = new Set(['type', 'id', 'call_id', 'status', 'created_by']);

function listLost(item: OutputItem, known: ReadonlySet<string>): string[] {
  const lost = listUnknown(item, (name) => common.has(name) || known.has(name));
  const { action } = item;
  if (!isObject(action)) return lost;
  return lost.concat(listUnknown(action, (name) => known.has(`action.${name}`)).map((name) => `action.${name}`));
}

const listUnknown = (object: object, isKnown: (name: string) => boolean): string[] =>
  Object.entries(object).flatMap(([name, value]) => (isKnown(name) || isEmpty(value) ? [] : [name]));

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
