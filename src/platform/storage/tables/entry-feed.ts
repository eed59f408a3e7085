import { PostgresAdapter, type SqlBool, sql } from 'kysely';
import type { NewEntries, NewEntriesQuery } from '../ports/entries.ts';
import type { Database } from './database.ts';
import { matchEntries } from './entry-filters.ts';
import { readInOrder } from './entry-pages.ts';

/** Maximum rows that one read visits. */
const MAX_VISITED = 1000;

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
    isAfter: (place: string, id: string) =>
      sql<SqlBool>`ledger.rowid > coalesce((select last.rowid from ledger as last where last.id = ${id}), ${BigInt(place)})`,
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
    order: sql`ledger.added_in, ledger.id`,
    end: sql<{ place: string; id: string }>`select pg_snapshot_xmin(pg_current_snapshot())::text as place, '' as id`,
  },
};

const feedOf = (db: Database) => feeds[db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'];

/** Returns a position before all entries that are recorded later. */
export async function readFeedEnd(db: Database): Promise<string> {
  const { rows } = await feedOf(db).end.execute(db);
  return writePosition(rows[0] ?? { place: '0', id: '' });
}

const writePosition = ({ place, id }: { place: string; id: string }): string => `${place}:${id}`;

/** Reads entries in the order in which they were recorded. */
export async function readNewEntries(db: Database, { filters, after, limit }: NewEntriesQuery): Promise<NewEntries> {
  const feed = feedOf(db);
  const end = after.indexOf(':');
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
    .where(feed.isAfter(after.slice(0, end), after.slice(end + 1)))
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
