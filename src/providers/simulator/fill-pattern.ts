const MAX_PATTERN = 1000;
const MAX_TEXT = 10_000;
const MAX_STEPS = 100_000;
/** Characters to try, in this order, if a class only excludes characters. */
const common = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_ .'];
const digits = [...'0123456789'];

/** Thrown for unsupported syntax: look-around, references, character properties. */
class Unsupported extends Error {}

interface ReaderContext {
  readonly pattern: string[];
  at: number;
  /** The rest of `nth`. Each place with several characters consumes a share, so that other numbers give other texts. */
  nth: number;
  /** Number of repetitions beyond the required ones. */
  readonly extra: number;
  /** Maximum number of characters of the pattern still to read, including repeated reads. */
  stepsLeft: number;
}

/**
 * Writes a text that a regular expression matches. Never runs the expression, because the caller sent it.
 *
 * @param min minimum length in characters, which is reached if the expression can be extended
 * @returns undefined if the text is not a regular expression, or uses unsupported syntax
 */
export function fillPattern(pattern: string, min: number, nth: number): string | undefined {
  if (pattern.length > MAX_PATTERN) return undefined;
  try {
    let text = '';
    for (let extra = 0; extra <= MAX_TEXT; extra = extra * 2 + 1) {
      const reading = { pattern: [...pattern], at: 0, nth, extra, stepsLeft: MAX_STEPS };
      text = writeAlternatives(reading);
      if (reading.at < reading.pattern.length) return undefined;
      if (text.length >= min) break;
    }
    return text;
  } catch (error) {
    if (error instanceof Unsupported) return undefined;
    throw error;
  }
}

function writeAlternatives(reading: ReaderContext): string {
  const texts = [writeSequence(reading)];
  while (take(reading, '|')) texts.push(writeSequence(reading));
  return pick(reading, texts);
}

function writeSequence(reading: ReaderContext): string {
  let text = '';
  while (reading.at < reading.pattern.length && !')|'.includes(reading.pattern[reading.at]!)) {
    const from = { at: reading.at, nth: reading.nth };
    let once = writeAtom(reading);
    const count = readCount(reading);
    const end = reading.at;
    for (let times = 0; times < count; times++) {
      if (times > 0) {
        reading.at = from.at; // written again, so that repetitions differ if `nth` requires it
        once = writeAtom(reading);
      }
      text += once;
      if (text.length > MAX_TEXT) throw new Unsupported();
    }
    if (count === 0) reading.nth = from.nth;
    reading.at = end;
  }
  return text;
}

/** Reads a quantifier, if there is one, and returns the number of repetitions. */
function readCount(reading: ReaderContext): number {
  const rest = reading.pattern.slice(reading.at, reading.at + 20).join('');
  const [all, sign, from, comma, to] = /^(?:([*+?])|\{(\d{1,6})(?:(,)(\d{1,6})?)?\})\??/.exec(rest) ?? [];
  if (all === undefined) return 1;
  reading.at += all.length;
  if (sign === '?') return Math.min(reading.extra, 1);
  if (sign) return reading.extra + (sign === '+' ? 1 : 0);
  const min = Number(from);
  const max = comma === undefined ? min : to === undefined ? Number.POSITIVE_INFINITY : Number(to);
  return Math.min(min + reading.extra, max);
}

function writeAtom(reading: ReaderContext): string {
  const character = next(reading);
  switch (character) {
    case '^':
    case '$':
      return '';
    case '.':
      return pick(reading, common);
    case '(':
      return writeGroup(reading);
    case '[':
      return writeClass(reading);
    case '\\': {
      const { characters, isNegated } = readEscape(reading);
      return pick(reading, isNegated ? without(characters) : characters);
    }
    case '*':
    case '+':
    case '?':
      throw new Unsupported();
    default:
      return character;
  }
}

function writeGroup(reading: ReaderContext): string {
  if (take(reading, '?')) {
    if (take(reading, '<') && !'=!'.includes(reading.pattern[reading.at] ?? '=')) {
      while (next(reading) !== '>');
    } else if (!take(reading, ':')) throw new Unsupported();
  }
  const text = writeAlternatives(reading);
  if (!take(reading, ')')) throw new Unsupported();
  return text;
}

function writeClass(reading: ReaderContext): string {
  const isNegated = take(reading, '^');
  const allowed: string[] = [];
  for (let isFirst = true; isFirst || reading.pattern[reading.at] !== ']'; isFirst = false) {
    const character = next(reading);
    if (isFirst && character === ']') throw new Unsupported();
    const escaped = character === '\\' ? readEscape(reading) : undefined;
    if (escaped?.isNegated) allowed.push(...without(escaped.characters));
    else if (escaped && escaped.characters.length > 1) allowed.push(...escaped.characters);
    else allowed.push(...readRange(reading, escaped?.characters[0] ?? character));
  }
  reading.at++;
  return pick(reading, isNegated ? without(allowed) : allowed);
}

/** Returns up to 100 characters of a range such as `a-z`, or the single character. */
function readRange(reading: ReaderContext, from: string): string[] {
  if (reading.pattern[reading.at] !== '-' || (reading.pattern[reading.at + 1] ?? ']') === ']') return [from];
  reading.at++;
  const character = next(reading);
  const to = character === '\\' ? readEscape(reading).characters[0]! : character;
  const first = from.codePointAt(0)!;
  const count = to.codePointAt(0)! - first + 1;
  if (count < 1) throw new Unsupported();
  return Array.from({ length: Math.min(count, 100) }, (_, index) => String.fromCodePoint(first + index));
}

const controls: Record<string, string> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v' };
const classes: Record<string, string[]> = { d: digits, w: [...common.slice(0, 62), '_'], s: [' '] };

function readEscape(reading: ReaderContext): { characters: string[]; isNegated: boolean } {
  const letter = next(reading);
  const known = classes[letter.toLowerCase()];
  if (known) return { characters: known, isNegated: letter !== letter.toLowerCase() };
  if (controls[letter]) return { characters: [controls[letter]], isNegated: false };
  const length = { x: 2, u: 4 }[letter];
  if (length !== undefined) {
    const code = reading.pattern.slice(reading.at, reading.at + length).join('');
    if (!/^[\da-f]+$/i.test(code) || code.length < length) throw new Unsupported();
    reading.at += length;
    return { characters: [String.fromCharCode(Number.parseInt(code, 16))], isNegated: false };
  }
  if (/[\w]/.test(letter)) throw new Unsupported();
  return { characters: [letter], isNegated: false };
}

function without(characters: string[]): string[] {
  return common.filter((character) => !characters.includes(character));
}

function pick(reading: ReaderContext, choices: string[]): string {
  if (choices.length === 0) throw new Unsupported();
  const choice = choices[reading.nth % choices.length]!;
  reading.nth = Math.floor(reading.nth / choices.length);
  return choice;
}

function take(reading: ReaderContext, character: string): boolean {
  const isThere = reading.pattern[reading.at] === character;
  if (isThere) reading.at++;
  return isThere;
}

function next(reading: ReaderContext): string {
  const character = reading.pattern[reading.at++];
  if (character === undefined || --reading.stepsLeft < 0) throw new Unsupported();
  return character;
}
