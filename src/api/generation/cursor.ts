import { hash } from 'node:crypto';
import type { EntryFilters } from '../../platform/storage/ports/entries.ts';
import type { QueryReader } from '../management/read-query.ts';

/** The query of a list, without what its pages may differ in. */
export interface CursorQuery extends EntryFilters {
  /** Name of the list. */
  list: 'generations' | 'live';
  order?: string | undefined;
  isAscending?: boolean | undefined;
}

/** Characters of a hash that tells queries apart. */
const HASH_LENGTH = 12;
const cursorShape = /^[\w-]{12,400}$/;

/** Writes the place in a list as a text that works only for the same query. */
export const writeCursor = (query: CursorQuery, position: string): string =>
  hashQuery(query) + Buffer.from(position).toString('base64url');

/**
 * Reads a cursor.
 *
 * @param shape of the position
 * @returns undefined if there is none, or it is rejected
 */
export function readCursor(
  reader: Pick<QueryReader, 'refuse'>,
  query: CursorQuery,
  { name, text, shape }: { name: string; text: string | undefined; shape: RegExp },
): string | undefined {
  if (text === undefined) return undefined;
  const position = cursorShape.test(text) ? Buffer.from(text.slice(HASH_LENGTH), 'base64url').toString() : '';
  if (shape.test(position) && text === writeCursor(query, position)) return position;
  reader.refuse(name, text, 'a cursor of this list and these parameters; start without one');
  return undefined;
}

function hashQuery(query: CursorQuery): string {
  const parts = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = JSON.stringify(
    parts.sort(([a], [b]) => (a < b ? -1 : 1)),
    (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
  );
  return hash('sha256', text, 'base64url').slice(0, HASH_LENGTH);
}
