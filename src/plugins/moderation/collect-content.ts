import { createHash } from 'node:crypto';
import type { InputItem } from '../../domain/items.ts';
import type { ModeratedContent } from '../../domain/moderation.ts';
import { type NextTurn, WorkSlices } from '../../domain/work-slices.ts';

/** Characters of a text that an engine gets at once. */
const MAX_PIECE = 16_000;
/** Characters that two pieces share, so that a phrase at their border is in one of them. */
const OVERLAP = 200;

type Part = { type?: unknown; text?: unknown; image_url?: unknown };

/** Items between two looks at the clock. */
const SLICE_ITEMS = 100;

/**
 * Collects what users wrote and sent: the texts of all messages of the role `user`, and their images.
 *
 * @see docs/reference/plugins.md#moderation
 */
export async function collectContent(input: readonly InputItem[], nextTurn: NextTurn): Promise<ModeratedContent> {
  const slices = new WorkSlices(nextTurn);
  const texts = new TextPieces();
  const images: string[] = [];
  for (let index = 0; index < input.length; index++) {
    if (index % SLICE_ITEMS === 0 && slices.isOver()) await slices.next();
    const item = input[index]!;
    if (!isOfUser(item)) continue;
    const { content } = item as { content?: unknown };
    if (typeof content === 'string') texts.add(content);
    else if (Array.isArray(content)) {
      for (const { text, image_url: url } of content as Part[]) {
        if (typeof text === 'string') texts.add(text);
        if (typeof url === 'string') images.push(url);
      }
    }
  }
  return { texts: texts.end(), images };
}

/**
 * Finds what plugins have put into the messages of users, such as the text of a file.
 *
 * @param before the input that it was made of
 */
export function findAdded(before: readonly InputItem[], now: readonly InputItem[]): InputItem[] {
  const known = new Set<unknown>();
  for (const item of before) {
    if (!isOfUser(item)) continue;
    known.add(item);
    const { content } = item as { content?: unknown };
    if (Array.isArray(content)) for (const part of content) known.add(part);
  }
  return now.flatMap((item) => {
    if (!isOfUser(item) || known.has(item)) return [];
    const { content } = item as { content?: unknown };
    return [Array.isArray(content) ? { ...item, content: content.filter((part) => !known.has(part)) } : item];
  });
}

/** Returns a hash by which the same content is recognized, without keeping it. */
export function hashContent({ texts, images }: ModeratedContent): string {
  const hash = createHash('sha256').update(`${texts.length}`);
  for (const each of [...texts, ...images]) hash.update(`\0${each.length}\0`).update(each);
  return hash.digest('base64');
}

const isOfUser = (item: InputItem): boolean => item.type === 'message' && item['role'] === 'user';

/** Joins texts, and cuts the result into pieces. */
class TextPieces {
  private readonly pieces: string[] = [];
  private rest = '';

  add(text: string): void {
    if (text.trim() === '') return;
    this.rest += this.rest === '' ? text : `\n\n${text}`;
    let start = 0;
    while (this.rest.length - start > MAX_PIECE) {
      this.pieces.push(this.rest.slice(start, start + MAX_PIECE).toWellFormed());
      start += MAX_PIECE - OVERLAP;
    }
    if (start > 0) this.rest = this.rest.slice(start);
  }

  end(): string[] {
    if (this.rest !== '') this.pieces.push(this.rest.toWellFormed());
    return this.pieces;
  }
}
