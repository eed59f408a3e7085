import { permitsHeader, type SecretLocation } from '../../domain/secret-location.ts';
import { EgressRefusal } from './egress-refusal.ts';
import { placeholderPattern, type ReleasedSecret } from './secret-release.ts';

/** The parts of a request that may have placeholders. */
export interface SecretPlaces {
  /** With the query. */
  path: string;
  headers: ReadonlyMap<string, readonly string[]>;
  /** Undefined: it is sent as it is. */
  body?: Buffer | undefined;
}

/** The same parts with values. */
export interface PutPlaces extends SecretPlaces {
  headers: Map<string, string[]>;
}

/** Each one is a search in the vault. */
const MAX_PLACEHOLDERS = 20;
/** Longer values do not fit into headers of most hosts. They are not sent: choice 733. */
export const MAX_VALUE_BYTES = 8192;

/**
 * Finds the placeholders of a request.
 *
 * @throws {EgressRefusal} if there are too many
 */
export function findPlaceholders({ path, headers, body }: SecretPlaces): string[] {
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
  if (body) search(body.toString('latin1'));
  if (found.size <= MAX_PLACEHOLDERS) return [...found];
  throw new EgressRefusal(400, `A request can have at most ${MAX_PLACEHOLDERS} different secrets.`);
}

/**
 * Replaces placeholders by their values: percent-encoded in the path and the query, unchanged in headers, and also within
 * the credentials of `Authorization: Basic`. In a body, the encoding follows the type of its content.
 *
 * @throws {EgressRefusal} if a value is too long, or cannot be in a header, or must not be where its placeholder is. A
 * placeholder stays in a body that its secret must not be in
 */
export function putSecrets({ path, headers, body }: SecretPlaces, secrets: readonly ReleasedSecret[]): PutPlaces {
  const known = new Map(secrets.map((secret) => [secret.placeholder, secret]));
  for (const { name, value } of secrets) {
    if (value.length <= MAX_VALUE_BYTES) continue;
    const text = `The secret ${name} has more than ${MAX_VALUE_BYTES} bytes, so it cannot be put into a request.`;
    throw new EgressRefusal(400, text);
  }
  const replace = (text: string, location: SecretLocation, write: (secret: ReleasedSecret) => string): string =>
    text.replaceAll(placeholderPattern, (placeholder) => {
      const secret = known.get(placeholder);
      if (!secret) return placeholder;
      const [, header] = location.split(':');
      const isPermitted =
        header === undefined ? secret.locations.includes(location) : permitsHeader(secret.locations, header);
      if (isPermitted) return write(secret);
      if (location === 'body') return placeholder;
      const place = header === undefined ? location : `header ${header}`;
      const remedy = `The field \`locations\` of the secret permits it with \`${location}\`.`;
      throw new EgressRefusal(403, `The secret ${secret.name} must not be in the ${place} of a request. ${remedy}`);
    });
  const replaceInHeader = (name: string, text: string): string => {
    const basic = readBasic(name, text);
    const put = basic === undefined ? undefined : replace(basic, `header:${name}`, writeBytes);
    if (put !== undefined && put !== basic) return `Basic ${Buffer.from(put, 'latin1').toString('base64')}`;
    return replace(text, `header:${name}`, (secret) => {
      const written = writeBytes(secret);
      if (!hasControls(written)) return written;
      throw new EgressRefusal(400, `The secret ${secret.name} has control characters, so it cannot be in a header.`);
    });
  };
  const queryAt = path.includes('?') ? path.indexOf('?') : path.length;
  const type = headers.get('content-type')?.[0] ?? '';
  return {
    path: replace(path.slice(0, queryAt), 'path', writePercent) + replace(path.slice(queryAt), 'query', writePercent),
    headers: new Map([...headers].map(([name, values]) => [name, values.map((value) => replaceInHeader(name, value))])),
    body: body && Buffer.from(replace(body.toString('latin1'), 'body', chooseBodyWriter(type)), 'latin1'),
  };
}

/** One character for each byte, as headers have them. */
const writeBytes = ({ value }: ReleasedSecret): string => value.toString('latin1');
const writePercent = ({ value }: ReleasedSecret): string => encodeURIComponent(value.toString('utf8'));
const writeJson = ({ value }: ReleasedSecret): string =>
  Buffer.from(JSON.stringify(value.toString('utf8')).slice(1, -1)).toString('latin1');

function chooseBodyWriter(type: string): (secret: ReleasedSecret) => string {
  if (/^application\/x-www-form-urlencoded *(;|$)/i.test(type)) return writePercent;
  return /^[a-z-]+\/([a-z0-9.-]+\+)?json *(;|$)/i.test(type) ? writeJson : writeBytes;
}

/** Returns the decoded credentials, one character for each byte. Undefined: the header has none. */
function readBasic(name: string, value: string): string | undefined {
  const [, text] = (name === 'authorization' && /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(value)) || [];
  return text === undefined ? undefined : Buffer.from(text, 'base64').toString('latin1');
}

/** Whether Node rejects the text as the value of a header. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones
const hasControls = (text: string): boolean => /[\0-\x08\x0a-\x1f\x7f]/.test(text);
