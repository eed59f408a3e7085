import { readResultCode } from './sqlite/result-codes.ts';

/** Constraint, mismatch and range of SQLite; too long for it. @see https://sqlite.org/rescode.html */
const sqliteCodes = new Set([18, 19, 20, 25]);
/** Error codes of the driver for a value that it cannot bind. */
const bindingCodes = new Set(['ERR_INVALID_ARG_VALUE', 'ERR_INVALID_ARG_TYPE', 'ERR_OUT_OF_RANGE']);
/** Data exceptions, integrity, limits of the program. @see https://www.postgresql.org/docs/current/errcodes-appendix.html */
const sqlStates = /^(?:22|23|54)[0-9A-Z]{3}$/;

/**
 * Was a write refused for what is in it, so that it never succeeds? A number that does not fit, a value that is missing.
 * All else may pass: a store that is gone, locked, full, or of another schema.
 */
export function isRefusedData(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, name } = error as Error & { code?: unknown };
  const result = readResultCode(error);
  if (result !== undefined) return sqliteCodes.has(result);
  if (typeof code === 'string') return bindingCodes.has(code) || sqlStates.test(code);
  return name === 'TypeError' || name === 'RangeError'; // of the code that makes a row of it; by name, as it comes from a peer
}
