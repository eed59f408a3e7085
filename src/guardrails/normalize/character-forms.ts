/** Forms of a character in normalized text. */
export const KEPT = 0;
/** The character stays, and so do the marks after it: they belong to the spelling of its script. */
export const KEPT_WITH_MARKS = 1;
/** A combining mark. It stays only after a character of the form above. */
export const MARK = 2;
export const DROPPED = 3;
export const REPLACED = 4;
/** Other characters replace it, and the marks after it stay. */
export const REPLACED_WITH_MARKS = 5;

/** Characters without a glyph, also the blank pattern of braille, the object replacement character and the tatweel. */
const ignorable = /^[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\u2800\ufffc\u0640]$/u;
const lineControl = /^[\t-\r\u0085]$/;
const mark = /^\p{M}$/u;
/** Letters of these scripts need no marks, or are one character with theirs. */
const endsMarkless = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Common}]$/u;
/** Hyphens, the figure dash, the en dash and the minus sign: numbers are written with them. NFKC keeps them. */
const hyphen = /^[\u2010-\u2013\u2212]$/;

/** Forms by page of 256 code points. A page is made when a text first needs it. */
const pages: (Uint8Array | undefined)[] = [];
const replacements = new Map<number, string>();

/**
 * Returns the form of a code point.
 *
 * @see docs/reference/guardrails.md#disguised-text
 */
export function formOf(code: number): number {
  const page = pages[code >>> 8] ?? createPage(code >>> 8);
  return page[code & 0xff]!;
}

/** Returns what replaces a code point whose form says so. */
export const replacementOf = (code: number): string => replacements.get(code)!;

function createPage(number: number): Uint8Array {
  const page = new Uint8Array(256);
  for (let index = 0; index < 256; index++) page[index] = findForm((number << 8) + index);
  pages[number] = page;
  return page;
}

function findForm(code: number): number {
  const character = String.fromCodePoint(code);
  if (ignorable.test(character) && !lineControl.test(character)) return DROPPED;
  if (mark.test(character)) return MARK;
  const normal = readAlike(code) ?? dropMarks(character.normalize('NFKC'));
  if (normal !== character) {
    replacements.set(code, normal);
    return endsMarkless.test(normal) ? REPLACED : REPLACED_WITH_MARKS;
  }
  return endsMarkless.test(character) ? KEPT : KEPT_WITH_MARKS;
}

/** Returns the ASCII character that a character is another form of, where NFKC keeps it. */
function readAlike(code: number): string | undefined {
  const character = String.fromCodePoint(code);
  if (hyphen.test(character)) return '-';
  if (ideographicStop.test(character)) return '.';
  const base = letterRuns.find((start) => code >= start && code < start + 26);
  if (base !== undefined) return String.fromCodePoint(0x41 + code - base);
  if (digit.test(character)) return String((code - findZero(code)) % 10);
  return smallCapitals.get(character);
}

const ideographicStop = /^[\u3002\uff61]$/;
const digit = /^\p{Nd}$/u;

/** Returns the zero of the digits of a script: runs of decimal digits have ten each, from zero. */
function findZero(code: number): number {
  let zero = code;
  while (digit.test(String.fromCodePoint(zero - 1))) zero--;
  return zero;
}

/** The letters A to Z as negative circled, negative squared and regional indicators. NFKC has the other circled and squared ones. */
const letterRuns = [0x1f150, 0x1f170, 0x1f1e6];

/** The small capitals of Latin. They have no decomposition. */
const smallCapitals: ReadonlyMap<string, string> = new Map(
  [...'ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ'].map((character, index) => [character, 'abcdefghijklmnopqrstuvwyz'[index]!]),
);

/** Drops the marks of a character that consists of several: U+00B4 is a space with an accent. */
function dropMarks(text: string): string {
  let dropsMarks = false;
  return [...text]
    .filter((character) => {
      if (mark.test(character)) return !dropsMarks;
      dropsMarks = endsMarkless.test(character);
      return true;
    })
    .join('');
}
