import { DROPPED, formOf, KEPT, MARK, REPLACED, replacementOf } from './character-forms.ts';
import { OffsetMap } from './offset-map.ts';

/** Characters that may be left out in a row. Bounds the original of a match. */
export const MAX_DROPPED = 4096;

/** Whether a text is ASCII without control characters other than white space: normalizing does not change it. */
export const isPlain = (text: string): boolean => !/[^\t-\r -~]/.test(text);

/**
 * Normalizes a text that arrives in pieces, so that filters find what is disguised. Each character is normalized for itself,
 * so the result does not depend on where the pieces end. A surrogate pair must be in one piece.
 *
 * @see docs/reference/guardrails.md#disguised-text
 */
export class Normalizer {
  /** Whether a combining mark would be dropped now. */
  private dropsMarks = true;
  /** Characters that were left out since the last one. */
  private dropped = 0;

  /** Plain text follows. */
  skipPlain(): void {
    this.dropsMarks = true;
  }

  /** Takes the beginning of a piece that is the same when it is normalized. @returns its length */
  skip(piece: string): number {
    let at = 0;
    while (at < piece.length) {
      const code = piece.codePointAt(at)!;
      const form = formOf(code);
      if (form >= DROPPED || (form === MARK && this.dropsMarks)) break;
      if (form !== MARK) this.dropsMarks = form === KEPT;
      at += code > 0xffff ? 2 : 1;
    }
    return at;
  }

  /** Normalizes a piece. @param map gets the positions */
  write(piece: string, map: OffsetMap): string {
    if (isPlain(piece)) {
      this.dropsMarks = true;
      this.dropped = 0;
      map.keep(piece.length);
      return piece;
    }
    let text = '';
    /** Text before it is in `text` and in the map. */
    let written = 0;
    const writeKept = (end: number): void => {
      if (end === written) return;
      text += piece.slice(written, end);
      map.keep(end - written);
    };
    for (let at = 0; at < piece.length; ) {
      const code = piece.codePointAt(at)!;
      const end = at + (code > 0xffff ? 2 : 1);
      const form = formOf(code);
      if ((form === DROPPED || (form === MARK && this.dropsMarks)) && this.dropped < MAX_DROPPED) {
        this.dropped++;
        writeKept(at);
        map.drop(end - at);
        written = end;
      } else {
        this.dropped = 0;
        if (form >= REPLACED) {
          writeKept(at);
          const replacement = replacementOf(code);
          text += replacement;
          map.replace(end - at, replacement.length);
          written = end;
        }
        if (form !== MARK && form !== DROPPED) this.dropsMarks = form === KEPT || form === REPLACED;
      }
      at = end;
    }
    writeKept(piece.length);
    return text;
  }
}

/** Normalizes a whole text. */
export const normalizeText = (text: string): string =>
  isPlain(text) ? text : new Normalizer().write(text, new OffsetMap(0));
