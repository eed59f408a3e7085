import type { Markdown } from './markdown.ts';

/** A piece of text on a page. */
export interface PdfPiece {
  str: string;
  /** Whether a line ends after it. */
  hasEOL: boolean;
  /** Its place and size: the third and fourth number are the vertical scale, the last one is the height on the page. */
  transform: readonly number[];
}

export interface PdfLine {
  text: string;
  /** Size of its letters, in points. */
  size: number;
  /** Distance to the line above it, in points. Undefined: it is the first one of its page. */
  gap: number | undefined;
}

/** Joins the pieces of a page to lines. */
export function readLines(pieces: readonly PdfPiece[]): PdfLine[] {
  const lines: PdfLine[] = [];
  let text = '';
  let size = 0;
  let height: number | undefined;
  let above: number | undefined;
  const end = (): void => {
    if (text.trim() !== '') {
      const gap = above === undefined || height === undefined ? undefined : Math.abs(above - height);
      lines.push({ text: text.trim(), size, gap });
      above = height;
    }
    text = '';
    size = 0;
    height = undefined;
  };
  for (const { str, hasEOL, transform } of pieces) {
    if (str.trim() !== '') {
      size = Math.max(size, Math.hypot(transform[2] ?? 0, transform[3] ?? 0));
      height ??= transform[5];
    }
    text += str;
    if (hasEOL) end();
  }
  end();
  return lines;
}

/** Letters that are larger than those of most lines by this factor make a heading. */
const HEADING = 1.15;
/** Levels of headings, by the same factor. */
const LEVELS = [1.8, 1.4];
const MAX_HEADING_LENGTH = 200;
/** Distance of a new paragraph, in sizes of a letter. */
const PARAGRAPH_GAP = 1.8;

const bullet = /^[•‣▪▸●○◦∙·–]\s+/;

/** Writes lines as markdown: large ones are headings, distances separate paragraphs. */
export function writeLines(lines: readonly PdfLine[], out: Markdown): void {
  const usual = findUsualSize(lines);
  let paragraph: string[] = [];
  let heading: { level: number; text: string } | undefined;
  const end = (): void => {
    if (heading) out.block(`${'#'.repeat(heading.level)} ${heading.text}`);
    out.block(paragraph.join('\n'));
    heading = undefined;
    paragraph = [];
  };
  for (const { text, size, gap } of lines) {
    const level = levelOf(text, size / usual);
    if (level !== undefined) {
      if (heading?.level === level && gap !== undefined) {
        heading.text += ` ${text}`; // a heading of two lines
        continue;
      }
      end();
      heading = { level, text };
      continue;
    }
    if (heading || gap === undefined || gap > size * PARAGRAPH_GAP) end();
    paragraph.push(text.replace(bullet, '- '));
  }
  end();
}

/** @returns undefined if it is not a heading */
function levelOf(text: string, factor: number): number | undefined {
  if (factor < HEADING || text.length > MAX_HEADING_LENGTH || !/\p{L}/u.test(text)) return undefined;
  const level = LEVELS.findIndex((least) => factor >= least);
  return level === -1 ? LEVELS.length + 1 : level + 1;
}

/** Returns the size of most letters. */
function findUsualSize(lines: readonly PdfLine[]): number {
  const letters = new Map<number, number>();
  for (const { text, size } of lines) {
    const rounded = Math.round(size * 2) / 2;
    letters.set(rounded, (letters.get(rounded) ?? 0) + text.length);
  }
  let usual = 1;
  let most = 0;
  for (const [size, count] of letters) {
    if (count <= most || size === 0) continue;
    most = count;
    usual = size;
  }
  return usual;
}
