import { setImmediate as nextTurn } from 'node:timers/promises';
import { type SaxesAttributeNS, SaxesParser, type SaxesTagNS } from 'saxes';
import {
  allowedAtRules,
  allowedAttributes,
  allowedElements,
  allowedFunctions,
  ignoredNamespaces,
} from './svg-allow-list.ts';

/** Number of characters that are parsed before the event loop gets a turn. */
const SLICE = 65_536;
const MAX_DEPTH = 256;

const svgNamespaces = new Set(['', 'http://www.w3.org/2000/svg']);
const xlinkNamespace = 'http://www.w3.org/1999/xlink';
const xmlNamespaces = new Set(['http://www.w3.org/XML/1998/namespace', 'http://www.w3.org/2000/xmlns/']);

/** The document type that drawing programs write. It has no internal subset, so it defines no entities. */
const standardDoctype =
  /^\s*svg PUBLIC "-\/\/W3C\/\/DTD SVG [\w. ]{1,40}\/\/EN"\s{1,40}"http:\/\/www\.w3\.org\/[\w./-]{1,100}"\s{0,40}$/;

/**
 * Finds content that an SVG must not contain if it is passed on: code, entities, and references that make a viewer load
 * something. Parses strictly and allows only listed elements, attributes and style functions.
 *
 * @returns a noun phrase for "It contains …"; undefined if the SVG is safe
 */
export async function findUnsafeContent(bytes: Uint8Array): Promise<string | undefined> {
  const text = decode(bytes);
  if (text === undefined) return 'text that is not UTF-8';
  const check = new SvgCheck();
  for (let at = 0; at < text.length && check.found === undefined; at += SLICE) {
    if (at > 0) await nextTurn();
    check.write(text.slice(at, at + SLICE));
  }
  return check.end();
}

class SvgCheck {
  /** The first problem. */
  found: string | undefined;
  private readonly parser = new SaxesParser({ xmlns: true, position: false });
  private depth = 0;
  /** Text of the open `style` element. */
  private sheet: string | undefined;

  constructor() {
    const { parser } = this;
    parser.on('error', () => this.reject('markup that is not well-formed'));
    parser.on('doctype', (doctype) => {
      if (!standardDoctype.test(doctype)) this.reject('a document type or entities');
    });
    parser.on('processinginstruction', () => this.reject('a processing instruction'));
    parser.on('xmldecl', ({ encoding }) => {
      if (encoding !== undefined && !/^(?:utf-?8|us-ascii)$/i.test(encoding)) {
        this.reject('an encoding other than UTF-8');
      }
    });
    parser.on('opentag', (tag) => this.checkElement(tag));
    parser.on('closetag', ({ local }) => {
      this.depth--;
      if (local === 'style') this.checkSheet();
    });
    parser.on('text', (text) => this.addStyle(text));
    parser.on('cdata', (text) => this.addStyle(text));
  }

  write(text: string): void {
    this.parser.write(text);
  }

  end(): string | undefined {
    if (this.found === undefined) this.parser.close();
    return this.found;
  }

  private reject(problem: string | undefined): void {
    this.found ??= problem;
  }

  private addStyle(text: string): void {
    if (this.sheet !== undefined) this.sheet += text;
  }

  private checkSheet(): void {
    if (this.sheet !== undefined) this.reject(findUnsafeStyle(this.sheet));
    this.sheet = undefined;
  }

  private checkElement({ uri, local, attributes }: SaxesTagNS): void {
    if (++this.depth > MAX_DEPTH) this.reject(`elements nested more than ${MAX_DEPTH} levels deep`);
    const isSvg = svgNamespaces.has(uri);
    if (!isSvg && !ignoredNamespaces.has(uri)) this.reject(`an element of the namespace ${uri.slice(0, 100)}`);
    if (!isSvg) return;
    if (!allowedElements.has(local)) this.reject(`the element ${local.slice(0, 100)}`);
    if (local === 'style') this.sheet = '';
    for (const attribute of Object.values(attributes)) this.reject(findUnsafeAttribute(attribute));
  }
}

function findUnsafeAttribute({ uri, local, value }: SaxesAttributeNS): string | undefined {
  if (xmlNamespaces.has(uri)) return local === 'base' ? 'the attribute xml:base' : undefined;
  if (ignoredNamespaces.has(uri) || /^(?:aria|data)-/.test(local)) return undefined;
  if (local === 'href' && (uri === '' || uri === xlinkNamespace)) {
    return isInternal(value) ? undefined : 'an external link';
  }
  if (uri === xlinkNamespace) return undefined;
  if (uri !== '' || !allowedAttributes.has(local)) return `the attribute ${local.slice(0, 100)}`;
  if (local === 'attributeName' && !isAnimatable(value)) return 'an animated link or event handler';
  return plainAttributes.has(local) ? undefined : findUnsafeStyle(value);
}

/** Attributes whose value is a name or words. */
const plainAttributes = new Set(['id', 'class', 'title', 'lang']);

/** Checks a style sheet, a `style` attribute or the value of a presentation attribute. */
function findUnsafeStyle(style: string): string | undefined {
  if (style.includes('\\')) return 'a style with escapes';
  for (const [, rule] of style.matchAll(/@([\w-]+)/g)) {
    if (!allowedAtRules.has(rule!.toLowerCase())) return `the style rule @${rule!.slice(0, 100)}`;
  }
  for (const [, name] of style.matchAll(/(?<![\w-])([\w-]+)\(/g)) {
    if (!allowedFunctions.has(name!.toLowerCase())) return `the style function ${name!.slice(0, 100)}`;
  }
  for (const [, link] of style.matchAll(/url\(([^)]*)/gi)) {
    if (!isInternal(link!.trim().replace(/^["']|["']$/g, ''))) return 'an external link';
  }
  return /-moz-binding|\bbehavior\s*:/i.test(style) ? 'a style that loads code' : undefined;
}

const isAnimatable = (name: string): boolean =>
  allowedAttributes.has(name.trim()) && !/^(?:href|style)$/.test(name.trim());

/** Whether a link points into the document, or is an embedded bitmap. */
function isInternal(link: string): boolean {
  const trimmed = link.trim();
  return (
    trimmed === '' || trimmed.startsWith('#') || /^data:image\/(?:png|jpe?g|gif|webp);base64,[\w+/=\s]*$/i.test(trimmed)
  );
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
