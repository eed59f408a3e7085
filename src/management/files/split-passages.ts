/** Characters that a passage has about, and at most without its context. */
const USUAL = 1200;
const MAX = 1600;
/** Characters of the line that is repeated before each passage: headings, or the names of columns. */
const MAX_CONTEXT = 300;

/** How a text is divided. */
export type PassageKind = 'markdown' | 'rows' | 'plain';

/** Returns how the text of a file is divided. Texts of PDF and Office files are markdown. */
export function findPassageKind(mimeType: string): PassageKind {
  if (mimeType === 'text/csv') return 'rows';
  return mimeType.startsWith('text/plain') || mimeType.includes('json') ? 'plain' : 'markdown';
}

/**
 * Splits a text into passages at ends of paragraphs, lines or sentences. A passage of markdown begins with the headings
 * above it, and one of a table with the first row. Lazy, so that the caller can pause.
 */
export function* splitPassages(text: string, kind: PassageKind): Generator<string> {
  let passage = '';
  let context = '';
  /** Headings above the text, by level. */
  const headings: string[] = [];
  const write = function* (): Generator<string> {
    const body = passage.trim();
    if (body !== '') yield context === '' || body.startsWith(context) ? body : `${context}\n${body}`;
    passage = '';
  };
  let isFirst = true;
  for (const block of listBlocks(text, kind)) {
    const heading = kind === 'markdown' ? /^(#{1,6})\s+(.+)/.exec(block) : null;
    if (heading) {
      yield* write();
      headings.length = heading[1]!.length - 1;
      headings[heading[1]!.length - 1] = heading[2]!.trim();
      context = headings
        .filter((each) => each)
        .join(' › ')
        .slice(0, MAX_CONTEXT);
    }
    if (passage !== '' && passage.length + block.length > USUAL) yield* write();
    for (const piece of cutBlock(block)) {
      passage += piece;
      if (passage.length > USUAL) yield* write();
    }
    if (kind === 'rows' && isFirst) context = block.trim().slice(0, MAX_CONTEXT);
    isFirst = false;
  }
  yield* write();
}

/** Lists lines of tables, and paragraphs of other texts, with the line feeds at their ends. */
function* listBlocks(text: string, kind: PassageKind): Generator<string> {
  let start = 0;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at);
    if (end === -1) break;
    at = end + 1;
    const isEnd = kind === 'rows' || isBlank(text, at) || (kind === 'markdown' && text[at] === '#');
    const isHeading = kind === 'markdown' && text[start] === '#';
    if (!isEnd && !isHeading && at - start < MAX) continue;
    yield text.slice(start, at);
    start = at;
  }
  if (start < text.length) yield text.slice(start);
}

/** Whether the line that begins here is empty. */
function isBlank(text: string, at: number): boolean {
  let end = at;
  while (text[end] === ' ' || text[end] === '\t' || text[end] === '\r') end++;
  return text[end] === '\n';
}

/** Cuts a block that is too long for a passage: after a sentence, else a word, else anywhere. */
function* cutBlock(block: string): Generator<string> {
  let start = 0;
  while (block.length - start > MAX) {
    const part = block.slice(start, start + MAX);
    const sentence = Math.max(
      part.lastIndexOf('. '),
      part.lastIndexOf('\n'),
      part.lastIndexOf('。'),
      part.lastIndexOf('? '),
    );
    const word = part.lastIndexOf(' ');
    let end = sentence > USUAL / 2 ? sentence + 1 : word > USUAL / 2 ? word + 1 : MAX;
    if (/[\ud800-\udbff]/.test(part[end - 1]!)) end--; // not within a character
    yield part.slice(0, end);
    start += end;
  }
  yield block.slice(start);
}
