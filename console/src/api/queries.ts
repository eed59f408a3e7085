import { queryOptions } from '@tanstack/react-query';
import { call } from './client.ts';
import type { Key, Member, Workspace } from './types.ts';

/** Rows that are read at most of a list which fills a menu or a table. */
const MAX_ROWS = 5_000;

interface Page<Row> {
  data: Row[];
  total_count?: number;
}

/** Reads all pages of a list with offsets. */
async function readAll<Row>(read: (offset: number) => Promise<Page<Row>>): Promise<Row[]> {
  const rows: Row[] = [];
  while (rows.length < MAX_ROWS) {
    const { data, total_count } = await read(rows.length);
    rows.push(...data);
    if (data.length === 0 || rows.length >= (total_count ?? Number.POSITIVE_INFINITY)) break;
  }
  return rows;
}

export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: ({ signal }): Promise<Key[]> =>
    readAll((offset) => call('get', '/api/v1/keys', { query: { offset, include_disabled: 'true' }, signal })),
});

export const workspacesQuery = queryOptions({
  queryKey: ['workspaces'],
  queryFn: ({ signal }): Promise<Workspace[]> =>
    readAll((offset) => call('get', '/api/v1/workspaces', { query: { offset, limit: 100 }, signal })),
});

export const membersQuery = queryOptions({
  queryKey: ['members'],
  queryFn: ({ signal }): Promise<Member[]> =>
    readAll((offset) => call('get', '/api/v1/members', { query: { offset, limit: 100 }, signal })),
});

export const modelsQuery = queryOptions({
  queryKey: ['models'],
  staleTime: 300_000,
  queryFn: ({ signal }) => call('get', '/api/v1/models', { signal }),
});

export const providersQuery = queryOptions({
  queryKey: ['providers'],
  staleTime: 300_000,
  queryFn: ({ signal }) => call('get', '/api/v1/providers', { signal }),
});
