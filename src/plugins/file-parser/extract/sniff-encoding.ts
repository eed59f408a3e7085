/** Bytes at the start of a page that are searched. A browser searches 1,024, and starts over if it finds one later. */
const MAX_SNIFFED = 16_384;

/**
 * Finds the encoding that a page names itself: in `<meta>`, or else in its XML declaration.
 *
 * @returns undefined if it names none that is known
 * @see https://html.spec.whatwg.org/multipage/parsing.html#prescan-a-byte-stream-to-determine-its-encoding
 */
export function sniffEncoding(bytes: Buffer): string | undefined {
  const text = bytes.toString('latin1', 0, MAX_SNIFFED).toLowerCase();
  if (!/^\s*</.test(text.replaceAll('\0', ''))) return undefined; // no markup
  return sniffMeta(text) ?? sniffXml(text);
}

/** Returns the name of the encoding that a label stands for. Undefined: the label is unknown. */
export function findEncoding(label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}

function sniffMeta(text: string): string | undefined {
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', at)) {
    if (text.startsWith('<!--', at)) {
      const end = text.indexOf('-->', at + 2);
      if (end === -1) return undefined;
      at = end + 3;
    } else if (tagName.test(text.slice(at, at + 3))) {
      const name = readName(text, at + 1);
      const attributes = new Map<string, string>();
      const end = readAttributes(text, at + 1 + name.length, attributes);
      const found = name === 'meta' ? readMeta(attributes) : undefined;
      if (found !== undefined) return found;
      at = end;
    } else if (/[!/?]/.test(text[at + 1] ?? '')) {
      const end = text.indexOf('>', at);
      if (end === -1) return undefined;
      at = end + 1;
    } else at++;
  }
  return undefined;
}

const tagName = /^<\/?[a-z]/;

function readName(text: string, start: number): string {
  let end = start;
  while (end < text.length && !/[\s/>]/.test(text[end]!)) end++;
  return text.slice(start, end);
}

/** One attribute of a tag, after spaces and slashes. */
const attribute = /[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"?|'([^']*)'?|([^\s>]*)))?/y;

/** @param found gets the first value of each attribute @returns where the tag ends */
function readAttributes(text: string, start: number, found: Map<string, string>): number {
  attribute.lastIndex = start;
  let end = start;
  for (let match = attribute.exec(text); match; match = attribute.exec(text)) {
    const [, name, double, single, bare] = match;
    if (!found.has(name!)) found.set(name!, double ?? single ?? bare ?? '');
    end = attribute.lastIndex;
  }
  return end;
}

function readMeta(attributes: ReadonlyMap<string, string>): string | undefined {
  const isPragma = attributes.get('http-equiv') === 'content-type';
  const content = isPragma ? attributes.get('content') : undefined;
  const inContent =
    content === undefined ? undefined : /charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"']+))/.exec(content);
  return correct(attributes.get('charset') ?? inContent?.[1] ?? inContent?.[2] ?? inContent?.[3]);
}

function sniffXml(text: string): string | undefined {
  if (text.startsWith('<\0?\0x\0')) return 'utf-16le';
  if (text.startsWith('\0<\0?\0x')) return 'utf-16be';
  return correct(/^<\?xml\s[^>]*?\bencoding\s*=\s*["']([^"'>]*)["']/.exec(text)?.[1]);
}

/** A label that could be read is not in UTF-16, whatever it says. */
function correct(label: string | undefined): string | undefined {
  const encoding = findEncoding(label);
  if (encoding?.startsWith('utf-16')) return 'utf-8';
  return encoding === 'x-user-defined' ? 'windows-1252' : encoding;
}
