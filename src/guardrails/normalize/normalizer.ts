import { DROPPED, formOf, KEPT, MARK, REPLACED, replacementOf } from './character-forms.ts';
import { readEscapedCharacter } from './json-escape.ts';
import { OffsetMap } from './offset-map.ts';

/** Characters that may be left out in a row. Bounds the original of a match. */
export const MAX_DROPPED = 4096;

const BACKSLASH = 0x5c;

/** Whether a text is ASCII without backslashes, and control characters other than white space: normalizing does not change it. */
export const isPlain = (text: string): boolean => !/[^\t-\r -[\]-~]/.test(text);

/**
 * Normalizes a text that arrives in pieces, so that filters find what is disguised. Each character is normalized for itself,
 * so the result does not depend on where the pieces end. A surrogate pair must be in one piece, and so must escapes of JSON.
 *
 * @see docs/reference/guardrails.md#disguised-text
 */
export class Normalizer {
  /** Whether a combining mark would be dropped now. */
  private dropsMarks = true;
  /** Characters that were left out since the last one. */
  private dropped = 0;
  private readonly terminal = new TerminalCodes();

  /** Plain text follows. */
  skipPlain(): void {
    this.dropsMarks = true;
  }

  /** Takes the beginning of a piece that is the same when it is normalized. @returns its length */
  skip(piece: string): number {
    let at = 0;
    while (at < piece.length) {
      const code = piece.codePointAt(at)!;
      if (code === BACKSLASH && typeof readEscapedCharacter(piece, at) === 'object') break;
      const form = formOf(code);
      if (form >= DROPPED || (form === MARK && this.dropsMarks)) break;
      if (form !== MARK) this.dropsMarks = form === KEPT;
      at += code > 0xffff ? 2 : 1;
    }
    return at;
  }

  /** Normalizes a piece. @param map gets the positions */
  write(piece: string, map: OffsetMap): string {
    if (isPlain(piece) && !this.terminal.isOpen) {
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
      const found = piece.charCodeAt(at) === BACKSLASH ? readEscapedCharacter(piece, at) : 'none';
      const isEscaped = typeof found === 'object';
      const code = isEscaped ? found.text.codePointAt(0)! : piece.codePointAt(at)!;
      const end = at + (isEscaped ? found.length : code > 0xffff ? 2 : 1);
      const form = this.terminal.take(code) ? DROPPED : formOf(code);
      if ((form === DROPPED || (form === MARK && this.dropsMarks)) && this.dropped < MAX_DROPPED) {
        this.dropped++;
        writeKept(at);
        map.drop(end - at);
        written = end;
      } else {
        this.dropped = 0;
        if (form >= REPLACED || isEscaped) {
          writeKept(at);
          const replacement = form >= REPLACED ? replacementOf(code) : String.fromCodePoint(code);
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

const ESCAPE = 0x1b;

/**
 * Finds the codes of terminals that set colors, move the cursor (`ESC [ … letter`) and choose characters (`ESC ( letter`).
 * The escape character is a control character.
 *
 * @see https://www.ecma-international.org/publications-and-standards/standards/ecma-48/
 */
class TerminalCodes {
  private state: 'text' | 'escape' | 'parameters' | 'characters' = 'text';

  /** Whether the next character may belong to a code. */
  get isOpen(): boolean {
    return this.state !== 'text';
  }

  /** @returns whether the next character belongs to a code, after its escape character */
  take(code: number): boolean {
    const before = this.state;
    if (before === 'parameters' && code >= 0x20 && code <= 0x3f) return true;
    const begun = code >= 0x28 && code <= 0x2b ? 'characters' : code === 0x5b ? 'parameters' : undefined;
    this.state = (before === 'escape' && begun) || (code === ESCAPE ? 'escape' : code === 0x9b ? 'parameters' : 'text');
    if (before === 'escape') return begun !== undefined;
    return (
      (before === 'parameters' && code >= 0x40 && code <= 0x7e) ||
      (before === 'characters' && code >= 0x30 && code <= 0x7e)
    );
  }
}

/** Normalizes a whole text. */
export const normalizeText = (text: string): string =>
  isPlain(text) ? text : new Normalizer().write(text, new OffsetMap(0));
