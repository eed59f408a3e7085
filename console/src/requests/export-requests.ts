import { call } from '../api/client.ts';
import type { Generation, GenerationsQuery } from '../api/types.ts';
import { csvRow } from '../logic/csv.ts';
import type { Column } from './columns.tsx';
import { listQuery, type RequestSearch } from './filters.ts';
import type { Names } from './use-names.ts';

/** Requests of one file. Larger sets come from the API, page by page. */
export const MAX_EXPORTED = 10_000;

export interface Export {
  search: RequestSearch;
  format: 'csv' | 'jsonl';
  columns: readonly Column[];
  names: Names;
  signal: AbortSignal;
  onProgress: (count: number) => void;
}

/** Reads what the filters match, and saves it as a file. @returns the number of requests, and whether there are more */
export async function exportRequests(options: Export): Promise<{ count: number; isCut: boolean }> {
  const { search, format, columns, names, signal, onProgress } = options;
  const query = listQuery(search) as GenerationsQuery;
  const write = (entry: Generation) =>
    format === 'jsonl' ? `${JSON.stringify(entry)}\n` : csvRow(columns.map(({ value }) => value(entry, names)));
  const parts = format === 'csv' ? [csvRow(columns.map(({ label }) => label))] : [];
  let count = 0;
  let cursor: string | null | undefined;
  do {
    const page = await call('get', '/api/v1/generations', {
      query: { ...query, limit: 100, ...(cursor ? { cursor } : {}) },
      signal,
    });
    parts.push(page.data.map(write).join(''));
    count += page.data.length;
    cursor = page.next_cursor;
    onProgress(count);
  } while (cursor !== null && count < MAX_EXPORTED);
  const type = format === 'csv' ? 'text/csv;charset=utf-8' : 'application/jsonl';
  saveFile(
    new Blob(parts, { type }),
    `requests-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.${format}`,
  );
  return { count, isCut: cursor !== null };
}

/** Lets the browser save a file. */
export function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
