import { SaxesParser } from 'saxes';
import { S3Error } from './s3-error.ts';

/** An element without its attributes. */
export interface XmlElement {
  name: string;
  /** Its own text. */
  text: string;
  children: XmlElement[];
}

const MAX_DEPTH = 10;

/**
 * Reads the XML of a response. Rejects document types, so there are no entities but the standard ones.
 *
 * @throws {S3Error}
 */
export function readS3Xml(text: string): XmlElement {
  const root: XmlElement = { name: '', text: '', children: [] };
  const open = [root];
  const fail = (): never => {
    throw new S3Error('The S3 server sent invalid XML.', { isTemporary: true });
  };
  const parser = new SaxesParser({ position: false });
  parser.on('error', fail);
  parser.on('doctype', fail);
  parser.on('opentag', ({ name }) => {
    const element: XmlElement = { name, text: '', children: [] };
    open.at(-1)!.children.push(element);
    if (open.push(element) > MAX_DEPTH) fail();
  });
  const add = (piece: string): void => {
    open.at(-1)!.text += piece;
  };
  parser.on('text', add);
  parser.on('cdata', add);
  parser.on('closetag', () => void open.pop());
  parser.write(text).close();
  return root.children[0] ?? fail();
}

/** @returns undefined if there is no such child */
export const findXmlText = ({ children }: XmlElement, name: string): string | undefined =>
  children.find((child) => child.name === name)?.text;

/** @throws {S3Error} if there is no such child */
export function getXmlText(element: XmlElement, name: string): string {
  const text = findXmlText(element, name);
  if (text === undefined) throw new S3Error(`The S3 server sent ${element.name} without ${name}.`);
  return text;
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export const escapeXml = (text: string): string => text.replace(/[&<>"]/g, (found) => escapes[found]!);
