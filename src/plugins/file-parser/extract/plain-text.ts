/** Media types that are text besides `text/*`. */
const textTypes =
  /^application\/(?:json|xml|javascript|ecmascript|yaml|toml|x-yaml|x-sh|sql|graphql|x-ndjson|jsonl|csv|.+\+(?:json|xml|yaml))$/;

/** Whether a media type says that a file is text. */
export const isTextType = (mediaType: string): boolean => mediaType.startsWith('text/') || textTypes.test(mediaType);

/** Control characters that no text has. Tab, line and form feed, carriage return and escape are in some. */
const controls = new RegExp(`[${'\\0-\\x08\\x0b\\x0e-\\x1a\\x1c-\\x1f'}]`);

/**
 * Decodes a text: by its byte order mark, as UTF-8, or else in the encoding that it is declared to have.
 *
 * @param charset as declared; a text that is declared to be one, but in no encoding, may be in Windows-1252
 * @returns undefined if it is not text
 */
export function decodeText(
  bytes: Buffer,
  { isDeclared, charset }: { isDeclared: boolean; charset?: string },
): string | undefined {
  const marked = encodingOfMark(bytes);
  const encodings = marked ? [marked] : ['utf-8', ...(isDeclared ? [charset ?? 'windows-1252'] : [])];
  for (const encoding of encodings) {
    try {
      const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
      if (!controls.test(text)) return text;
    } catch {
      // it is not in this encoding, or the encoding is unknown
    }
  }
  return undefined;
}

function encodingOfMark(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return undefined; // the mark of UTF-8 is decoded like other text
}
