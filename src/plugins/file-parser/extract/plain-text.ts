import { findEncoding, sniffEncoding } from './sniff-encoding.ts';

/** Media types that are text besides `text/*`. */
const textTypes =
  /^application\/(?:json|xml|javascript|ecmascript|yaml|toml|x-yaml|x-sh|sql|graphql|x-ndjson|jsonl|csv|.+\+(?:json|xml|yaml))$/;

/** Whether a media type says that a file is text. */
export const isTextType = (mediaType: string): boolean => mediaType.startsWith('text/') || textTypes.test(mediaType);

/** Control characters that no text has. Tab, line and form feed, carriage return and escape are in some. */
const controls = new RegExp(`[${'\\0-\\x08\\x0b\\x0e-\\x1a\\x1c-\\x1f'}]`);

/**
 * Decodes a text in the first of these encodings that it is in: that of its byte order mark, the declared one, the one
 * that it names itself, UTF-8. Invalid bytes of a text whose encoding is known become U+FFFD.
 *
 * @param isDeclared whether its sender says that it is a text. Otherwise it may be something else
 * @param charset as declared
 * @returns undefined if it is not text
 * @see docs/reference/plugins.md#encodings
 */
export function decodeText(
  bytes: Buffer,
  { isDeclared, charset }: { isDeclared: boolean; charset?: string | undefined },
): string | undefined {
  const marked = encodingOfMark(bytes);
  const declared = isDeclared ? findEncoding(charset) : undefined;
  const known = [marked, declared, sniffEncoding(bytes)].filter((encoding) => encoding !== undefined);
  // Many servers and pages say Latin-1 without knowing. A text in UTF-8 is not in Latin-1 by chance.
  if (known[0] === UNKNOWING) known.unshift('utf-8');
  const last = isDeclared && known.length === 0 ? [UNKNOWING] : [];
  const encodings = marked ? [marked] : [...known, 'utf-8', ...last];
  for (const encoding of new Set(encodings)) {
    const text = decode(bytes, encoding, true);
    if (text !== undefined) return text;
  }
  return known[0] === undefined ? undefined : decode(bytes, known[0], false);
}

/** The encoding that Latin-1 and ASCII stand for on the web. It has a character for every byte. */
const UNKNOWING = 'windows-1252';

/** @param fatal whether invalid bytes mean that it is in another encoding */
function decode(bytes: Buffer, encoding: string, fatal: boolean): string | undefined {
  try {
    const text = new TextDecoder(encoding, { fatal }).decode(bytes);
    return controls.test(text) ? undefined : text;
  } catch {
    return undefined; // it is not in this encoding
  }
}

function encodingOfMark(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 'utf-8' : undefined;
}
