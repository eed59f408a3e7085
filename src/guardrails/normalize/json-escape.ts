const BACKSLASH = 0x5c;

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/** An escape of JSON: the character that it stands for, and its length. */
export interface JsonEscape {
  readonly text: string;
  readonly length: number;
}

/**
 * Reads the escape at a backslash.
 *
 * @returns `none` begins there; `open`: more characters may belong to it
 */
export function readEscape(text: string, at: number, end = text.length): JsonEscape | 'none' | 'open' {
  if (at + 1 >= end) return 'open';
  const kind = text[at + 1]!;
  const known = escapes[kind];
  if (known !== undefined) return { text: known, length: 2 };
  const digits = kind === 'u' ? text.slice(at + 2, Math.min(end, at + 6)) : 'none';
  if (!/^[\da-fA-F]*$/.test(digits)) return 'none';
  if (digits.length < 4) return 'open';
  return { text: String.fromCharCode(Number.parseInt(digits, 16)), length: 6 };
}

/** Does the same, where two escapes can stand for one character beyond U+FFFF. */
export function readEscapedCharacter(text: string, at: number, end = text.length): JsonEscape | 'none' | 'open' {
  const first = readEscape(text, at, end);
  if (typeof first === 'string' || !isHigh(first.text)) return first;
  const next = at + first.length;
  if (next === end) return 'open';
  if (text.charCodeAt(next) !== BACKSLASH) return first;
  const second = readEscape(text, next, end);
  if (second === 'open') return 'open';
  const isPair = second !== 'none' && (second.text.charCodeAt(0) & 0xfc00) === 0xdc00;
  return isPair ? { text: first.text + second.text, length: first.length + second.length } : first;
}

const isHigh = (text: string): boolean => (text.charCodeAt(0) & 0xfc00) === 0xd800;

/** Length of two escapes. */
const MAX_ESCAPE = 12;

/**
 * Returns where the escape begins to which more characters may belong, at the end of a part of a text.
 *
 * @param start no escape begins before it and ends after it
 * @returns `end` if there is none
 */
export function findOpenEscape(text: string, start: number, end: number): number {
  for (let at = Math.max(start, end - MAX_ESCAPE); at < end; at++) {
    if (text.charCodeAt(at) !== BACKSLASH) continue;
    let before = at;
    while (before > start && text.charCodeAt(before - 1) === BACKSLASH) before--;
    if ((at - before) % 2 === 0 && readEscapedCharacter(text, at, end) === 'open') return at;
  }
  return end;
}
