import type { Vector } from '../../domain/embeddings.ts';
import { findStringEnd } from './find-string-end.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const UNDERSCORE = 0x5f;
const SMALL_E = 0x65;
const LARGE_E = 0x45;
const OPEN = 0x5b;
const CLOSE = 0x5d;

/** Characters of a text that can be lifted. A shorter one may be a name that looks like base64. */
const MIN_LIFTED = 256;

/** Maximum numbers of one vector. Each takes 8 bytes while its format is converted. */
const MAX_DIMENSIONS = 65_536;

/** The vectors of the response that is being read. */
let lifted: readonly Vector[] = [];

/**
 * Takes the vectors out of a JSON body before it is parsed: lists of numbers, and long texts of base64. Parsing and
 * writing millions of numbers would take most of the time of a request. A mark replaces each vector. `readVector`
 * resolves the marks while `readLifted` reads.
 *
 * @param body is kept by the vectors, which are slices of it
 * @returns `json` is `body` itself if there is no vector
 */
export function liftVectors(body: Buffer): { json: Buffer; vectors: readonly Vector[] } {
  const vectors: Vector[] = [];
  const rest: Buffer[] = [];
  let kept = 0;
  const lift = (vector: Vector, start: number, end: number): void => {
    rest.push(body.subarray(kept, start), Buffer.from(`"~${vectors.length}~"`, 'latin1'));
    vectors.push(vector);
    kept = end;
  };
  for (let at = 0; at < body.length; at++) {
    const byte = body[at];
    if (byte === QUOTE) {
      const end = findStringEnd(body, at + 1);
      const vector = end - at > MIN_LIFTED ? readBase64(body.subarray(at + 1, end)) : undefined;
      if (vector) lift(vector, at, end + 1);
      at = end;
    } else if (byte === OPEN) {
      const end = body.indexOf(CLOSE, at);
      const length = end === -1 ? undefined : countNumbers(body, at + 1, end);
      if (length === undefined) continue; // a list of something else
      lift({ format: 'float', bytes: body.subarray(at, end + 1), length }, at, end + 1);
      at = end;
    }
  }
  return vectors.length === 0
    ? { json: body, vectors }
    : { json: Buffer.concat([...rest, body.subarray(kept)]), vectors };
}

/** Reads a body whose vectors have been lifted. */
export function readLifted<Result>(vectors: readonly Vector[], read: () => Result): Result {
  lifted = vectors;
  try {
    return read();
  } finally {
    lifted = [];
  }
}

/**
 * Returns a vector of the response.
 *
 * @param value a mark of `liftVectors`, or the value itself
 * @throws {Error} if it is not a vector; the pipeline reports this as a failure of the provider
 */
export function readVector(value: unknown): Vector {
  const mark = typeof value === 'string' ? /^~(\d+)~$/.exec(value)?.[1] : undefined;
  const found = mark === undefined ? undefined : lifted[Number(mark)];
  const vector = found ?? (typeof value === 'string' ? readBase64(Buffer.from(value)) : undefined);
  if (!vector) throw new Error('There is no vector.');
  if (vector.length > MAX_DIMENSIONS) throw new Error(`A vector has more than ${MAX_DIMENSIONS} dimensions.`);
  return vector;
}

/** @returns undefined if the text is not the base64 of 32-bit floats */
function readBase64(text: Buffer): Vector | undefined {
  if (text.length === 0 || text.length % 4 !== 0) return undefined;
  const padding = text[text.length - 2] === 0x3d ? 2 : text[text.length - 1] === 0x3d ? 1 : 0;
  const bytes = (text.length / 4) * 3 - padding;
  if (bytes % 4 !== 0 || text.includes(MINUS) || text.includes(UNDERSCORE)) return undefined; // not the variant of URLs
  // Node skips other characters, so that fewer bytes are left. It decodes many times faster than a search reads.
  if (Buffer.from(text.toString('latin1'), 'base64').length !== bytes) return undefined;
  return { format: 'base64', bytes: text, length: bytes / 4 };
}

/** Counts the numbers of a JSON list. @returns undefined if it contains anything else, or nothing */
function countNumbers(body: Buffer, from: number, end: number): number | undefined {
  let count = 0;
  let at = skipSpace(body, from);
  for (;;) {
    if (body[at] === MINUS) at++;
    const first = body[at]!;
    if (!isDigit(first)) return undefined;
    at++;
    if (first !== ZERO) at = skipDigits(body, at);
    if (body[at] === POINT) {
      if (!isDigit(body[at + 1]!)) return undefined;
      at = skipDigits(body, at + 1);
    }
    if (body[at] === SMALL_E || body[at] === LARGE_E) {
      at++;
      if (body[at] === PLUS || body[at] === MINUS) at++;
      if (!isDigit(body[at]!)) return undefined;
      at = skipDigits(body, at);
    }
    count++;
    at = skipSpace(body, at);
    if (at === end) return count;
    if (body[at] !== COMMA) return undefined;
    at = skipSpace(body, at + 1);
  }
}

const isDigit = (byte: number): boolean => byte >= ZERO && byte <= NINE;

function skipDigits(body: Buffer, at: number): number {
  let next = at;
  while (isDigit(body[next]!)) next++;
  return next;
}

function skipSpace(body: Buffer, at: number): number {
  let next = at;
  for (let byte = body[next]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; byte = body[next])
    next++;
  return next;
}
