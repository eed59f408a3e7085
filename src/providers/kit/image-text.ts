import { findStringEnd } from './find-string-end.ts';

/** Maximum size of a text that stays in the JSON. */
const LONG_BYTES = 64 * 1024;
/** Characters of a long text that its mark keeps, for code that checks the start of the text. */
const HEAD_LETTERS = 64;
/** Letters that are decoded at once. A multiple of four. */
const PIECE_LETTERS = 64 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/** The long texts of the response that is being read. */
let lifted: readonly Buffer[] = [];

/**
 * Takes the images out of a JSON body before it is parsed, because parsing would hold megabytes of base64 twice. A mark
 * replaces each image. `decodeImage` resolves the marks while `readExtracted` reads.
 *
 * @returns `json` is `body` itself if there is no image
 */
export function extractImages(body: Buffer): { json: Buffer; texts: readonly Buffer[] } {
  const texts: Buffer[] = [];
  const rest: Buffer[] = [];
  let kept = 0;
  for (let from = body.indexOf(QUOTE); from !== -1; ) {
    const end = findStringEnd(body, from + 1);
    const text = body.subarray(from + 1, end);
    if (text.length > LONG_BYTES && isBase64(text)) {
      const mark = `${text.toString('latin1', 0, HEAD_LETTERS)}~${texts.length}~`;
      rest.push(body.subarray(kept, from + 1), Buffer.from(mark, 'latin1'));
      texts.push(text);
      kept = end;
    }
    from = body.indexOf(QUOTE, end + 1);
  }
  return texts.length === 0 ? { json: body, texts } : { json: Buffer.concat([...rest, body.subarray(kept)]), texts };
}

/** Checks only the start of the text and the absence of escapes. `decodeImage` checks the complete text. */
const isBase64 = (text: Buffer): boolean =>
  /^[\w+/=:;,.-]+$/.test(text.toString('latin1', 0, 1024)) && !text.includes(BACKSLASH);

/** Reads a body whose images have been extracted. */
export function readExtracted<Result>(texts: readonly Buffer[], read: () => Result): Result {
  lifted = texts;
  try {
    return read();
  } finally {
    lifted = [];
  }
}

/**
 * Decodes an image from base64, with or without the prefix of a data URL.
 *
 * @throws {Error} if it is not base64; the pipeline reports this as a failure of the provider
 */
export function decodeImage(text: unknown): Buffer {
  if (typeof text !== 'string' || text === '') throw new Error('There is no image.');
  const mark = text.length < 2 * HEAD_LETTERS ? /~(\d+)~$/.exec(text)?.[1] : undefined;
  const letters = mark === undefined ? undefined : lifted[Number(mark)];
  return letters ? decodeLetters(letters) : decodeText(text);
}

function decodeText(text: string): Buffer {
  const from = hasHead(text) ? text.indexOf(',') + 1 : 0;
  const letters = withoutBreaks(from === 0 ? text : text.slice(from));
  const bytes = Buffer.from(letters, 'base64');
  const padding = letters.endsWith('==') ? 2 : letters.endsWith('=') ? 1 : 0;
  return whole(bytes, bytes.length, letters.length - padding);
}

const hasHead = (text: string): boolean => /^data:/i.test(text);

/** Removes line breaks, which some servers add as in email. */
const withoutBreaks = (text: string): string => (text.includes('\n') ? text.replace(/[\r\n]+/g, '') : text);

/** Decodes in pieces, so that no string of the image's size is created. */
function decodeLetters(letters: Buffer): Buffer {
  const from = hasHead(letters.toString('latin1', 0, 5)) ? letters.indexOf(COMMA) + 1 : 0;
  const tail = letters.toString('latin1', letters.length - 2);
  const count = letters.length - from - (tail === '==' ? 2 : tail.endsWith('=') ? 1 : 0);
  const bytes = Buffer.allocUnsafeSlow(Math.floor((count * 3) / 4));
  let written = 0;
  for (let at = from; at < letters.length; at += PIECE_LETTERS) {
    const piece = letters.toString('latin1', at, Math.min(at + PIECE_LETTERS, letters.length));
    written += bytes.write(piece, written, 'base64');
  }
  return whole(bytes, written, count);
}

/** Checks the number of decoded bytes. Node skips invalid base64, so the result would be too short. */
function whole(bytes: Buffer, written: number, letters: number): Buffer {
  if (written !== Math.floor((letters * 3) / 4)) throw new Error('The image is not base64.');
  return bytes;
}
