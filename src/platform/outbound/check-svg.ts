/**
 * Finds what an SVG may not hold that is passed on: code, entities, and whatever makes a viewer fetch something. Strict
 * rather than clever: what could be read in two ways is refused, comments included.
 *
 * @returns what was found, as the end of a sentence; undefined when there is nothing
 */
export function findUnsafeContent(bytes: Uint8Array): string | undefined {
  const text = decode(bytes);
  if (text === undefined) return 'text that is not UTF-8';
  const declared = /^\ufeff?\s*<\?xml[^>]*\bencoding\s*=\s*["']([^"']*)/i.exec(text)?.[1];
  if (declared !== undefined && !/^(?:utf-?8|us-ascii)$/i.test(declared)) return 'an encoding other than UTF-8';
  if (markup.test(text)) return 'a document type or entities';
  if (/<\?(?!xml\s)/i.test(text)) return 'a processing instruction';
  const tags = findTags(text);
  const element = elements.exec(tags)?.[1]; // names of elements and attributes cannot be written as references
  if (element !== undefined) return `the element ${element}`;
  if (/[\s"'/]on[a-z]+\s*=/i.test(tags)) return 'an event handler';
  const plain = decodeReferences(tags);
  if (animatedLink.test(plain)) return 'an animated link';
  for (const [, quoted] of plain.matchAll(links)) {
    if (!isInside(quoted!.replace(/^["']|["']$/g, ''))) return 'a link to something outside';
  }
  for (const [, link] of plain.matchAll(/url\(([^)]*)/gi)) {
    if (!isInside(link!.trim().replace(/^["']|["']$/g, ''))) return 'a link to something outside';
  }
  if (/@import|image-set\s*\(|expression\s*\(|-moz-binding|javascript:|vbscript:/i.test(plain))
    return 'a style or script that loads something';
  const hasEscapes =
    plain.includes('\\') && (style.test(plain) || /\bstyle\s*=/i.test(plain) || escapedCall.test(plain));
  if (hasEscapes) return 'a style with escapes';
  return undefined;
}

/** Words that are drawn are words, whatever they say. Where it is not plain what are words and what tags, all of it counts. */
function findTags(text: string): string {
  if (text.includes('<!') || style.test(text)) return text;
  const words = text.replaceAll(tag, '');
  return /[<>]/.test(words) ? text : (text.match(tag) ?? []).join('');
}

const tag = /<(?:[^<>"']|"[^"<]*"|'[^'<]*')*>/g;

/** Declarations, but for the one that drawing programs write, which names a document type and brings nothing of its own. */
const markup =
  /<!(?!--|\[CDATA\[|DOCTYPE svg PUBLIC "-\/\/W3C\/\/DTD SVG [\w. ]{1,40}\/\/EN"\s{1,40}"http:\/\/www\.w3\.org\/[\w./-]{1,100}"\s{0,40}>)/;

/** What a document may write before the name of an element or attribute: names in XML have letters of all alphabets. */
const prefix = `(?:[^\\s<>"'/=:]+:)?`;

const elements = new RegExp(
  `<${prefix}(script|foreignObject|iframe|object|embed|applet|audio|video|handler|listener|link|meta|base|html|body|include)[\\s>/]`,
  'i',
);
const style = new RegExp(`<${prefix}style\\b`, 'i');
const animatedLink = new RegExp(`attributeName\\s*=\\s*(?:["']\\s*)?${prefix}(?:href|on)`, 'i');
const links = new RegExp(`(?<=[\\s"'/])${prefix}(?:href|src|base|ping)\\s*=\\s*("[^"]*"?|'[^']*'?)`, 'gi');

/** In an attribute that is read as a style: `fill="\\75rl(…)"`. */
const escapedCall = /\\[^"'<>(\\]*\(/;

/** Within the document, or a bitmap that is written out. */
const isInside = (link: string): boolean => {
  const trimmed = link.trim();
  return (
    trimmed === '' || trimmed.startsWith('#') || /^data:image\/(?:png|jpe?g|gif|webp);base64,[\w+/=\s]*$/i.test(trimmed)
  );
};

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** As a reader would see it: `&#106;avascript:` is `javascript:`. */
const decodeReferences = (text: string): string =>
  text.includes('&')
    ? text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));?/gi, (whole, hex, decimal, name) => {
        if (name !== undefined) return named[name.toLowerCase()]!;
        const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
        return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
      })
    : text;
