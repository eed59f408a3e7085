import { isUtf8 } from 'node:buffer';

/** Base of the code units that stand for bytes that are not UTF-8. They are lone surrogates, so no valid text has them. */
const ESCAPE = 0xdc00;
const escaped = /[\udc80-\udcff]/;

/** Converts the name of a file to text. A byte that is not UTF-8 becomes one lone surrogate. */
export function decodeFileName(name: Uint8Array): string {
  const bytes = Buffer.from(name.buffer, name.byteOffset, name.byteLength);
  if (isUtf8(bytes)) return bytes.toString();
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const size = [1, 2, 3, 4].find((each) => at + each <= bytes.length && isUtf8(bytes.subarray(at, at + each)));
    text += size ? bytes.toString('utf8', at, at + size) : String.fromCharCode(ESCAPE | bytes[at]!);
    at += size ?? 1;
  }
  return text;
}

/** Reverses `decodeFileName`. */
export function encodeFileName(name: string): Buffer {
  if (!escaped.test(name)) return Buffer.from(name);
  const parts = Array.from(name, (character) => {
    const unit = character.charCodeAt(0);
    return character.length === 1 && escaped.test(character) ? Buffer.of(unit & 0xff) : Buffer.from(character);
  });
  return Buffer.concat(parts);
}
