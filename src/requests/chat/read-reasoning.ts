import { type ReasoningFormat, type ReasoningItem, isReasoningFormat } from '../../domain/items.ts';
import { readRedacted, readThinking } from '../messages/seal.ts';
import type { AssistantMessage } from './schema/messages.ts';

type Detail = NonNullable<AssistantMessage['reasoning_details']>[number];
type ThinkingBlock = NonNullable<AssistantMessage['thinking_blocks']>[number];

/** The reasoning of an assistant message. */
export interface ReasoningBlocks {
  items: ReasoningItem[];
  /** The id of the call that an item precedes. Most items precede the text. */
  calls: ReadonlyMap<ReasoningItem, string> | undefined;
  /** Whether a block was left out: it has an unknown type, or no contents. */
  hasUnknown: boolean;
}

/** A reasoning item while its blocks are read. */
interface OpenReasoning {
  item: ReasoningItem;
  format: string | undefined;
  /** Type and `index` of the last block. */
  last: string;
}

/**
 * Reads the blocks of reasoning of an assistant message. Blocks with one `id` are one item. Blocks without an id belong
 * to the item in progress until it has its signature or its encrypted content. Pieces of a streamed block, which have
 * one `index`, are joined: some clients return them as they arrived.
 *
 * @see docs/reference/chat-completions.md#reasoning
 */
export function readReasoningBlocks(details: readonly Detail[]): ReasoningBlocks {
  const items: ReasoningItem[] = [];
  let calls: Map<ReasoningItem, string> | undefined;
  let open: OpenReasoning | undefined;
  let hasUnknown = false;
  for (const detail of details) {
    if (!blockTypes.has(detail.type) || isHollow(detail)) {
      hasUnknown = true;
      continue;
    }
    const id = detail.id ?? undefined;
    const format = detail.format ?? undefined;
    if (!open || !belongsTo(open, detail, id, format)) {
      const item: ReasoningItem = id === undefined ? { type: 'reasoning' } : { type: 'reasoning', id };
      open = { item, format: undefined, last: '' };
      item.summary = [];
      items.push(item);
    }
    addBlock(open, detail);
    if (detail.tool_call_id) {
      calls ??= new Map();
      calls.set(open.item, detail.tool_call_id);
    }
    if (format !== undefined && open.format === undefined) {
      open.format = format;
      open.item.format = readFormat(format);
    }
  }
  return { items, calls, hasUnknown };
}

/** @returns undefined if the type is unknown, or if there are no contents */
export function readThinkingBlock(block: ThinkingBlock): ReasoningItem | undefined {
  if (block.type === 'redacted_thinking') return block.data ? readRedacted(block.data) : undefined;
  if (block.type !== 'thinking') return undefined;
  const { thinking, signature } = block;
  return thinking || signature ? readThinking(thinking ?? '', signature ?? undefined) : undefined;
}

const blockTypes: ReadonlySet<string> = new Set(['reasoning.text', 'reasoning.summary', 'reasoning.encrypted']);

/** Whether a block lacks its contents. Some clients lose those of the blocks that they do not know: cline/cline#8295. */
const isHollow = (detail: Detail): boolean =>
  (detail.type === 'reasoning.encrypted' && !detail.data) ||
  (detail.type === 'reasoning.summary' && typeof detail.summary !== 'string');

const readFormat = (format: string): ReasoningFormat => (isReasoningFormat(format) ? format : 'unknown');

function belongsTo(
  { item, format: known, last }: OpenReasoning,
  detail: Detail,
  id: string | undefined,
  format: string | undefined,
): boolean {
  if (id !== item.id) return false;
  if (known !== undefined && format !== undefined && known !== format) return false;
  if (id !== undefined) return true;
  if (last === placeOf(detail)) return true;
  if (detail.type === 'reasoning.encrypted') return !item.encrypted_content;
  return !item.encrypted_content && !item.signature;
}

const placeOf = ({ type, index }: Detail): string => (typeof index === 'number' ? `${type} ${index}` : '');

function addBlock(open: OpenReasoning, detail: Detail): void {
  const { item } = open;
  const place = placeOf(detail);
  const isPiece = place !== '' && place === open.last;
  open.last = place;
  switch (detail.type) {
    case 'reasoning.text': {
      const { text, signature } = detail;
      item.content ??= [];
      const part = item.content.at(-1);
      if (isPiece && part) part.text += text ?? '';
      else if (text) item.content.push({ type: 'reasoning_text', text });
      if (signature) item.signature = signature;
      if (item.content.length === 0) delete item.content;
      break;
    }
    case 'reasoning.summary': {
      const part = item.summary!.at(-1);
      if (isPiece && part) part.text += detail.summary!;
      else item.summary!.push({ type: 'summary_text', text: detail.summary! });
      break;
    }
    case 'reasoning.encrypted':
      item.encrypted_content = isPiece ? (item.encrypted_content ?? '') + detail.data! : detail.data!;
  }
}
