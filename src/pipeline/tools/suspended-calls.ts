import type { Chunk } from '../../domain/chunks.ts';
import { createId } from '../../domain/ids.ts';
import type { Suspension } from '../../tools/server-tool.ts';

/** An item that shows the client a call of its function, or that the client sends back. */
export interface AwaitedCallItem {
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
  readonly namespace?: string;
  /** The `call_id` of the call that waits for it. */
  readonly subagent_id: string;
  /** The transcript of that call. Only the first function call of a suspension has it. */
  readonly subagent_items?: readonly { readonly type: string }[];
}

/**
 * Writes the functions that a suspended call waits for. Each gets a new call id, because two suspended calls can have
 * the same ones.
 *
 * @param key of the suspended call
 * @see docs/reference/tools/subagent.md#your-functions
 */
export function writeAwaitedCalls(key: string, callId: string, { calls, transcript }: Suspension): Chunk[] {
  return calls.flatMap(({ name, namespace, arguments: text }, index): Chunk[] => {
    const own = { id: createId('fc_'), type: 'function_call', call_id: createId('call_'), name };
    const group = namespace === undefined ? {} : { namespace };
    const started = { ...own, status: 'in_progress', arguments: '', ...group, subagent_id: callId };
    const items = index === 0 ? { subagent_items: transcript } : {};
    const done = { ...started, status: 'completed', arguments: text, ...items };
    const place = `${key}/${index}`;
    return [
      { type: 'item', key: place, item: started },
      { type: 'item_done', key: place, item: done },
    ];
  });
}
