import { createHash } from 'node:crypto';
import type { InputItem } from '../../domain/items.ts';
import type { ModeratedContent } from '../../domain/moderation.ts';
import type { SlicedWork } from '../../domain/work-slices.ts';

/** Characters of a text that an engine gets at once. */
const MAX_PIECE = 16_000;
/** Characters that two pieces share, so that a phrase at their border is in one of them. */
const OVERLAP = 200;

type Part = { type?: unknown; text?: unknown; image_url?: unknown };

/** Items or parts between two places where the work can pause. */
const BATCH = 256;
/** Characters that cost one unit of work to copy or to hash. */
const CHARACTERS_PER_WORK = 500;

/**
 * Collects what users wrote and sent: the texts of all messages of the role `user`, and their images.
 *
 * @see docs/reference/plugins.md#moderation
 */
export function* collectContent(input: readonly InputItem[]): SlicedWork<ModeratedContent> {
  const texts = new TextPieces();
  const images: string[] = [];
  for (const [index, item] of input.entries()) {
    if (index % BATCH === BATCH - 1) yield BATCH / 4;
    if (!isOfUser(item)) continue;
    const { content } = item as { content?: unknown };
    for (const part of typeof content === 'string' ? [{ text: content }] : listParts(content)) {
      const { text, image_url: url } = part as Part;
      if (typeof text === 'string') texts.add(text);
      if (typeof url === 'string') images.push(url);
      yield 1 + (typeof text === 'string' ? text.length / CHARACTERS_PER_WORK : 0);
    }
  }
  return { texts: texts.end(), images };
}

/**
 * Finds what plugins have put into the messages of users, such as the text of a file.
 *
 * @param before the input that it was made of
 */
export function* findAdded(before: readonly InputItem[], now: readonly InputItem[]): SlicedWork<InputItem[]> {
  const known = new Set<unknown>();
  for (const item of before) {
    if (!isOfUser(item)) continue;
    known.add(item);
    const parts = listParts((item as { content?: unknown }).content);
    for (const part of parts) known.add(part);
    yield 1 + parts.length;
  }
  const added: InputItem[] = [];
  for (const [index, item] of now.entries()) {
    if (index % BATCH === BATCH - 1) yield BATCH / 4;
    if (!isOfUser(item) || known.has(item)) continue;
    const parts = listParts((item as { content?: unknown }).content);
    added.push(
      parts.length === 0 ? item : ({ ...item, content: parts.filter((part) => !known.has(part)) } as InputItem),
    );
    yield parts.length;
  }
  return added;
}

/** Returns a hash by which the same content is recognized, without keeping it. */
export function* hashContent({ texts, images }: ModeratedContent): SlicedWork<string> {
  const hash = createHash('sha256').update(`${texts.length}`);
  for (const each of [...texts, ...images]) {
    hash.update(`\0${each.length}\0`).update(each);
    yield each.length / CHARACTERS_PER_WORK;
  }
  return hash.digest('base64');
}

const listParts = (content: unknown): readonly unknown[] => (Array.isArray(content) ? content : []);

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
