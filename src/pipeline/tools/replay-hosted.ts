import { type InputItem, type OutputItem, replayedTypes } from '../../domain/items.ts';
import type { ServerTool } from '../../tools/server-tool.ts';
import { type WrittenCall, writeReplayedCall } from './written-call.ts';

/** Calls of hosted tools in a conversation, which the model sees as calls of functions. */
export class HostedCalls {
  readonly calls = new Map<InputItem, { readonly tool: ServerTool; readonly call: WrittenCall }>();
  /** The items with their results. */
  readonly hidden = new Set<InputItem>();
  /** Items with results, by type and id of their call. */
  private readonly outputs = new Map<string, OutputItem>();

  /** @param isCarried whether the wire of the endpoint has items of a type */
  constructor(
    input: readonly InputItem[],
    tools: ReadonlyMap<string, ServerTool>,
    isCarried: (type: string) => boolean,
  ) {
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
      if (!tool || !replay || (isCarried(item.type) && !replay.isOwn(item))) continue;
      const output = this.findOutput(item, replay.types.get(item.type));
      const call = replay.read(item, output);
      if (!call) continue;
      this.calls.set(input[index]!, { tool, call: writeReplayedCall(call, item) });
      if (output) this.hidden.add(output as InputItem);
    }
  }

  private findOutput({ call_id: callId, id }: OutputItem, type: string | undefined): OutputItem | undefined {
    return this.outputs.get(`${type} ${callId}`) ?? this.outputs.get(`${type} ${id}`);
  }
}
