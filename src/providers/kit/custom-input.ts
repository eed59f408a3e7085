import { GrowingText } from '../../domain/growing-text.ts';

const opening = /^\s*\{\s*"input"\s*:\s*"/;
const openingPiece = /^\s*(?:\{\s*(?:"(?:i(?:n(?:p(?:u(?:t(?:"\s*(?::\s*)?)?)?)?)?)?)?)?)?$/;

/** An opening with more white space than this is read at the end, because each piece reads it again. */
const LONGEST_OPENING = 1024;

/** Takes the text out of `{"input": "…"}` while the JSON still arrives, so that a long input streams. */
export interface InputReader {
  /** @returns what this piece adds to the text, often nothing */
  push(piece: string): string;
  /** @returns the rest; of unexpected JSON its text, or all of it */
  end(): string;
}

export function createInputReader(): InputReader {
  let state: 'opening' | 'text' | 'closed' | 'other' = 'opening';
  let held = '';
  const other = new GrowingText(); // unexpected JSON

  function readText(): string {
    const { end, closed } = findSafeEnd(held);
    const text = decode(held.slice(0, end));
    held = held.slice(end);
    if (closed) state = 'closed';
    return text;
  }

  return {
    push(piece) {
      if (state === 'closed') return '';
      if (state === 'other') {
        other.add(piece);
        return '';
      }
      held += piece;
      if (state === 'text') return readText();
      const match = opening.exec(held);
      if (match !== null) {
        state = 'text';
        held = held.slice(match[0].length);
        return readText();
      }
      if (held.length > LONGEST_OPENING || !openingPiece.test(held)) {
        state = 'other';
        other.add(held);
      }
      return '';
    },
    end() {
      const rest = state === 'other' ? readOther(other.text) : ''; // only an opening came, without text
      held = '';
      state = 'closed';
      return rest;
    },
  };
}

/** How far the inside of a JSON string can be decoded: not into an escape, nor between two halves of a character. */
function findSafeEnd(text: string): { end: number; closed: boolean } {
  let index = 0;
  while (index < text.length) {
    const code = text.charCodeAt(index);
    if (code === 0x22) return { end: index, closed: true };
    if (code !== 0x5c) {
      index++;
      continue;
    }
    const length = measureEscape(text, index);
    if (length === 0) return { end: index, closed: false };
    index += length;
  }
  return { end: index, closed: false };
}

/** @returns 0 while the escape is not whole; an emoji is written as two, which belong together */
function measureEscape(text: string, at: number): number {
  if (text.length < at + 2) return 0;
  if (text[at + 1] !== 'u') return 2;
  if (text.length < at + 6) return 0;
  const isFirstHalf = /^d[89ab]/i.test(text.slice(at + 2, at + 4));
  if (!isFirstHalf || !'\\u'.startsWith(text.slice(at + 6, at + 8))) return 6;
  return text.length < at + 12 ? 0 : 12;
}

function decode(inside: string): string {
  if (inside === '') return '';
  try {
    return JSON.parse(`"${inside}"`) as string;
  } catch {
    return decodeLoosely(inside);
  }
}

/** Models write raw line feeds and escapes that JSON does not have; what cannot be read stays as it is. */
function decodeLoosely(inside: string): string {
  const mended = inside
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must be mended
    .replace(/[\u0000-\u001f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(/\\(?!["\\/bfnrt]|u[\da-fA-F]{4})/g, '\\\\');
  try {
    return JSON.parse(`"${mended}"`) as string;
  } catch {
    return inside;
  }
}

function readOther(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'string') return value;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      if (Object.keys(value).length === 0) return '';
      if ('input' in value) return typeof value.input === 'string' ? value.input : JSON.stringify(value.input);
    }
  } catch {
    // no JSON: the model wrote its input as it is
  }
  return text;
}
