import { isUtf8 } from 'node:buffer';
import { parse as findErrors, type ParseError, printParseErrorCode } from 'jsonc-parser';
import sjson from 'secure-json-parse';
import { GatewayError } from '../domain/errors.ts';

const PROTO = Buffer.from('proto');
const ESCAPE = Buffer.from('\\u00');
/** A letter of that word as an escape, with which no JSON writer hides what it has to say. */
const hiddenLetter = /\\u00(?:7[024]|6f)/i;

/** The largest text in which the place of a mistake is looked for. */
const LOCATE_LENGTH = 1024 * 1024;

/**
 * Parses a request body. An own key `__proto__` would be harmless as it stands, but not to code that copies it by
 * assignment, so it is refused, however its letters are written. Of a key that stands twice the last one counts, as everywhere in
 * JavaScript.
 *
 * @throws {GatewayError} `invalid_request` that names the place, or the key, that is wrong
 */
export function readJson(body: Buffer): unknown {
  if (body.length === 0) throw new GatewayError('invalid_request', 'The body is empty; send a JSON object.');
  if (!isUtf8(body)) throw new GatewayError('invalid_request', 'The body is not valid UTF-8.');
  const text = body.toString('utf8');
  try {
    // Looking for the two keys costs as much as parsing, and hardly any body holds their names.
    const isPlain = !body.includes(PROTO) && !(body.includes(ESCAPE) && hiddenLetter.test(text));
    if (isPlain) return JSON.parse(text);
    return sjson.parse(text, undefined, { protoAction: 'error', constructorAction: 'error' });
  } catch (error) {
    if (/forbidden prototype/.test(String((error as Error).message))) {
      throw new GatewayError(
        'invalid_request',
        'The body holds the key __proto__ or constructor.prototype; remove it.',
      );
    }
    throw new GatewayError('invalid_request', `The body is not valid JSON${locate(text)}.`);
  }
}

function locate(text: string): string {
  if (text.length > LOCATE_LENGTH) return '';
  const errors: ParseError[] = [];
  try {
    findErrors(text, errors, { disallowComments: true, allowTrailingComma: false });
  } catch {
    return ''; // nested too deeply for the parser that looks for the place
  }
  const first = errors[0];
  if (!first) return '';
  const before = text.slice(0, first.offset).split('\n');
  const what = printParseErrorCode(first.error)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
  return ` at line ${before.length}, column ${before.at(-1)!.length + 1}: ${what}`;
}
