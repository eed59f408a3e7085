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
  visit: (slice: ReturnType<typeof openSlice>, next: string | undefined) => Promise<unknown>,
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

function openSlice(db: Database, { from, before }: { from?: string | undefined; before: string | undefined }) {
  let slice = db.selectFrom('ledger');
  if (from !== undefined) slice = slice.where('id', '>=', from);
  if (before !== undefined) slice = slice.where('id', '<', before);
  return slice;
}
