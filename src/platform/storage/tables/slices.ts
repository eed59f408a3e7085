import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from './database.ts';

/** The embedded store works on our thread: this many take it about two milliseconds, and requests pass before the next. */
const rowsPerSlice = 2000;
/** An id is made when the request arrives, its entry's time is when the body is there: they differ by less than this. */
const skewMs = 3_600_000n;

/**
 * Walks the ledger slice by slice, the newest first, until all later entries are older than a time. Ids sort by time; an
 * index by time would cost every insert more than it saves here.
 *
 * @param visit gets a query over the slice, which may hold entries from before `sinceMs`, too
 */
export async function walkSlices(
  db: Database,
  sinceMs: bigint,
  visit: (slice: ReturnType<typeof openSlice>) => Promise<void>,
): Promise<void> {
  for (let before: string | undefined; ; ) {
    const start = await openSlice(db, { before })
      .select(['id', 'created_at_ms'])
      .orderBy('id', 'desc')
      .limit(1)
      .offset(rowsPerSlice - 1)
      .executeTakeFirst();
    await visit(openSlice(db, { from: start?.id, before }));
    if (!start || start.created_at_ms < sinceMs - skewMs) return;
    before = start.id;
    await nextTurn();
  }
}

function openSlice(db: Database, { from, before }: { from?: string | undefined; before: string | undefined }) {
  let slice = db.selectFrom('ledger');
  if (from !== undefined) slice = slice.where('id', '>=', from);
  if (before !== undefined) slice = slice.where('id', '<', before);
  return slice;
}
