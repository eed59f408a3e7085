import type { InputItem } from '../../domain/items.ts';
import type { ModeratedContent } from '../../domain/moderation.ts';

/** Characters of a text that an engine gets at once. */
export const MAX_PIECE = 16_000;
/** Characters that two pieces share, so that a phrase at their border is in one of them. */
const OVERLAP = 200;

type Part = { type?: unknown; text?: unknown; image_url?: unknown };

/**
 * Collects what users wrote and sent: the texts of all messages of the role `user`, and their images.
 *
 * @see docs/reference/plugins.md#moderation
 */
export function collectContent(input: readonly InputItem[]): ModeratedContent {
  const texts: string[] = [];
  const images: string[] = [];
  for (const item of input) {
    if (item.type !== 'message' || item['role'] !== 'user') continue;
    const { content } = item as { content?: unknown };
    if (typeof content === 'string') texts.push(content);
    else if (Array.isArray(content)) {
      for (const { text, image_url: url } of content as Part[]) {
        if (typeof text === 'string') texts.push(text);
        if (typeof url === 'string') images.push(url);
      }
    }
  }
  return { texts: cutIntoPieces(texts.filter((text) => text.trim() !== '').join('\n\n')), images };
}

function cutIntoPieces(text: string): string[] {
  if (text.length <= MAX_PIECE) return text === '' ? [] : [text];
  const pieces: string[] = [];
  for (let start = 0; start < text.length - OVERLAP; start += MAX_PIECE - OVERLAP) {
    pieces.push(text.slice(start, start + MAX_PIECE).toWellFormed());
  }
  return pieces;
}
