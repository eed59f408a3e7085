import { setTimeout as delay } from 'node:timers/promises';
import type { RecordedEntry } from '../../domain/ledger-entry.ts';
import type { EntryFilters } from '../../platform/storage/ports/entries.ts';
import type { LedgerStore } from '../../platform/storage/ports/ledger.ts';

/** Interval at which the store is read after its last entry. */
const FOLLOW_MS = 500;
/** Maximum entries in memory. */
const MAX_BATCH = 100;

export interface FollowQuery {
  ledger: Pick<LedgerStore, 'readNew' | 'readEnd'>;
  filters: EntryFilters;
  /** The position of an earlier read. Absent: begins with the last entries. */
  after?: string | undefined;
  /** Reads the last entries, the oldest first. Not called with `after`. */
  readLast: () => Promise<readonly RecordedEntry[]>;
  /** Ends the reads. */
  signal: AbortSignal;
}

export interface FollowedEntries {
  /** Each with the position after it. */
  entries: readonly { entry: RecordedEntry; position: string }[];
  /** The position after the read. */
  position: string;
}

/**
 * Reads entries as they are recorded, by any process on any host. Reads the next ones only when these are consumed. May
 * return no entries, when only others were recorded.
 *
 * @throws the store's error; a read from the last position continues
 */
export async function* followEntries(query: FollowQuery): AsyncGenerator<FollowedEntries, void> {
  const { ledger, filters, after, readLast, signal } = query;
  let position = after ?? (await ledger.readEnd());
  // An entry can be recorded between both reads, and is then in both.
  const last = after === undefined ? await readLast() : [];
  const seen = new Set(last.map(({ id }) => id));
  yield { entries: last.map((entry) => ({ entry, position })), position };
  while (!signal.aborted) {
    const read = await ledger.readNew({ filters, after: position, limit: MAX_BATCH });
    const isMoved = read.position !== position;
    position = read.position;
    if (isMoved) yield { entries: read.entries.filter(({ entry }) => !seen.has(entry.id)), position };
    if (read.isAtEnd) await delay(FOLLOW_MS, undefined, { signal }).catch(() => {}); // the loop ends
  }
}
