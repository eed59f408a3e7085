import { type RawBuilder, sql } from 'kysely';
import type { FileField, FileFilter, PassageQuery } from '../../../domain/file-search.ts';
import { writeTextColumn } from './columns.ts';

const columns: Record<FileField, { column: RawBuilder<unknown>; isNumber: boolean }> = {
  file_id: { column: sql`files.id`, isNumber: false },
  filename: { column: sql`files.filename`, isNumber: false },
  mime_type: { column: sql`files.mime_type`, isNumber: false },
  purpose: { column: sql`coalesce(files.purpose, '')`, isNumber: false },
  bytes: { column: sql`files.bytes`, isNumber: true },
  created_at: { column: sql`files.created_at_ms / 1000`, isNumber: true },
};

/** Returns the condition for the files of a search. Undefined: all files. */
export function selectFiles({ fileIds, folders, filter }: Pick<PassageQuery, 'fileIds' | 'folders' | 'filter'>) {
  const places = [
    ...(fileIds && fileIds.length > 0 ? [sql<boolean>`files.id in (${sql.join(fileIds.map(writeTextColumn))})`] : []),
    ...(folders ?? []).map(isInFolder),
  ];
  const conditions = [...(places.length > 0 ? [join(places, 'or')] : []), ...(filter ? [writeFilter(filter)] : [])];
  return conditions.length > 0 ? join(conditions, 'and') : undefined;
}

/** Returns the condition for files whose name begins so. */
export function isInFolder(folder: string): RawBuilder<boolean> {
  const name = writeTextColumn(folder);
  return sql<boolean>`substr(files.filename, 1, ${[...name].length}) = ${name}`; // both count characters
}

const join = (conditions: readonly RawBuilder<boolean>[], word: 'and' | 'or'): RawBuilder<boolean> =>
  sql<boolean>`(${sql.join(conditions, word === 'and' ? sql` and ` : sql` or `)})`;

const signs = { eq: '=', ne: '<>', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

function writeFilter(filter: FileFilter): RawBuilder<boolean> {
  if ('filters' in filter) {
    const { filters, type } = filter;
    return filters.length === 0 ? sql<boolean>`1 = 1` : join(filters.map(writeFilter), type);
  }
  const { type, key, value } = filter;
  const { column, isNumber } = columns[key];
  const write = (each: string | number): RawBuilder<unknown> =>
    isNumber ? sql`cast(${Number(each)} as double precision)` : sql`cast(${writeTextColumn(String(each))} as text)`;
  if (typeof value === 'object') {
    const values = sql.join(value.map(write));
    if (value.length === 0) return type === 'ne' ? sql<boolean>`1 = 1` : sql<boolean>`1 = 0`;
    return type === 'ne' ? sql<boolean>`${column} not in (${values})` : sql<boolean>`${column} in (${values})`;
  }
  return sql<boolean>`${column} ${sql.raw(signs[type])} ${write(value)}`;
}
