import { SaxesParser } from 'saxes';
import { checkDepth, damaged } from './file-fault.ts';
import type { ArchivePart } from './zip-archive.ts';

/** XmlAttributes by their names without prefix. `r:id` is the id of a relation, because `id` may exist beside it. */
export type XmlAttributes = Readonly<Record<string, string>>;

/** Called for each part of a document. Names have no prefix, because programs choose prefixes freely. */
export interface XmlHandlers {
  open?(name: string, attributes: XmlAttributes): void;
  text?(text: string): void;
  close?(name: string): void;
}

/** Bytes that are decoded and parsed at a time. */
const PIECE_BYTES = 65_536;

/**
 * Parses an XML part of an Office file in pieces, and keeps no tree of it. A document type, which may define entities,
 * is not part of these formats.
 *
 * @throws {FileFault} if it is malformed, and what a handler throws
 */
export function readXml({ name: part, bytes }: ArchivePart, handlers: XmlHandlers): void {
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
  parser.on('opentag', ({ name, attributes }) => {
    checkDepth(++depth);
    open?.(withoutPrefix(name), withoutPrefixes(attributes));
  });
  if (text) parser.on('text', text);
  parser.on('closetag', ({ name }) => {
    depth--;
    close?.(withoutPrefix(name));
  });
  const decoder = new TextDecoder(encodingOf(bytes));
  for (let at = 0; at < bytes.length && thrown === undefined; at += PIECE_BYTES) {
    parser.write(decoder.decode(bytes.subarray(at, at + PIECE_BYTES), { stream: true }));
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
