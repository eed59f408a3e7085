import { EgressRefusal } from './egress-refusal.ts';
import { placeholderPattern, type ReleasedSecret } from './secret-release.ts';

/** The parts of a request that may have placeholders: choice 662. */
export interface SecretPlaces {
  /** With the query. */
  path: string;
  headers: ReadonlyMap<string, readonly string[]>;
}

/** Each one is a search in the vault. */
const MAX_PLACEHOLDERS = 20;
/** Shorter texts occur by chance. */
const MIN_MASKED_BYTES = 8;
/** Longer values do not fit into headers of most hosts. They are not sent: choice 733. */
const MAX_VALUE_BYTES = 8192;

/**
 * Finds the placeholders in the path, the query and the headers of a request.
 *
 * @throws {EgressRefusal} if there are too many
 */
export function findPlaceholders({ path, headers }: SecretPlaces): string[] {
  const found = new Set<string>();
  const search = (text: string): void => {
    for (const [placeholder] of text.matchAll(placeholderPattern)) found.add(placeholder);
  };
  search(path);
  for (const [name, values] of headers) {
    for (const value of values) {
      search(value);
      search(readBasic(name, value) ?? '');
    }
  }
  if (found.size <= MAX_PLACEHOLDERS) return [...found];
  throw new EgressRefusal(400, `A request can have at most ${MAX_PLACEHOLDERS} different secrets.`);
}

export interface PutSecrets {
  path: string;
  headers: Map<string, string[]>;
  /** Texts that the response must not have. */
  masked: Buffer[];
}

/**
 * Replaces placeholders by their values: percent-encoded in the path and the query, unchanged in headers, and also within
 * the credentials of `Authorization: Basic`.
 *
 * @throws {EgressRefusal} if a value cannot be in a header, or is too long
 */
export function putSecrets({ path, headers }: SecretPlaces, secrets: readonly ReleasedSecret[]): PutSecrets {
  const masked: Buffer[] = [];
  const mask = (bytes: Buffer): void => {
    if (bytes.length >= MIN_MASKED_BYTES) masked.push(bytes);
  };
  const forPath = new Map<string, string>();
  const forHeaders = new Map<string, { name: string; text: string }>();
  for (const { name, placeholder, value } of secrets) {
    if (value.length > MAX_VALUE_BYTES) {
      const text = `The secret ${name} has more than ${MAX_VALUE_BYTES} bytes, so it cannot be put into a request.`;
      throw new EgressRefusal(400, text);
    }
    const encoded = encodeURIComponent(value.toString('utf8'));
    const escaped = JSON.stringify(value.toString('utf8')).slice(1, -1);
    forPath.set(placeholder, encoded);
    forHeaders.set(placeholder, { name, text: value.toString('latin1') }); // headers are bytes
    mask(Buffer.from(value));
    if (encoded.length !== value.length) mask(Buffer.from(encoded));
    if (Buffer.byteLength(escaped) !== value.length) mask(Buffer.from(escaped));
  }
  const replace = (text: string): string =>
    text.replaceAll(placeholderPattern, (placeholder) => forHeaders.get(placeholder)?.text ?? placeholder);
  const replaceInHeader = (name: string, text: string): string => {
    const basic = readBasic(name, text);
    if (basic !== undefined && replace(basic) !== basic) {
      const credentials = Buffer.from(replace(basic), 'latin1').toString('base64');
      mask(Buffer.from(credentials));
      return `Basic ${credentials}`;
    }
    return text.replaceAll(placeholderPattern, (placeholder) => {
      const secret = forHeaders.get(placeholder);
      if (!secret) return placeholder;
      if (!hasControls(secret.text)) return secret.text;
      throw new EgressRefusal(400, `The secret ${secret.name} has control characters, so it cannot be in a header.`);
    });
  };
  return {
    path: path.replaceAll(placeholderPattern, (placeholder) => forPath.get(placeholder) ?? placeholder),
    headers: new Map([...headers].map(([name, values]) => [name, values.map((value) => replaceInHeader(name, value))])),
    masked: masked.sort((a, b) => b.length - a.length), // one can be a part of another
  };
}

/** Returns the decoded credentials, one character for each byte. Undefined: the header has none. */
function readBasic(name: string, value: string): string | undefined {
  const [, text] = (name === 'authorization' && /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(value)) || [];
  return text === undefined ? undefined : Buffer.from(text, 'base64').toString('latin1');
}

/** Whether Node rejects the text as the value of a header. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones
const hasControls = (text: string): boolean => /[\0-\x08\x0a-\x1f\x7f]/.test(text);
