import type { ReasoningItem } from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';
import { isInputList } from '../responses/schema/items.ts';

/** Precedes sealed items, so that they differ from signatures of the provider. choice 615 */
const PREFIX = 'hg1.';

/** The format whose signatures the protocol carries unchanged. */
export const claudeFormat = 'anthropic-claude-v1';

/**
 * Writes an item into one opaque text. Clients of the format return a signature unchanged, so reasoning of any provider
 * survives a round trip in it.
 */
export const sealItem = (item: object): string => PREFIX + Buffer.from(JSON.stringify(item)).toString('base64url');

/** Reads a sealed item. @returns undefined if the text is not one, such as a signature of the provider */
export function openSeal(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  const item = parseObject(Buffer.from(text.slice(PREFIX.length), 'base64url').toString('utf8'));
  return item !== undefined && isInputList([item]) ? item : undefined;
}

/** The texts of reasoning, which the client sees, as the seal describes them. */
interface SealedTexts {
  in: 'summary' | 'content';
  /** Characters of each part. */
  lengths: number[];
}

/** Separates parts in the text of a block. */
export const PART_BREAK = '\n\n';

/** Seals reasoning of any provider, without its texts: those are in the block. */
export function sealReasoning({ summary, content, id, status: _, ...rest }: ReasoningItem): string {
  const isRaw = (content?.length ?? 0) > 0;
  const lengths = ((isRaw ? content : summary) ?? []).map(({ text }) => text.length);
  const texts: SealedTexts = { in: isRaw ? 'content' : 'summary', lengths };
  return sealItem({ ...rest, ...(rest.encrypted_content ? { id } : {}), summary: [], texts });
}

/** Reads reasoning that a client returns. The text is the client's; everything else is sealed. */
export function readThinking(text: string, signature: string | undefined): ReasoningItem {
  const sealed = signature ? openReasoning(signature, text) : undefined;
  if (sealed) return sealed;
  const content: ReasoningItem['content'] = [{ type: 'reasoning_text', text }];
  if (!signature) return { type: 'reasoning', summary: [], content };
  return { type: 'reasoning', summary: [], content, signature, format: claudeFormat };
}

/** Reads reasoning without text that a client returns. */
export const readRedacted = (data: string): ReasoningItem =>
  openReasoning(data, '') ?? { type: 'reasoning', summary: [], encrypted_content: data, format: claudeFormat };

function openReasoning(sealed: string, text: string): ReasoningItem | undefined {
  const opened = openSeal(sealed);
  if (opened?.['type'] !== 'reasoning') return undefined;
  const { texts, ...item } = opened as unknown as ReasoningItem & { texts?: SealedTexts };
  if (text === '') return item;
  const parts = splitText(text, texts?.lengths);
  if (texts?.in === 'summary') return { ...item, summary: parts.map((each) => ({ type: 'summary_text', text: each })) };
  return { ...item, content: parts.map((each) => ({ type: 'reasoning_text', text: each })) };
}

/** Splits the text of a block into its parts. A client may have changed the text, which is then one part. */
function splitText(text: string, lengths: unknown): string[] {
  const sizes = Array.isArray(lengths) ? lengths.map(Number) : [];
  const total = sizes.reduce((sum, size) => sum + size, Math.max(0, sizes.length - 1) * PART_BREAK.length);
  if (total !== text.length || sizes.some((size) => !(size >= 0))) return [text];
  let at = 0;
  return sizes.map((size) => {
    const part = text.slice(at, at + size);
    at += size + PART_BREAK.length;
    return part;
  });
}
