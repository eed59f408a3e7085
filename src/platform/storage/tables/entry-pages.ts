import { type Expression, type SqlBool, sql } from 'kysely';
import { timedPrefix } from '../../../domain/ids.ts';
import {
  type EntryCount,
  type EntryFilters,
  type EntryPage,
  type EntryPageQuery,
  MAX_ORDERED,
} from '../ports/entries.ts';
import { readNumber } from './columns.ts';
import type { Database } from './database.ts';
import { costOfEntry, matchEntries } from './entry-filters.ts';
import { readEntries } from './ledger.ts';
import { type IdRange, type LedgerSlice, walkRange } from './slices.ts';

/** Maximum slices that one page reads. Otherwise a filter with few matches would read the whole ledger. */
const MAX_SLICES = 4;
/** Maximum slices that a count reads. */
const MAX_COUNTED_SLICES = 20;

/** Maximum time from the arrival of a request, which its id has, to the time of its entry: the end of its body. */
const BODY_MS = 3_600_000;
/** Maximum step of a clock that is set back. */
const CLOCK_STEP_MS = 60_000;

/** Returns the ids that entries of a time range can have. */
function findIdRange({ fromMs = 0, toMs }: EntryFilters): IdRange {
  return {
    ...(fromMs > BODY_MS && { from: timedPrefix('gen-', fromMs - BODY_MS) }),
    ...(toMs !== undefined && { before: timedPrefix('gen-', toMs + CLOCK_STEP_MS) }),
  };
}

/** Reads a page of entries with their corrections. */
export function listEntryPage(db: Database, query: EntryPageQuery): Promise<EntryPage> {
  const { order = 'time' } = query;
  return order === 'time' ? listByTime(db, query) : listByValue(db, query, order);
}

/** Lists in the order of the ids, which is that of the time. */
async function listByTime(db: Database, query: EntryPageQuery): Promise<EntryPage> {
  const { after, limit, isAscending = false } = query;
  const range = findIdRange(query);
  if (after !== undefined && isAscending) range.after = after;
  else if (after !== undefined && (range.before === undefined || after < range.before)) range.before = after;
  const ids: string[] = [];
  let slices = 0;
  let next: string | undefined;
  await walkRange(db, { ...range, isAscending }, async (slice, nextSlice) => {
    const found = await slice
      .select('id')
      .where(matchEntries(query, await hasCorrections(slice, query)))
      .orderBy('id', isAscending ? 'asc' : 'desc')
      .limit(limit + 1 - ids.length)
      .execute();
    for (const { id } of found) ids.push(id);
    slices++;
    const hasMore = ids.length > limit;
    next = hasMore ? ids[limit - 1] : nextSlice;
    return !hasMore && slices < MAX_SLICES;
  });
  return { entries: await readInOrder(db, ids.slice(0, limit)), next };
}

/** Whether a slice has corrections, if the cost of entries matters. Nearly no slice has any. */
async function hasCorrections(
  slice: LedgerSlice,
  { order, minCostNanoUsd, maxCostNanoUsd }: Omit<EntryPageQuery, 'limit'>,
) {
  if (order !== 'cost' && minCostNanoUsd === undefined && maxCostNanoUsd === undefined) return false;
  const found = await slice.select('id').where('corrects', 'is not', null).limit(1).executeTakeFirst();
  return found !== undefined;
}

interface OrderedId {
  id: string;
  value: bigint;
}

/** Keeps the first entries of each slice. Reads the whole time range, because no index has its order. */
async function listByValue(db: Database, query: EntryPageQuery, order: 'cost' | 'duration'): Promise<EntryPage> {
  const { after, limit, isAscending = false } = query;
  const range = findIdRange(query);
  if (await hasMoreThan(db, range, MAX_ORDERED)) return { entries: [], next: undefined, isTooLarge: true };
  const direction = isAscending ? 'asc' : 'desc';
  let first: OrderedId[] = [];
  const last = after === undefined ? undefined : readPosition(after);
  await walkRange(db, range, async (slice) => {
    const isCorrected = await hasCorrections(slice, query);
    const value = order === 'cost' ? costOfEntry(isCorrected) : sql<bigint>`ledger.duration_ms`;
    let asked = slice.select(['id', sql<bigint>`${value}`.as('value')]).where(matchEntries(query, isCorrected));
    if (last) asked = asked.where(isAfter(value, last, isAscending));
    const found = await asked
      .orderBy(sql`value`, direction)
      .orderBy('id', direction)
      .limit(limit + 1)
      .execute();
    first = [...first, ...found].sort(isAscending ? compare : (a, b) => compare(b, a)).slice(0, limit + 1);
  });
  const page = first.slice(0, limit);
  const next = first.length > limit ? page.at(-1) : undefined;
  return {
    entries: await readInOrder(
      db,
      page.map(({ id }) => id),
    ),
    next: next && `${next.value}:${next.id}`,
  };
}

const compare = (a: OrderedId, b: OrderedId): number => {
  if (a.value !== b.value) return a.value < b.value ? -1 : 1;
  return a.id < b.id ? -1 : 1;
};

function readPosition(text: string): OrderedId {
  const end = text.indexOf(':');
  return { value: BigInt(text.slice(0, end)), id: text.slice(end + 1) };
}

const isAfter = (value: Expression<bigint>, last: OrderedId, isAscending: boolean) => {
  const further = sql.raw(isAscending ? '>' : '<');
  return sql<SqlBool>`(${value} ${further} ${last.value} or (${value} = ${last.value} and ledger.id ${further} ${last.id}))`;
};

/** Whether a range of ids has more rows. */
async function hasMoreThan(db: Database, { from, before }: IdRange, rows: number): Promise<boolean> {
  let asked = db.selectFrom('ledger').select('id').orderBy('id').limit(1).offset(rows);
  if (from !== undefined) asked = asked.where('id', '>=', from);
  if (before !== undefined) asked = asked.where('id', '<', before);
  return (await asked.executeTakeFirst()) !== undefined;
}

/** Counts matching entries in the newest slices. */
export async function countEntries(db: Database, filters: EntryFilters): Promise<EntryCount> {
  let count = 0;
  let slices = 0;
  let isExact = true;
  await walkRange(db, findIdRange(filters), async (slice, next) => {
    const found = await slice
      .select(({ fn }) => fn.countAll<bigint>().as('count'))
      .where(matchEntries(filters, await hasCorrections(slice, filters)))
      .executeTakeFirstOrThrow();
    count += readNumber(found.count);
    isExact = next === undefined;
    return ++slices < MAX_COUNTED_SLICES;
  });
  return { count, isExact };
}

/** Reads entries in the order of the ids. */
export async function readInOrder(db: Database, ids: readonly string[]) {
  const entries = new Map((await readEntries(db, ids)).map((entry) => [entry.id, entry]));
  return ids.flatMap((id) => entries.get(id) ?? []); // one may be deleted in between
}
