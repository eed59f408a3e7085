import type { OutputItem } from './items.ts';
import { parseObject } from './parse-object.ts';

/** The function that stands for the search of a client where a model has only functions. */
export const clientSearchName = 'tool_search';

/** Returns the item of a search that the client runs. @param text the arguments of the call */
export const writeSearchCall = (callId: string, text: string): OutputItem => ({
  type: 'tool_search_call',
  call_id: callId,
  execution: 'client',
  arguments: parseObject(text, 'arguments') ?? {},
});
