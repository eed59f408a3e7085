import type { Chunk } from '../../domain/chunks.ts';
import { isReasoningFormat } from '../../domain/items.ts';
import type { ReasoningDetail } from '../../domain/reasoning-details.ts';

/**
 * Reads OpenRouter's blocks of reasoning.
 *
 * @returns whether they contain the text of the reasoning, which the plain `reasoning` field then repeats
 */
export function readReasoningDetails(details: ReasoningDetail[], chunks: Chunk[], dropped: Set<string>): boolean {
  let hasText = false;
  const readText = (detail: ReasoningDetail, field: 'text' | 'summary' | 'data' | 'signature'): string => {
    const value: unknown = detail[field];
    if (typeof value === 'string') return value;
    if (value) dropped.add(`message.reasoning_details[].${field}`);
    return '';
  };
  for (const detail of details) {
    switch (detail?.type) {
      case 'reasoning.text': {
        const text = readText(detail, 'text');
        const signature = readText(detail, 'signature');
        if (text !== '') {
          hasText = true;
          chunks.push({ type: 'reasoning', delta: text });
        }
        if (signature !== '') chunks.push(readSeal(detail, { signature }, dropped));
        break;
      }
      case 'reasoning.summary': {
        const summary = readText(detail, 'summary');
        if (summary !== '') {
          hasText = true;
          const chunk: Chunk = { type: 'reasoning_summary', delta: summary };
          if (typeof detail.index === 'number') chunk.part = detail.index;
          chunks.push(chunk);
        }
        break;
      }
      case 'reasoning.encrypted': {
        const encryptedContent = readText(detail, 'data');
        if (encryptedContent !== '') chunks.push(readSeal(detail, { encryptedContent }, dropped));
        break;
      }
      default:
        dropped.add(`message.reasoning_details[] (${detail?.type})`);
    }
  }
  return hasText;
}

/** Blocks of reasoning of a message, by the part that they precede. */
export interface PlacedDetails {
  /** Blocks before the text. */
  first: ReasoningDetail[];
  /** The id of a call → the blocks before it. Undefined if there are none. */
  late: Map<string, ReasoningDetail[]> | undefined;
}

/**
 * Finds the blocks that name a call of the same message. Blocks of one `id` stay together, and the last one names the
 * call. In a stream the order of the pieces says the same, and a piece with reasoning has no calls. choice 787
 */
export function placeDetails(details: ReasoningDetail[], calls: readonly unknown[]): PlacedDetails {
  const ids = new Set(calls.map((call) => (call as { id?: unknown } | null)?.id));
  const placed: PlacedDetails = { first: [], late: undefined };
  let group: ReasoningDetail[] = [];
  const endGroup = (): void => {
    const call = group.find((detail) => ids.has(detail?.tool_call_id ?? ''))?.tool_call_id;
    let list = placed.first;
    if (call) {
      placed.late ??= new Map();
      list = placed.late.get(call) ?? [];
      placed.late.set(call, list);
    }
    for (const detail of group) list.push(detail);
    group = [];
  };
  for (const detail of details) {
    if (!detail?.id || detail.id !== group[0]?.id) endGroup();
    group.push(detail);
  }
  endGroup();
  return placed;
}

function readSeal(
  { format, id }: ReasoningDetail,
  sealed: { encryptedContent: string } | { signature: string },
  dropped: Set<string>,
): Chunk {
  const isKnown = typeof format === 'string' && isReasoningFormat(format);
  if (!isKnown && format) dropped.add(`message.reasoning_details[].format (${format})`);
  const seal: Chunk = { type: 'reasoning_seal', format: isKnown ? format : 'unknown', ...sealed };
  return typeof id === 'string' && id !== '' ? { ...seal, id } : seal;
}
