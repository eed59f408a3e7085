import type { Generation } from '../api/types.ts';

type Row = Pick<Generation, 'id' | 'created_at'>;

/** Rows that the list shows, and new ones that wait until the reader wants them. Both have the newest first. */
export interface LiveRows<R extends Row = Generation> {
  shown: readonly R[];
  waiting: readonly R[];
}

export const noRows: LiveRows<never> = { shown: [], waiting: [] };

/** Rows that are kept without being shown. The list is read again if more arrive. */
export const MAX_WAITING = 1000;

/** Earlier requests that the feed repeats at its begin, so that none falls between it and the first page. */
export const REPEATED = 100;

/**
 * Finds out whether requests are missing between the pages that were read and the feed, because the pages are older than what
 * the feed repeats.
 *
 * @param listed ids of the rows that were read
 * @returns a function that takes the ids that arrive, and returns true once if there is a gap
 */
export function createGapCheck(listed: readonly string[]): (arrived: readonly string[]) => boolean {
  const known = new Set(listed);
  let isOpen = known.size > 0;
  let count = 0;
  return (arrived) => {
    if (!isOpen) return false;
    count += arrived.length;
    if (arrived.some((id) => known.has(id))) isOpen = false;
    else if (count >= REPEATED) {
      isOpen = false;
      return true;
    }
    return false;
  };
}

/** Orders as the gateway does: the newest first. */
const compare = (a: Row, b: Row): number =>
  a.created_at === b.created_at ? (a.id < b.id ? 1 : -1) : a.created_at < b.created_at ? 1 : -1;

/**
 * Adds rows of the feed. A row that is already in the list changes nothing, so that the feed may repeat some.
 *
 * @param listed ids of the rows of the pages that were read
 * @param isOpen whether the reader is at the top, so that rows may appear at once
 * @param since rows before this time are not in the list
 */
export function addArrivals<R extends Row>(
  rows: LiveRows<R>,
  arrived: readonly R[],
  { listed, isOpen, since = '' }: { listed: ReadonlySet<string>; isOpen: boolean; since?: string | undefined },
): LiveRows<R> {
  const known = new Set([...rows.shown, ...rows.waiting].map(({ id }) => id));
  const added = arrived.filter(({ id, created_at }) => {
    if (known.has(id) || listed.has(id) || created_at < since) return false;
    known.add(id);
    return true;
  });
  if (added.length === 0) return rows;
  const waiting = [...added, ...rows.waiting].sort(compare);
  if (isOpen) return reveal({ ...rows, waiting });
  return { ...rows, waiting: waiting.slice(0, MAX_WAITING) };
}

/** Shows the rows that wait. */
export function reveal<R extends Row>({ shown, waiting }: LiveRows<R>): LiveRows<R> {
  return waiting.length === 0 ? { shown, waiting } : { shown: [...waiting, ...shown].sort(compare), waiting: [] };
}

/**
 * Merges the rows of the feed into the pages.
 *
 * @param hasMore whether there are further pages. A row that belongs to them appears when its page is read
 */
export function mergeRows<R extends Row>(live: readonly R[], pages: readonly R[], hasMore: boolean): readonly R[] {
  const listed = new Set(pages.map(({ id }) => id));
  const last = pages.at(-1);
  const added = live.filter((row) => !listed.has(row.id) && !(hasMore && last !== undefined && compare(row, last) > 0));
  return added.length === 0 ? pages : [...added, ...pages].sort(compare);
}
