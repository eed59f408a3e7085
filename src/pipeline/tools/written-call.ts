import type { OutputItem } from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';
import type { ReplayedCall } from '../../tools/server-tool.ts';

/** A call as the model sees it. */
export interface WrittenCall {
  readonly arguments: string;
  readonly result: object;
}

/** Writes a call with the arguments of its item, if it has them. */
export function writeReplayedCall(call: ReplayedCall, { arguments: written }: OutputItem): WrittenCall {
  // The text that the model wrote, so that the provider finds the same prefix in its cache.
  const isObject = typeof written === 'string' && parseObject(written) !== undefined;
  return { arguments: isObject ? written : JSON.stringify(call.arguments), result: call.result };
}
