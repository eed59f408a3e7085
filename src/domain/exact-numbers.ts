/**
 * A number whose digits a number may not keep: 16 digits or more, or a decimal that ends with 0. Begins with the character
 * before it, so that texts of base64 are scanned fast.
 */
const UNUSUAL_NUMBER = /[:,[\s]-?(?:\d{16}|\d+\.\d*0[,}\]\s])/;

/** ES2026, which Node has and the types of TypeScript lack. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
};
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;

/** A number with the digits of its text, which `JSON.stringify` writes. */
interface RawNumber {
  rawJSON: string;
}

/**
 * Where a JSON text comes from: `outside` is a response of a provider or service, `request` the body of a request,
 * `arguments` the arguments of a call.
 */
export type JsonOrigin = 'outside' | 'request' | 'arguments';

/**
 * Parses JSON. Numbers keep their digits where the gateway only passes them on: in the arguments of calls, and whole
 * numbers in schemas and in all that comes from outside. Models and clients use large numbers as ids.
 * Source: earendil-works/pi#8943
 *
 * @throws {SyntaxError}
 */
export function parseExactly(text: string, origin: JsonOrigin = 'outside'): unknown {
  if (!UNUSUAL_NUMBER.test(text)) return JSON.parse(text);
  const value = JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown) as unknown;
  return origin === 'arguments' ? value : settle(value, origin === 'outside' ? 'integers' : 'none');
}

const keepDigits: Reviver = (_key, value, { source }) =>
  typeof value === 'number' && source !== undefined && /^-?\d+(?:\.\d+)?$/.test(source) && String(value) !== source
    ? rawJSON(source)
    : value;

/** The numbers in a value that keep their digits. */
type Kept = 'none' | 'integers' | 'all';

/** Replaces the others by plain numbers, in place. */
function settle(value: unknown, kept: Kept): unknown {
  if (typeof value !== 'object' || value === null || kept === 'all') return value;
  if (isRawJSON(value)) return kept === 'integers' && !value.rawJSON.includes('.') ? value : toNumber(value);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) value[index] = settle(value[index], kept);
    return value;
  }
  const fields = value as Record<string, unknown>;
  for (const name of Object.keys(fields)) fields[name] = settle(fields[name], keptIn(name, fields[name]) ?? kept);
  return value;
}

/** Returns the plain number of one that keeps its digits, and every other value as it is. */
export const toNumber = (value: unknown): unknown => (isRawJSON(value) ? Number(value.rawJSON) : value);

/** Returns a value that `JSON.stringify` writes as this integer, with all its digits. */
export const writeExactInteger = (value: bigint): unknown =>
  Number.isSafeInteger(Number(value)) ? Number(value) : rawJSON(String(value));

/** Returns the integer of a number, also if it keeps its digits. @throws {SyntaxError} if it is no integer */
export const readExactInteger = (value: unknown): bigint =>
  BigInt(isRawJSON(value) ? value.rawJSON : (value as number | string));

/** Fields of calls with their arguments, if these are an object. */
const argumentFields: ReadonlySet<string> = new Set(['input', 'args', 'arguments']);
/** Fields of tools and formats with a schema. */
const schemaFields: ReadonlySet<string> = new Set(['input_schema', 'parameters', 'schema']);

function keptIn(name: string, value: unknown): Kept | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isRawJSON(value)) return undefined;
  if (argumentFields.has(name)) return 'all';
  return schemaFields.has(name) && 'properties' in value ? 'integers' : undefined; // other parameters are settings
}
