import type { OutputItem } from '../../domain/items.ts';
import type { ResponseObject } from '../../domain/response.ts';

/** Derives the stop reason of a response of another format. */
export function findStopReason({ status, incomplete_details: cut, output }: ResponseObject): string {
  if (status === 'incomplete') return cut?.reason === 'content_filter' ? 'refusal' : 'max_tokens';
  if (output.some(isRefusal)) return 'refusal';
  return output.some(isOpenCall) ? 'tool_use' : 'end_turn';
}

const isOpenCall = ({ type }: OutputItem): boolean => type === 'function_call' || type === 'custom_tool_call';

const isRefusal = ({ type, content }: OutputItem): boolean =>
  type === 'message' && Array.isArray(content) && content.some((part) => part?.type === 'refusal');
