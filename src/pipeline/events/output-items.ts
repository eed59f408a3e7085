import { WholeText, type TextCounter } from '../../domain/growing-text.ts';
import { createId } from '../../domain/ids.ts';
import type { OutputItem } from '../../domain/items.ts';

/** A content part or summary part while its deltas arrive. */
export interface OpenPart {
  type: 'output_text' | 'refusal' | 'reasoning_text' | 'summary_text';
  /** `content_index`, or `summary_index` for a summary part. */
  index: number;
  text: WholeText;
  annotations: Record<string, unknown>[];
  logprobs: unknown[];
}

/** An output item in progress. `wire` is its shape on the wire, complete when the item is closed. */
export interface OpenItem {
  index: number;
  id: string;
  wire: OutputItem;
  /** The item as its provider announced it. Some providers announce it with all of its text. */
  announced?: OutputItem;
  open: boolean;
  part: OpenPart | undefined;
  contentParts: number;
  summaryParts: number;
  /** Summary part number of the provider that is in progress. */
  summaryNumber: number | undefined;
  /** Arguments of a function call, input of a custom tool call. */
  callText: WholeText;
  /** Whether a reasoning item has its signature or encrypted content. It then gets no more text. */
  sealed: boolean;
  /** Whether a relayed event has reported the item's progress. */
  relayed: boolean;
  /** The list of finished parts, once it is a copy that no event contains. */
  grown: object[] | undefined;
}

const idPrefixes = new Map([
  ['message', 'msg_'],
  ['reasoning', 'rs_'],
  ['function_call', 'fc_'],
  ['custom_tool_call', 'ctc_'],
  ['web_search_call', 'ws_'],
  ['file_search_call', 'fs_'],
  ['image_generation_call', 'img_'],
  ['code_interpreter_call', 'ci_'],
  ['computer_call', 'cu_'],
  ['apply_patch_call', 'apc_'],
  ['shell_call', 'shc_'],
  ['shell_call_output', 'sho_'],
  ['compaction', 'cmp_'],
]);

/** @param counter of the item's own text */
export function openItem(wire: OutputItem, index: number, counter: TextCounter): OpenItem {
  const id = wire.id ?? createId(idPrefixes.get(wire.type) ?? 'item_');
  return {
    index,
    id,
    wire: wire.id === undefined ? { ...wire, id } : wire,
    open: true,
    part: undefined,
    contentParts: 0,
    summaryParts: 0,
    summaryNumber: undefined,
    callText: new WholeText(counter),
    sealed: false,
    relayed: false,
    grown: undefined,
  };
}

/** Creates the item of `output_item.added`, which has required fields with empty values. */
export function createEmptyItem(item: OutputItem): OutputItem {
  const bare: OutputItem = { ...item };
  if ('status' in item || item.type === 'message') bare.status = 'in_progress';
  switch (item.type) {
    case 'message':
      bare['content'] = [];
      break;
    case 'reasoning':
      bare['summary'] = [];
      if (Array.isArray(item['content'])) bare['content'] = [];
      delete bare['encrypted_content'];
      delete bare['signature'];
      break;
    case 'function_call':
    case 'mcp_call':
      bare['arguments'] = '';
      break;
    case 'custom_tool_call':
      bare['input'] = '';
      break;
    case 'image_generation_call':
      bare['result'] = null;
      break;
    case 'mcp_list_tools':
      bare['tools'] = [];
      break;
  }
  return bare;
}

/**
 * Returns the progress events of a hosted call that arrived whole: type and own fields, without place and number.
 *
 * @see docs/reference/events.md#order
 */
export function hostedProgress(item: OutputItem): { type: string; [field: string]: unknown }[] {
  switch (item.type) {
    case 'web_search_call':
      return ['in_progress', 'searching', 'completed'].map((step) => ({ type: `response.web_search_call.${step}` }));
    case 'image_generation_call':
      return ['in_progress', 'generating', 'completed'].map((step) => ({
        type: `response.image_generation_call.${step}`,
      }));
    case 'code_interpreter_call': {
      const code = typeof item['code'] === 'string' ? item['code'] : '';
      return [
        { type: 'response.code_interpreter_call.in_progress' },
        ...(code === '' ? [] : [{ type: 'response.code_interpreter_call_code.delta', delta: code }]),
        { type: 'response.code_interpreter_call_code.done', code },
        { type: 'response.code_interpreter_call.interpreting' },
        { type: 'response.code_interpreter_call.completed' },
      ];
    }
    case 'mcp_list_tools':
      return ['in_progress', item['error'] ? 'failed' : 'completed'].map((step) => ({
        type: `response.mcp_list_tools.${step}`,
      }));
    case 'mcp_call':
      return [
        { type: 'response.mcp_call.in_progress' },
        { type: 'response.mcp_call_arguments.delta', delta: item['arguments'] },
        { type: 'response.mcp_call_arguments.done', arguments: item['arguments'] },
        { type: `response.mcp_call.${item['error'] ? 'failed' : 'completed'}` },
      ];
    case 'apply_patch_call': {
      // Only a create or update has a diff.
      const diff = (item['operation'] as { diff?: unknown } | undefined)?.diff;
      if (typeof diff !== 'string') return [];
      return [
        { type: 'response.apply_patch_call_operation_diff.delta', delta: diff },
        { type: 'response.apply_patch_call_operation_diff.done', diff },
      ];
    }
    default:
      return [];
  }
}
