import { readResultCode } from './sqlite/result-codes.ts';

/**
 * SQLite codes for data: constraint, mismatch, range, and too long.
 *
 * @see https://sqlite.org/rescode.html
 */
const sqliteCodes = new Set([18, 19, 20, 25]);
/** Error codes of the driver for a value that it cannot bind. */
const bindingCodes = new Set(['ERR_INVALID_ARG_VALUE', 'ERR_INVALID_ARG_TYPE', 'ERR_OUT_OF_RANGE']);
/**
 * Data exceptions, integrity, limits of the program.
 *
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const sqlStates = /^(?:22|23|54)[0-9A-Z]{3}$/;

/**
 * Whether a write was rejected because of its data, such as a number out of range or a missing value, so that a retry
 * never succeeds. All other errors are temporary: the store is unreachable, locked or full, or has another schema.
 */
export function isRefusedData(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, name } = error as Error & { code?: unknown };
  const result = readResultCode(error);
  if (result !== undefined) return sqliteCodes.has(result);
  if (typeof code === 'string') return bindingCodes.has(code) || sqlStates.test(code);
  // The code that creates the row throws these. Names are compared, because the error may come from another process.
  return name === 'TypeError' || name === 'RangeError';
}
