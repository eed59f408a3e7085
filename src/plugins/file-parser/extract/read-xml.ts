import { SaxesParser } from 'saxes';
import { checkAttributes, checkDepth, damaged, FileFault } from './file-fault.ts';
import type { ArchivePart } from './zip-archive.ts';

/** XmlAttributes by their names without prefix. `r:id` is the id of a relation, because `id` may exist beside it. */
export type XmlAttributes = Readonly<Record<string, string>>;

/** Called for each part of a document. Names have no prefix, because programs choose prefixes freely. */
export interface XmlHandlers {
  open?(name: string, attributes: XmlAttributes): void;
  text?(text: string): void;
  close?(name: string): void;
}

/** Bytes of one tag, or of the text between two tags. The parser keeps all of them. */
const MAX_STRETCH = 16_777_216;
const none: Record<string, string> = {};

/**
 * Parses an XML part of an Office file in pieces, and keeps no tree of it. A document type, which may define entities,
 * is not part of these formats.
 *
 * @throws {FileFault} if it is malformed or exceeds a limit, and what a handler throws
 */
export async function readXml({ name: part, unpack }: ArchivePart, handlers: XmlHandlers): Promise<void> {
  const parser = new SaxesParser();
  let thrown: unknown;
  parser.on('error', (error) => {
    thrown ??= damaged(`its part ${part} is not valid XML (${error.message})`);
  });
  parser.on('doctype', () => {
    thrown ??= damaged(`its part ${part} has a document type`);
  });
  const { open, text, close } = handlers;
  let depth = 0;
  let count = 0;
  let stretch = 0;
  parser.on('attribute', () => checkAttributes(++count));
  parser.on('opentag', (tag) => {
    checkDepth(++depth);
    count = 0;
    stretch = 0;
    open?.(withoutPrefix(tag.name), withoutPrefixes(tag.attributes));
    tag.attributes = none; // the parser keeps the tag until it is closed
  });
  if (text) parser.on('text', text);
  parser.on('closetag', ({ name }) => {
    depth--;
    stretch = 0;
    close?.(withoutPrefix(name));
  });
  let decoder: TextDecoder | undefined;
  for await (const piece of unpack()) {
    decoder ??= new TextDecoder(encodingOf(piece));
    stretch += piece.length;
    parser.write(decoder.decode(piece, { stream: true }));
    if (thrown !== undefined) break;
    if (stretch > MAX_STRETCH) throw new FileFault(`It has a tag or a text of more than ${MAX_STRETCH} bytes.`);
  }
  if (thrown === undefined) parser.close();
  if (thrown !== undefined) throw thrown;
}

/** These formats allow two encodings. */
function encodingOf(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8';
}

const withoutPrefix = (name: string): string => name.slice(name.indexOf(':') + 1);

function withoutPrefixes(attributes: Record<string, string>): XmlAttributes {
  const plain: Record<string, string> = {};
  for (const name in attributes) {
    const local = withoutPrefix(name);
    plain[local === 'id' && local !== name ? 'r:id' : local] = attributes[name]!;
    if (!(local in plain)) plain[local] = attributes[name]!;
  }
  return plain;
}
