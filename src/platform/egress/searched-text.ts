/** A text as it is searched for values. */
export interface SearchedText {
  /** Without white space and backslashes, and with lower-case ASCII letters. */
  bytes: Buffer;
  /** Where each of the bytes is in the text. */
  places: Int32Array;
  /** Whether the text ends with a backslash. */
  isEscaped: boolean;
}

/**
 * Leaves out what hosts put into long values, and what they escape them with: white space, backslashes, and the letters of
 * `\\n`, `\\r` and `\\t`. Zeros are left out, too, so ASCII letters are found in UTF-16 and UTF-32. Only the byte before decides on a byte, so a text can be read in pieces.
 *
 * @param isEscaped whether the piece before ended with a backslash
 */
export function searchText(text: Buffer, isEscaped = false): SearchedText {
  const bytes = Buffer.allocUnsafe(text.length);
  const places = new Int32Array(text.length);
  let length = 0;
  let before = isEscaped ? BACKSLASH : 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at]!;
    const kind = kinds[byte]!;
    if (kind !== SKIPPED && !(kind === BREAK_LETTER && before === BACKSLASH)) {
      bytes[length] = lowerCase[byte]!;
      places[length++] = at;
    }
    before = byte;
  }
  return { bytes: bytes.subarray(0, length), places: places.subarray(0, length), isEscaped: before === BACKSLASH };
}

export const BACKSLASH = 0x5c;
const SKIPPED = 1;
const BREAK_LETTER = 2;

const kinds = new Uint8Array(256);
for (const letter of '\0 \t\r\n\\') kinds[letter.charCodeAt(0)] = SKIPPED;
for (const letter of 'nrt') kinds[letter.charCodeAt(0)] = BREAK_LETTER;

const lowerCase = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte));
