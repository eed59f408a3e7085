import type { OutputItem } from './items.ts';
import { parseObject } from './parse-object.ts';

/** The types of tools that operators add. The model sees a function, whose name has at most 64 characters. */
export const addedToolPattern = /^router:[a-z][a-z0-9_]{0,56}$/;

/** Reads the arguments and the result of an item without fields of its own. */
export function readPlainItem({ arguments: input, result }: OutputItem) {
  if (typeof input !== 'string' || typeof result !== 'string') return undefined;
  const read = [input, result].map((text) => parseObject(text));
  return read[0] && read[1] && { arguments: read[0], result: read[1] };
}
