import { isUtf8 } from 'node:buffer';
import { parse as findErrors, type ParseError, printParseErrorCode } from 'jsonc-parser';
import { GatewayError, invalidRequest } from '../domain/errors.ts';
import { parseExactly } from '../domain/exact-numbers.ts';
import { SMALL_JSON } from '../domain/parse-json.ts';
import { findExcess, type JsonLimits, MAX_LEVELS } from '../domain/scan-json.ts';
import { fieldPath, Report } from '../schema/report.ts';

const bodyLimits: JsonLimits = { levels: MAX_LEVELS, entries: 200_000, distinctFields: 20_000 };

/** U+FEFF in UTF-8. Programs of Windows write it before the text, and RFC 8259 permits ignoring it. */
const BYTE_ORDER_MARK = 0xefbbbf;

/** Maximum length of a text in which a syntax error is located, because that takes up to 0.1 ms per KiB. */
const LOCATE_LENGTH = 256 * 1024;

/**
 * Parses a request body. If a key appears twice in an object, the last one counts.
 *
 * Rejects the key `__proto__`, including escaped forms, because code that copies it by assignment would set a
 * prototype. The same applies to `constructor.prototype`.
 *
 * @throws {GatewayError} `invalid_request` that names the place, the key or the limit
 * @see docs/reference/http.md#bodies
 */
export function readJson(sent: Buffer): unknown {
  const body = sent.length >= 3 && sent.readUIntBE(0, 3) === BYTE_ORDER_MARK ? sent.subarray(3) : sent;
  if (body.length === 0) throw new GatewayError('invalid_request', 'The body is empty; send a JSON object.');
  if (!isUtf8(body)) throw new GatewayError('invalid_request', 'The body is not valid UTF-8.');
  if (body.length > SMALL_JSON) refuseExcess(body);
  const text = body.toString('utf8');
  let value: unknown;
  try {
    value = parseExactly(text, 'request');
  } catch {
    throw new GatewayError('invalid_request', `The body is not valid JSON${locate(text)}.`);
  }
  switch (inspect(value, 1)) {
    case 'too deep':
      refuseExcess(body);
      break;
    case 'forbidden key':
      throw new GatewayError(
        'invalid_request',
        'The body contains the key __proto__ or constructor.prototype; remove it.',
      );
    case 'not finite': {
      const report = new Report();
      findInfinite(value, '', report);
      throw invalidRequest(report.issues);
    }
  }
  return value;
}

/**
 * Rejects a body that exceeds a limit.
 *
 * @throws {GatewayError} `invalid_request` that names the limit
 * @see docs/reference/http.md#bodies
 */
export function refuseExcess(body: Buffer, limits = bodyLimits): void {
  const excess = findExcess(body, limits);
  if (!excess) return;
  const report = new Report();
  const { field, says, saysOfField } = excess;
  if (field === undefined) report.add('', `${says}, which is the limit`);
  else report.add(fieldPath('', field), `${saysOfField}, which is the limit`);
  throw invalidRequest(report.issues);
}

type Finding = 'fine' | 'too deep' | 'forbidden key' | 'not finite';

/** Finds values that `JSON.parse` accepts but the gateway does not. A number such as `1e999` parses to Infinity. */
function inspect(value: unknown, level: number): Finding {
  if (typeof value === 'number') return Number.isFinite(value) ? 'fine' : 'not finite';
  if (typeof value !== 'object' || value === null) return 'fine';
  if (level > MAX_LEVELS) return 'too deep';
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const finding = inspect(value[index], level + 1);
      if (finding !== 'fine') return finding;
    }
    return 'fine';
  }
  for (const key in value) {
    const entry = (value as Record<string, unknown>)[key];
    if (key === '__proto__' || (key === 'constructor' && hasPrototype(entry))) return 'forbidden key';
    const finding = inspect(entry, level + 1);
    if (finding !== 'fine') return finding;
  }
  return 'fine';
}

const hasPrototype = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');

function findInfinite(value: unknown, path: string, report: Report): void {
  if (report.isFull) return;
  if (typeof value === 'number' && !Number.isFinite(value)) report.add(path, `must be a finite number, got ${value}`);
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) findInfinite(value[index], `${path}[${index}]`, report);
  } else {
    for (const key of Object.keys(value)) {
      findInfinite((value as Record<string, unknown>)[key], fieldPath(path, key), report);
    }
  }
}

function locate(text: string): string {
  if (text.length > LOCATE_LENGTH) return '';
  const errors: ParseError[] = [];
  try {
    findErrors(text, errors, { disallowComments: true, allowTrailingComma: false });
  } catch {
    return ''; // nested too deeply for the parser that locates the error
  }
  const first = errors[0];
  if (!first) return '';
  const before = text.slice(0, first.offset).split('\n');
  const what = printParseErrorCode(first.error)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
  return ` at line ${before.length}, column ${before.at(-1)!.length + 1}: ${what}`;
}
