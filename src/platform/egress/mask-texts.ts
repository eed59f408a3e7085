import { Transform, type TransformCallback } from 'node:stream';

const STAR = 0x2a;

/** Replaces texts in a stream by as many stars, also where they span several pieces. The length stays the same. */
export class TextMask extends Transform {
  private readonly texts: readonly Buffer[];
  /** The end of the stream so far that may be the beginning of a text. */
  private tail: Buffer = Buffer.alloc(0);

  constructor(texts: readonly Buffer[]) {
    super();
    this.texts = texts;
  }

  override _transform(piece: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const bytes = maskTexts(Buffer.concat([this.tail, piece]), this.texts);
    const held = Math.max(0, ...this.texts.map((text) => countBegun(bytes, text)));
    this.tail = bytes.subarray(bytes.length - held);
    done(null, bytes.subarray(0, bytes.length - held));
  }

  override _flush(done: TransformCallback): void {
    done(null, this.tail);
  }
}

/** Overwrites texts in the bytes themselves. */
export function maskTexts(bytes: Buffer, texts: readonly Buffer[]): Buffer {
  for (const text of texts) {
    for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + text.length)) {
      bytes.fill(STAR, at, at + text.length);
    }
  }
  return bytes;
}

/** Returns how many of the last bytes are the beginning of a text. */
function countBegun(bytes: Buffer, text: Buffer): number {
  for (let count = Math.min(bytes.length, text.length - 1); count > 0; count--) {
    if (bytes[bytes.length - count] !== text[0]) continue;
    if (text.subarray(0, count).equals(bytes.subarray(bytes.length - count))) return count;
  }
  return 0;
}
