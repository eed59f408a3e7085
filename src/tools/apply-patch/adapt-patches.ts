import type { InputItem } from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';

const callTypes: ReadonlySet<string> = new Set(['router:apply_patch', 'apply_patch_call']);

type Open = Readonly<Record<string, unknown>> & { readonly type: string };

/**
 * Rewrites patches of earlier responses, and what the client has made of them, for an endpoint: as items of the provider's
 * tool, or as calls of a function and their outputs.
 */
export function adaptPatches(input: InputItem[], isNative: boolean, name: string): InputItem[] {
  if (!input.some(({ type }) => callTypes.has(type))) return input;
  const callIds = new Set<unknown>();
  return input.map((item): InputItem => {
    const open = item as Open;
    if (callTypes.has(item.type)) {
      callIds.add(open['call_id']);
      return isNative ? writeNative(open) : writeFunctionCall(open, name);
    }
    if (item.type !== 'apply_patch_call_output' || isNative || !callIds.has(open['call_id'])) return item;
    const { call_id: callId, status, output } = open;
    const text = JSON.stringify({ status, ...(typeof output === 'string' && { output }) });
    return { type: 'function_call_output', call_id: String(callId), output: text };
  });
}

/** The provider knows only ids of its own. An item of the gateway has `arguments`. */
function writeNative({ arguments: given, id, ...rest }: Open): InputItem {
  const kept = given === undefined && id !== undefined ? { id } : undefined;
  return { ...rest, ...kept, type: 'apply_patch_call' };
}

function writeFunctionCall({ call_id: callId, arguments: given, operation }: Open, name: string): InputItem {
  const isObject = typeof given === 'string' && parseObject(given) !== undefined;
  const written = isObject ? given : JSON.stringify({ operation });
  return { type: 'function_call', call_id: String(callId), name, arguments: written };
}
