import { GrowingText } from '../../domain/growing-text.ts';
import { parseJson } from '../../domain/parse-json.ts';

const opening = /^\s*\{\s*"input"\s*:\s*"/;
const openingPiece = /^\s*(?:\{\s*(?:"(?:i(?:n(?:p(?:u(?:t(?:"\s*(?::\s*)?)?)?)?)?)?)?)?)?$/;

/** Maximum length of an opening. A longer one is read at the end, because each new piece scans the opening again. */
const MAX_OPENING_LENGTH = 1024;

/** Extracts the text of `{"input": "…"}` while the JSON is still arriving, so that a long input streams. */
export interface InputReader {
  /** @returns the text that this piece adds; often empty */
  push(piece: string): string;
  /** @returns the remaining text; for unexpected JSON, its text or the JSON itself */
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
      if (held.length > MAX_OPENING_LENGTH || !openingPiece.test(held)) {
        state = 'other';
        other.add(held);
      }
      return '';
    },
    end() {
      const rest = state === 'other' ? readOther(other.text) : ''; // an opening alone has no text
      held = '';
      state = 'closed';
      return rest;
    },
  };
}

/** Finds the end of the decodable part of a JSON string. It never splits an escape or a surrogate pair. */
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

/** @returns 0 if the escape is incomplete; the two escapes of a surrogate pair count as one */
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

/**
 * Decodes invalid JSON strings: models write raw line feeds and unknown escapes. Returns the input if it cannot be
 * decoded.
 */
function decodeLoosely(inside: string): string {
  const repaired = inside
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters must be escaped
    .replace(/[\u0000-\u001f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(/\\(?!["\\/bfnrt]|u[\da-fA-F]{4})/g, '\\\\');
  try {
    return JSON.parse(`"${repaired}"`) as string;
  } catch {
    return inside;
  }
}

function readOther(text: string): string {
  try {
    const value = parseJson(text);
    if (typeof value === 'string') return value;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      if (Object.keys(value).length === 0) return '';
      if ('input' in value) return typeof value.input === 'string' ? value.input : JSON.stringify(value.input);
    }
  } catch {
    // not JSON: the model wrote its input as plain text
  }
  return text;
}
