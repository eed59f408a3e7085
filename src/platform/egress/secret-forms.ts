import { searchText } from './searched-text.ts';

/** A spelling of a secret, in which a host can repeat it. */
export interface SecretForm {
  /** As a searched text has it. */
  bytes: Buffer;
  /** Bytes that are enough to recognize it. Fewer occur by chance. */
  minBytes: number;
}

/** Shorter values occur by chance. */
const MIN_MASKED_BYTES = 8;
/** So many digits have the form of a value of 8 bytes at every place of a longer text. */
const MIN_BASE64_BYTES = 10;

/**
 * Lists the spellings of a value: as it is, percent-encoded, with the escapes of JSON and HTML, as hex, and as base64 at
 * every place of a longer text. Upper and lower case of ASCII letters are the same in a searched text. Other letters are
 * found as they are, and if the whole value has one case.
 */
export function listSecretForms(value: Buffer): SecretForm[] {
  const found = new Map<string, SecretForm>();
  const add = (bytes: Buffer, minBytes: number): void => {
    const form = searchText(bytes).bytes;
    if (form.length >= minBytes) found.set(form.toString('latin1'), { bytes: form, minBytes });
  };
  if (value.length < MIN_MASKED_BYTES) return [];
  add(value, MIN_MASKED_BYTES);
  const text = value.toString('utf8');
  for (const spelled of new Set([text, text.toLowerCase(), text.toUpperCase()])) {
    for (const escaped of [spelled, ...listEscaped(spelled)]) add(Buffer.from(escaped), MIN_MASKED_BYTES);
  }
  add(Buffer.from(value.toString('hex')), 2 * MIN_MASKED_BYTES);
  for (const text of listBase64(value)) add(Buffer.from(text), MIN_BASE64_BYTES);
  return [...found.values()];
}

function listEscaped(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const ascii = escapeUnicode(json);
  const component = encodeURIComponent(text);
  const html = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return [
    json,
    ascii,
    json.replaceAll('/', '\\/'),
    ascii.replaceAll('/', '\\/'),
    json.replaceAll(/[<>&]/g, writeUnicode),
    component,
    component.replaceAll('%2F', '/'), // a path
    encodeURI(text),
    new URLSearchParams([['', text]]).toString().slice(1), // a form
    html,
    html.replaceAll('"', '&quot;').replaceAll("'", '&#39;'),
    html.replaceAll('"', '&#34;').replaceAll("'", '&#x27;'),
  ];
}

const escapeUnicode = (text: string): string => text.replaceAll(/[\u0080-\uffff]/g, writeUnicode);
const writeUnicode = (letter: string): string => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A digit of base64 has 6 bits. Those at the edges depend also on the bytes next to the value, so they are left out. */
function listBase64(value: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), value]).toString('base64');
    const inner = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + value.length) * 8) / 6));
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
