import { parseExactly, readExactInteger, writeExactInteger } from '../../domain/exact-numbers.ts';
import { type ArchiveRow, archiveColumns, type RowType, type RowValue } from '../../platform/storage/ports/archives.ts';

/*
 * A row of the ledger as a line of JSON. Integers have all their digits, times are ISO 8601 in UTC, and absent values are
 * null. A reader that turns numbers into doubles is exact up to 2^53.
 */

const types: Readonly<Record<string, RowType | undefined>> = archiveColumns;

/** Returns the type of a column of rows and lines, without the question mark. */
export const typeOfColumn = (column: string): 'text' | 'integer' | 'time' | 'flag' | 'json' | undefined =>
  types[column]?.replace('?', '') as ReturnType<typeof typeOfColumn>;

/** Returns the name of a column in files. */
export const nameColumn = (column: string): string =>
  typeOfColumn(column) === 'time' ? column.replace(/_ms$/, '') : column;

/** Writes a row as a line. */
export const writeRowLine = ({ values, lines }: ArchiveRow): string =>
  `${JSON.stringify({ ...writeValues(values), lines: serializeLines(lines) })}\n`;

/** Returns a value that `JSON.stringify` writes. Null: the entry has no lines. */
export const serializeLines = (lines: ArchiveRow['lines']): object[] | null =>
  lines.length === 0 ? null : lines.map(writeValues);

const writeValues = (values: Record<string, RowValue>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).map(([column, value]) => [nameColumn(column), writeValue(column, value)]));

function writeValue(column: string, value: RowValue): unknown {
  const type = typeOfColumn(column);
  if (typeof value === 'bigint') {
    if (type === 'time') return new Date(Number(value)).toISOString();
    return type === 'flag' ? value !== 0n : writeExactInteger(value);
  }
  return type === 'json' && value !== null ? parseText(value) : value;
}

/** Parses a text of the store. One that is no JSON stays a text. */
function parseText(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}

/** Reads a line from `writeRowLine`. @throws {SyntaxError} if it is not JSON */
export function readRowLine(line: string): ArchiveRow {
  const { lines, ...values } = parseExactly(line) as Record<string, unknown> & {
    lines: Record<string, unknown>[] | null;
  };
  return {
    values: Object.fromEntries(
      Object.keys(archiveColumns).map((column) => [column, readValue(column, values[nameColumn(column)] ?? null)]),
    ),
    lines: (lines ?? []).map((each) =>
      Object.fromEntries(Object.entries(each).map(([column, value]) => [column, readValue(column, value)])),
    ),
  };
}

function readValue(column: string, value: unknown): RowValue {
  if (value === null) return null;
  const type = typeOfColumn(column);
  if (type === 'time') return BigInt(Date.parse(value as string));
  if (type === 'flag') return value === true ? 1n : 0n;
  if (type === 'json') return typeof value === 'string' ? value : JSON.stringify(value);
  return typeof value === 'string' ? value : readExactInteger(value);
}
