import { type SqlBool, sql } from 'kysely';
import type { FoundRows, LedgerRow, NewEntries, NewEntriesQuery, RowQuery } from '../ports/entries.ts';
import { readNumber } from './columns.ts';
import type { Database } from './database.ts';
import { matchEntries } from './entry-filters.ts';
import { readInOrder } from './entry-pages.ts';
import { readLedgerRow } from './ledger.ts';
import { addLines } from './ledger-lines.ts';
import { isPostgres } from './rollups.ts';

/** Maximum rows that one read visits. */
const MAX_VISITED = 1000;

/** The number of a row in SQLite. If the row was deleted and no row has a higher number, the numbers have started over. */
const rowNumber = (place: string, id: string) =>
  sql<bigint>`coalesce((select last.rowid from ledger as last where last.id = ${id}),
    (select case when max(rowid) < ${BigInt(place)} then 0 else ${BigInt(place)} end from ledger))`;

/**
 * The order in which rows were added, in each database. A position is the place of the last row that was read, and its id.
 *
 * SQLite numbers the rows, and one process at a time adds some. The number of a row changes with a `VACUUM`, so the id
 * comes first. In PostgreSQL, a row has the number of its transaction. Transactions end in any order, so only those rows
 * are read before which nothing can appear.
 */
const feeds = {
  sqlite: {
    place: sql<string>`cast(ledger.rowid as text)`,
    isAfter: (place: string, id: string) => sql<SqlBool>`ledger.rowid > ${rowNumber(place, id)}`,
    isUntil: (place: string, id: string) => sql<SqlBool>`ledger.rowid <= ${rowNumber(place, id)}`,
    order: sql`ledger.rowid`,
    end: sql<{
      place: string;
      id: string;
    }>`select cast(rowid as text) as place, id from ledger order by rowid desc limit 1`,
  },
  postgres: {
    place: sql<string>`ledger.added_in::text`,
    isAfter: (place: string, id: string) =>
      sql<SqlBool>`ledger.added_in < pg_snapshot_xmin(pg_current_snapshot()) and (ledger.added_in, ledger.id) > (${place}::xid8, ${id})`,
    isUntil: (place: string, id: string) => sql<SqlBool>`(ledger.added_in, ledger.id) <= (${place}::xid8, ${id})`,
    order: sql`ledger.added_in, ledger.id`,
    end: sql<{ place: string; id: string }>`select pg_snapshot_xmin(pg_current_snapshot())::text as place, '' as id`,
  },
};

const feedOf = (db: Database) => feeds[isPostgres(db) ? 'postgres' : 'sqlite'];

/**
 * A condition on rows of the ledger that are before a position, and not at it: in SQLite, a position needs its row. In
 * PostgreSQL, rows that are older than the feed have no position. They count as earlier.
 */
export function isBeforePosition(db: Database, position: string) {
  const [place, id] = readPosition(position);
  return isPostgres(db)
    ? sql<SqlBool>`(ledger.added_in is null or (ledger.added_in, ledger.id) < (${place}::xid8, ${id}))`
    : sql<SqlBool>`ledger.rowid < ${rowNumber(place, id)}`;
}

/** Returns a position before all entries that are recorded later. */
export async function readFeedEnd(db: Database): Promise<string> {
  const { rows } = await feedOf(db).end.execute(db);
  return writePosition(rows[0] ?? { place: '0', id: '' });
}

/** Finds the next rows. The database counts them, because thousands of rows in memory would delay requests. */
export async function findFeedRows(
  db: Database,
  { after, limit }: { after: string; limit: number },
): Promise<FoundRows> {
  const feed = feedOf(db);
  const next = db.selectFrom('ledger').where(feed.isAfter(...readPosition(after)));
  const counted = await db
    .selectFrom(next.select('id').orderBy(feed.order).limit(limit).as('found'))
    .select(({ fn }) => fn.countAll<bigint>().as('count'))
    .executeTakeFirstOrThrow();
  const count = readNumber(counted.count);
  const rows = next
    .select(['id', 'created_at_ms', feed.place.as('place')])
    .orderBy(feed.order)
    .limit(1);
  const first = count === 0 ? undefined : await rows.executeTakeFirst();
  const last = count <= 1 ? first : await rows.offset(count - 1).executeTakeFirst();
  if (!first || !last) return { position: after, count: 0, firstAtMs: undefined }; // or they were deleted meanwhile
  return { position: writePosition(last), count, firstAtMs: readNumber(first.created_at_ms) };
}

/** Reads the rows between two places. */
export async function readFeedRows(db: Database, { after, until, limit }: RowQuery): Promise<LedgerRow[]> {
  const feed = feedOf(db);
  const rows = await db
    .selectFrom('ledger')
    .selectAll()
    .select(feed.place.as('place'))
    .where(feed.isAfter(...readPosition(after)))
    .where(feed.isUntil(...readPosition(until)))
    .orderBy(feed.order)
    .limit(limit)
    .execute();
  const read = rows.map((row) => ({ ...readLedgerRow(row), position: writePosition(row) }));
  await addLines(
    db,
    read.flatMap(({ entry, correction }) => (correction ? [] : [entry])),
  );
  return read;
}

const writePosition = ({ place, id }: { place: string; id: string }): string => `${place}:${id}`;

function readPosition(position: string): [place: string, id: string] {
  const end = position.indexOf(':');
  return [position.slice(0, end), position.slice(end + 1)];
}

/** Reads entries in the order in which they were recorded. */
export async function readNewEntries(db: Database, { filters, after, limit }: NewEntriesQuery): Promise<NewEntries> {
  const feed = feedOf(db);
  const rows = await db
    .selectFrom('ledger')
    .select((row) => [
      'id',
      feed.place.as('place'),
      row
        .case()
        .when(matchEntries(filters)(row))
        .then(sql<bigint>`cast(1 as bigint)`)
        .else(sql<bigint>`cast(0 as bigint)`)
        .end()
        .as('matches'),
    ])
    .where(feed.isAfter(...readPosition(after)))
    .orderBy(feed.order)
    .limit(MAX_VISITED)
    .execute();
  const positions = new Map<string, string>();
  let visited = 0;
  for (; visited < rows.length && positions.size < limit; visited++) {
    const row = rows[visited]!;
    if (row.matches === 1n) positions.set(row.id, writePosition(row));
  }
  const last = rows[visited - 1];
  const entries = await readInOrder(db, [...positions.keys()]);
  return {
    entries: entries.map((entry) => ({ entry, position: positions.get(entry.id)! })),
    position: last ? writePosition(last) : after,
    isAtEnd: visited === rows.length && rows.length < MAX_VISITED,
  };
}
