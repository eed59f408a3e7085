import type { ReasoningItem } from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';
import { isSealedItem, PART_BREAK, SEAL_PREFIX, type SealedTexts } from '../../domain/sealed-items.ts';
import { claudeFormat } from '../../domain/thought-signature.ts';
import { isObject } from '../../schema/by-kind.ts';
import { isInputList } from '../responses/schema/items.ts';

/** Reads a sealed item. @returns undefined if the text is not one, such as a signature of the provider */
export function openSeal(text: string): Record<string, unknown> | undefined {
  if (!isSealedItem(text)) return undefined;
  const item = parseObject(Buffer.from(text.slice(SEAL_PREFIX.length), 'base64url').toString('utf8'));
  return item !== undefined && isInputList([item]) ? item : undefined;
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

const isTexts = (value: unknown): value is SealedTexts =>
  isObject(value) &&
  [value['summary'], value['content']].every((list) => Array.isArray(list) && list.every(Number.isInteger));

function openReasoning(sealed: string, text: string): ReasoningItem | undefined {
  const opened = openSeal(sealed);
  if (opened?.['type'] !== 'reasoning') return undefined;
  const { texts: given, ...item } = opened as unknown as ReasoningItem & { texts?: unknown };
  const texts = isTexts(given) ? given : undefined;
  if (text === '') return item;
  const counts = texts?.summary.length ?? 0;
  const parts = splitText(text, [...(texts?.summary ?? []), ...(texts?.content ?? [])]);
  const isWhole = parts === undefined;
  const summary = isWhole ? (texts?.content.length === 0 ? [text] : []) : parts.slice(0, counts);
  const content = isWhole ? (summary.length === 0 ? [text] : []) : parts.slice(counts);
  return {
    ...item,
    summary: summary.map((each) => ({ type: 'summary_text', text: each })),
    ...(content.length > 0 && { content: content.map((each) => ({ type: 'reasoning_text' as const, text: each })) }),
  };
}

/** Splits the text of a block into its parts. @returns undefined if the client has changed the text */
function splitText(text: string, lengths: readonly number[]): string[] | undefined {
  const total = lengths.reduce((sum, length) => sum + length, Math.max(0, lengths.length - 1) * PART_BREAK.length);
  if (total !== text.length || !lengths.every((length) => length >= 0)) return undefined;
  let at = 0;
  return lengths.map((length) => {
    const part = text.slice(at, at + length);
    at += length + PART_BREAK.length;
    return part;
  });
}

/** Types of items that are not server tools. */
export const spokenTypes: ReadonlySet<unknown> = new Set([
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
]);
