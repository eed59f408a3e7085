import type { ColumnType } from 'kysely';

/** A 64-bit integer. Both drivers read it as `bigint`, because SQLite's driver otherwise throws above 2^53. */
export type Integer = ColumnType<bigint, number | bigint, number | bigint>;
export type NullableInteger = ColumnType<bigint | null, number | bigint | null, number | bigint | null>;

/** Writes a flag as 0 or 1 for both dialects, because `node:sqlite` binds no booleans. */
export const writeFlag = (flag: boolean): number => (flag ? 1 : 0);
export const readFlag = (flag: bigint): boolean => flag !== 0n;

/** Reads a count or a time that a `number` represents exactly. */
export const readNumber = (value: bigint): number => Number(value);
export const readNullableNumber = (value: bigint | null): number | null => (value === null ? null : Number(value));

/**
 * Returns text that both dialects can store. PostgreSQL rejects NUL, and one such entry would block its batch forever.
 * Half a surrogate pair has no UTF-8. Both become U+FFFD.
 */
export function writeTextColumn(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\ufffd') : whole;
}
export const writeNullableText = (text: string | null): string | null => (text === null ? null : writeTextColumn(text));
