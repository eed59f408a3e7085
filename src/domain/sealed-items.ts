import type { ReasoningItem } from './items.ts';

/** Precedes sealed items, so that they differ from signatures of the provider. choice 615 */
export const SEAL_PREFIX = 'hg1.';

/** Separates parts of reasoning that become one text. */
export const PART_BREAK = '\n\n';

/** Whether an opaque text is a sealed item, which only a gateway of this kind can read. */
export const isSealedItem = (text: string): boolean => text.startsWith(SEAL_PREFIX);

/**
 * Writes an item into one opaque text. Clients of the Messages format return a signature unchanged, so reasoning of any
 * provider survives a round trip in it.
 */
export const sealItem = (item: object): string => SEAL_PREFIX + Buffer.from(JSON.stringify(item)).toString('base64url');

/** The beginning of base64 whose bytes may begin with the prefix. It is the same in both alphabets. */
const ENCODED_PREFIX = Buffer.from(SEAL_PREFIX).toString('base64').slice(0, 5);

/** Seals an item as base64, for a format whose opaque fields are bytes. Its typed clients decode them. */
export const sealAsBytes = (item: object): string => Buffer.from(sealItem(item)).toString('base64');

/**
 * Returns the sealed text of a field of bytes. Clients write such a field in either alphabet of base64, with or without
 * padding. A text that is sealed without the encoding is returned, too.
 */
export function readSealedBytes(field: string): string | undefined {
  if (isSealedItem(field)) return field;
  if (!field.startsWith(ENCODED_PREFIX)) return undefined;
  const text = Buffer.from(field, 'base64').toString('utf8');
  return isSealedItem(text) ? text : undefined;
}

/** The texts of reasoning, which the client sees, as the seal describes them. */
export interface SealedTexts {
  /** Characters of each part. */
  summary: number[];
  content: number[];
}

/** Seals reasoning of any provider, without its texts: those are in the block. */
export function sealReasoning({ summary, content, id, status: _, ...rest }: ReasoningItem): string {
  const lengthsOf = (parts: readonly { text: string }[] | null | undefined) =>
    (parts ?? []).map(({ text }) => text.length);
  const texts: SealedTexts = { summary: lengthsOf(summary), content: lengthsOf(content) };
  return sealItem({ ...rest, ...(rest.encrypted_content ? { id } : {}), summary: [], texts });
}

/** Returns the text of the block that has the seal of the reasoning. */
export const readSealedText = ({ summary, content }: Pick<ReasoningItem, 'summary' | 'content'>): string =>
  [...(summary ?? []), ...(content ?? [])].map(({ text }) => text).join(PART_BREAK);
