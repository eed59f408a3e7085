import type { Chunk } from './chunks.ts';
import type { OutputItem } from './items.ts';

/** Texts of messages by their keys. A response without keys has one. */
function joinDeltas(chunks: readonly Chunk[]): Map<unknown, string> {
  const texts = new Map<unknown, string>();
  for (const chunk of chunks) {
    if (chunk.type === 'text') texts.set(chunk.key, (texts.get(chunk.key) ?? '') + chunk.delta);
  }
  return texts;
}

/** Lists the different texts of the messages of a response. They are in chunks, in whole items, or in both. */
export function listTexts(chunks: readonly Chunk[]): Set<string> {
  const texts = new Set(joinDeltas(chunks).values());
  for (const chunk of chunks) {
    if (chunk.type !== 'item_done') continue;
    changeTexts(chunk.item, (text) => {
      texts.add(text);
      return text;
    });
  }
  return texts;
}

/** Replaces texts of messages. */
export function replaceTexts(chunks: readonly Chunk[], changed: ReadonlyMap<string, string>): Chunk[] {
  const texts = joinDeltas(chunks);
  return chunks.flatMap((chunk): Chunk[] => {
    if (chunk.type === 'part_done' && chunk.part.type === 'output_text') return []; // its item has the same text
    if (chunk.type === 'item_done') {
      return [{ ...chunk, item: changeTexts(chunk.item, (text) => changed.get(text) ?? text) }];
    }
    if (chunk.type !== 'text') return [chunk];
    const text = texts.get(chunk.key);
    const whole = text === undefined ? undefined : changed.get(text);
    if (text !== undefined && whole === undefined) return [chunk];
    texts.delete(chunk.key);
    return whole === undefined ? [] : [{ ...chunk, delta: whole }];
  });
}

function changeTexts(item: OutputItem, change: (text: string) => string): OutputItem {
  if (item.type !== 'message' || !Array.isArray(item['content'])) return item;
  return {
    ...item,
    content: item['content'].map((part: { type?: unknown; text?: unknown }) =>
      part.type === 'output_text' && typeof part.text === 'string' ? { ...part, text: change(part.text) } : part,
    ),
  };
}
