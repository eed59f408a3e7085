import type { ReasoningItem } from './items.ts';

/** A block of reasoning in chat completions: `reasoning.text`, `reasoning.summary`, `reasoning.encrypted`. */
export interface ReasoningDetail {
  type?: string;
  text?: string | null;
  summary?: string | null;
  data?: string | null;
  signature?: string | null;
  format?: string | null;
  id?: string | null;
  index?: number | null;
  /** The call that follows, if the model wrote something else before the reasoning. The order of a message lacks it. */
  tool_call_id?: string | null;
}

/**
 * Writes a reasoning item as blocks: its summary, its text with the signature on the last block, its encrypted content.
 *
 * @param first the `index` of the first block
 * @param before the id of the call that follows the reasoning
 * @see docs/reference/wires.md, docs/reference/chat-completions.md#reasoning
 */
export function writeReasoningDetails(item: ReasoningItem, first = 0, before?: string): ReasoningDetail[] {
  const details: ReasoningDetail[] = [];
  const origin = originOf(item);
  for (const { text } of item.summary ?? []) details.push({ type: 'reasoning.summary', summary: text, ...origin });
  const parts = item.content ?? [];
  for (const { text } of parts) details.push({ type: 'reasoning.text', text, ...origin });
  if (item.signature) {
    if (parts.length === 0) details.push({ type: 'reasoning.text', text: '', ...origin });
    details.at(-1)!.signature = item.signature;
  }
  if (item.encrypted_content) details.push({ type: 'reasoning.encrypted', data: item.encrypted_content, ...origin });
  const isSealed = item.signature || item.encrypted_content;
  if (before !== undefined && isSealed) details.at(-1)!.tool_call_id = before;
  return details.map((detail, index) => ({ ...detail, index: first + index }));
}

/** Returns the fields that all blocks of an item have. One that is unknown is absent, not null. */
export const originOf = ({ id, format }: ReasoningItem): Pick<ReasoningDetail, 'id' | 'format'> => ({
  ...(format && { format }),
  ...(id && { id }),
});
