import { hash } from 'node:crypto';

/** Describes data without its content. */
export interface BinaryDescription {
  media_type?: string;
  bytes?: number;
  sha256?: string;
  /** The host of a URL. Its path and its query may contain secrets. */
  host?: string;
}

const dataUrl = /^data:([^;,]{0,200})((?:;[^;,]{0,200}){0,10}),/i;
const mediaType = /^[\w.+-]{1,64}\/[\w.+-]{1,64}$/;

/** @param source a data URL, the URL of a file, or bare base64 */
export function describeBinary(source: string): BinaryDescription {
  const head = dataUrl.exec(source);
  if (!head && /^[a-z][a-z\d+.-]*:\/\//i.test(source)) return { host: URL.parse(source)?.hostname ?? '' };
  const [whole = '', type = '', settings = ''] = head ?? [];
  const isBase64 = !head || /;base64$/i.test(settings);
  const bytes = Buffer.from(source.slice(whole.length), isBase64 ? 'base64' : 'utf8');
  return { ...(mediaType.test(type) && { media_type: type }), ...digest(bytes) };
}

const digest = (bytes: Buffer) => ({ bytes: bytes.length, sha256: hash('sha256', bytes) });

/** Minimum length of base64 that counts as data. No word is this long. */
const SHORTEST_RUN = 1024;

const runFrom = /[A-Za-z0-9+/_-]*={0,2}/y;
const inRun = /[A-Za-z0-9+/_-]/;

/**
 * Returns the beginning of a text, with embedded base64 data replaced by its size and hash.
 *
 * @param max maximum characters; the rest of the text is not read
 * @returns `isWhole` is false if the text continues
 */
export function describeEmbeddedData(text: string, max: number): { text: string; isWhole: boolean } {
  let shown = '';
  let from = 0; // everything before this position is in `shown`
  // Every run contains one of these positions. Its ends are found from there.
  for (let at = 0; at < text.length && at - SHORTEST_RUN - from < max - shown.length; at += SHORTEST_RUN) {
    const { start, end } = findRun(text, at, from);
    if (end - start < SHORTEST_RUN) continue;
    const { bytes, sha256 } = describeBinary(text.slice(start, end));
    shown += `${text.slice(from, start)}[base64: ${bytes} bytes, sha256 ${sha256}]`;
    from = end;
    at = end - (end % SHORTEST_RUN);
  }
  const end = Math.min(text.length, from + Math.max(0, max - shown.length));
  return { text: shown + text.slice(from, end), isWhole: end === text.length };
}

function findRun(text: string, at: number, min: number): { start: number; end: number } {
  runFrom.lastIndex = at;
  const [found = ''] = runFrom.exec(text) ?? [];
  if (found === '' || at < min) return { start: at, end: at };
  let start = at;
  while (start > min && inRun.test(text[start - 1]!)) start--;
  return { start, end: at + found.length };
}
