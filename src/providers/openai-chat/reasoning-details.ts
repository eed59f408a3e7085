import type { Chunk } from '../../domain/chunks.ts';
import type { ReasoningFormat, ReasoningItem } from '../../domain/items.ts';
import type { ReasoningDetail } from './wire.ts';

const formats: Record<ReasoningFormat, true> = {
  unknown: true,
  'openai-responses-v1': true,
  'azure-openai-responses-v1': true,
  'bedrock-openai-responses-v1': true,
  'bedrock-xai-responses-v1': true,
  'xai-responses-v1': true,
  'meta-responses-v1': true,
  'anthropic-claude-v1': true,
  'google-gemini-v1': true,
};
const isFormat = (format: string): format is ReasoningFormat => Object.hasOwn(formats, format);

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

function readSeal(
  { format, id }: ReasoningDetail,
  sealed: { encryptedContent: string } | { signature: string },
  dropped: Set<string>,
): Chunk {
  const isKnown = typeof format === 'string' && isFormat(format);
  if (!isKnown && format) dropped.add(`message.reasoning_details[].format (${format})`);
  const seal: Chunk = { type: 'reasoning_seal', format: isKnown ? format : 'unknown', ...sealed };
  return typeof id === 'string' && id !== '' ? { ...seal, id } : seal;
}

/**
 * Writes a reasoning item as blocks, in the order in which `readReasoningDetails` reads them.
 *
 * @see docs/reference/wires.md
 */
export function writeReasoningDetails(item: ReasoningItem): ReasoningDetail[] {
  const details: ReasoningDetail[] = [];
  const format = item.format ?? null;
  const id = item.id ?? null;
  for (const { text } of item.summary ?? []) details.push({ type: 'reasoning.summary', summary: text, format, id });
  const parts = item.content ?? [];
  parts.forEach(({ text }, index) => {
    const signature = index === parts.length - 1 ? (item.signature ?? null) : null;
    details.push({ type: 'reasoning.text', text, signature, format, id });
  });
  if (item.signature && parts.length === 0) {
    details.push({ type: 'reasoning.text', text: '', signature: item.signature, format, id });
  }
  if (item.encrypted_content) details.push({ type: 'reasoning.encrypted', data: item.encrypted_content, format, id });
  return details.map((detail, index) => ({ ...detail, index }));
}
