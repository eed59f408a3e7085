/** A whole number of 16 digits or more, which may be larger than a number can hold exactly. No decimal places. */
const LONG_INTEGER = /(?<![.\d])\d{16}/;

/** ES2026, which Node has and the types of TypeScript lack. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;

/**
 * Parses JSON. A whole number that a number cannot hold keeps its digits, and `JSON.stringify` writes them: models and
 * clients use such numbers as ids. Source: earendil-works/pi#8943
 *
 * @throws {SyntaxError}
 */
export const parseExactly = (text: string): unknown =>
  JSON.parse(text, LONG_INTEGER.test(text) ? (keepDigits as (key: string, value: unknown) => unknown) : undefined);

const keepDigits: Reviver = (_key, value, { source }) =>
  typeof value === 'number' && !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source)
    ? rawJSON(source)
    : value;
