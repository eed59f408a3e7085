import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from './database.ts';

/**
 * Entries of a slice. The embedded store runs on the main thread and needs about two milliseconds. Requests run between
 * slices.
 */
const rowsPerSlice = 2000;
/**
 * Maximum difference between the time in an id (arrival of the request) and the time of its entry (end of the body).
 */
const skewMs = 3_600_000n;

export interface SliceRange {
  /** Unix milliseconds. The walk ends when all remaining entries are older. */
  sinceMs: bigint;
  /** An id: only entries before it are visited. */
  before?: string | undefined;
}

/**
 * Reads the ledger slice by slice, the newest first. Ids sort by time. An index by time would cost every insert more
 * than it saves here.
 *
 * @param visit receives a query over the slice, which may contain entries from before `sinceMs`, and the id at which
 * the next slice ends; returns false to stop
 */
export async function walkSlices(
  db: Database,
  { sinceMs, before: end }: SliceRange,
  visit: (slice: LedgerSlice, next: string | undefined) => Promise<unknown>,
): Promise<void> {
  for (let before = end; ; ) {
    const start = await openSlice(db, { before })
      .select(['id', 'created_at_ms'])
      .orderBy('id', 'desc')
      .limit(1)
      .offset(rowsPerSlice - 1)
      .executeTakeFirst();
    const next = start && start.created_at_ms >= sinceMs - skewMs ? start.id : undefined;
    const goesOn = await visit(openSlice(db, { from: start?.id, before }), next);
    if (next === undefined || goesOn === false) return;
    before = next;
    await nextTurn();
  }
}

/** A range of ids, and the direction of a walk through it. An absent end is open. */
export interface IdRange {
  from?: string | undefined;
  /** Only later ids than this one. */
  after?: string | undefined;
  before?: string | undefined;
  isAscending?: boolean | undefined;
}

/** A query over a slice. */
export type LedgerSlice = ReturnType<typeof openSlice>;

/** Entries of a slice of `walkRange`, which does not run on the thread that serves requests. */
const ROWS_PER_LARGE_SLICE = 10_000;

/**
 * Reads a range of the ledger slice by slice, from the end or from the beginning. A slice has all corrections of its
 * entries.
 *
 * @param visit receives a query over the slice, and the id of its last entry if there are more; returns false to stop
 */
export async function walkRange(
  db: Database,
  range: IdRange,
  visit: (slice: LedgerSlice, next: string | undefined) => Promise<unknown>,
): Promise<void> {
  const { isAscending = false } = range;
  for (let rest = range; ; ) {
    const edge = await openSlice(db, rest)
      .select('id')
      .orderBy('id', isAscending ? 'asc' : 'desc')
      .limit(1)
      .offset(ROWS_PER_LARGE_SLICE - 1)
      .executeTakeFirst();
    const last = edge?.id.split('.', 1)[0]; // the entry, if it is a correction
    const end = `${last}/`; // after its corrections
    const part = isAscending ? { ...rest, before: end } : { ...rest, from: last };
    const goesOn = await visit(openSlice(db, last === undefined ? rest : part), last);
    if (last === undefined || goesOn === false) return;
    rest = isAscending ? { ...rest, from: end, after: undefined } : { ...rest, before: last };
    await nextTurn();
  }
}

function openSlice(db: Database, { from, after, before }: IdRange) {
  let slice = db.selectFrom('ledger');
  if (from !== undefined) slice = slice.where('id', '>=', from);
  if (after !== undefined) slice = slice.where('id', '>', after);
  if (before !== undefined) slice = slice.where('id', '<', before);
  return slice;
}
