import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { PostgresAdapter, sql } from 'kysely';
import type { LedgerLine } from '../../../domain/ledger-entry.ts';
import type { SpendingScope, SpendingSums } from '../ports/spending.ts';
import { writeFlag, writeTextColumn } from './columns.ts';
import type { Database, SpendingTable } from './database.ts';
import { DAY_SLOTS, rollupLevels } from './rollups.ts';

const DAY_MS = 86_400_000;
const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);

/** The columns of a recorded entry that make up its spending. */
export interface RecordedCost {
  workspace_id: string;
  key_hash: string;
  member_id: string | null;
  created_at_ms: number | bigint;
  cost_nano_usd: bigint;
  is_byok: number | bigint;
}

/** Sums the spending of a batch, so that each row of the table is written once. */
export function createSpendingSum() {
  const rows = new Map<
    string,
    { [Column in keyof SpendingTable]: SpendingTable[Column] extends string ? string : bigint }
  >();
  return {
    /** @param lines the parts of the cost, if there are several; each may have another provider key */
    add(booked: RecordedCost, lines?: readonly LedgerLine[]): void {
      if (lines) {
        for (const { costNanoUsd, isByok } of lines) {
          this.add({ ...booked, cost_nano_usd: costNanoUsd, is_byok: writeFlag(isByok) });
        }
        return;
      }
      const { workspace_id, key_hash, member_id, created_at_ms, cost_nano_usd, is_byok } = booked;
      if (cost_nano_usd === 0n) return;
      const day = dayOf(Number(created_at_ms));
      const name = `${key_hash}\0${day}\0${workspace_id}\0${member_id}`;
      let row = rows.get(name);
      if (!row) {
        const none = { cost_nano_usd: 0n, byok_nano_usd: 0n };
        row = { key_hash, day: BigInt(day), workspace_id, member_id: member_id ?? '', ...none };
        rows.set(name, row);
      }
      row[Number(is_byok) === 0 ? 'cost_nano_usd' : 'byok_nano_usd'] += cost_nano_usd;
    },
    /** Returns rows in a fixed order, so that two hosts cannot deadlock. */
    rows: () => [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row),
  };
}

/** Raises the sums. */
export async function addSpending(trx: Database, rows: ReturnType<ReturnType<typeof createSpendingSum>['rows']>) {
  for (let start = 0; start < rows.length; start += 1000) {
    await trx
      .insertInto('spending')
      .values(rows.slice(start, start + 1000))
      .onConflict((oc) =>
        oc.columns(['key_hash', 'day', 'workspace_id', 'member_id']).doUpdateSet((eb) => ({
          cost_nano_usd: eb('spending.cost_nano_usd', '+', eb.ref('excluded.cost_nano_usd')),
          byok_nano_usd: eb('spending.byok_nano_usd', '+', eb.ref('excluded.byok_nano_usd')),
        })),
      )
      .execute();
  }
}

/** Ids per statement. The embedded store runs on the main thread, and each id may have a row for every day of years. */
const idsPerQuery = 500;

/**
 * Reads the spending of each scope.
 *
 * @param reports reads the sums of tags, which are those of reports
 * @param sinceMs at least one; counts from the midnight (UTC) of its day; must not be within days that
 * `foldSpendingRows` has rolled up
 * @returns in the order of the scopes
 */
export async function readSpending(
  db: Database,
  reports: Database,
  scopes: readonly SpendingScope[],
  sinceMs: readonly number[],
): Promise<SpendingSums[]> {
  const days = sinceMs.map((ms) => BigInt(dayOf(ms)));
  const sums = days.flatMap((day, index) => [
    sumSince(day, 'cost_nano_usd').as(`cost${index}`),
    sumSince(day, 'byok_nano_usd').as(`byok${index}`),
  ]);
  const earliest = days.reduce((min, day) => (day < min ? day : min));
  const found = new Map<string, SpendingSums>();
  const note = (kind: Kind, id: string, row: object): void => {
    const read = (part: 'cost' | 'byok') => days.map((_, index) => (row as Record<string, bigint>)[`${part}${index}`]!);
    found.set(`${kind} ${id}`, { costNanoUsd: read('cost'), byokNanoUsd: read('byok') });
  };
  for (const [kind, ids] of groupByKind(scopes)) {
    const those = db.selectFrom('spending').where('day', '>=', earliest);
    if (kind === 'everything') {
      note(kind, '', await those.select(sums).executeTakeFirstOrThrow());
      continue;
    }
    for (let start = 0; start < ids.length; start += idsPerQuery) {
      if (start > 0) await nextTurn();
      const wanted = ids.slice(start, start + idsPerQuery).map(writeTextColumn);
      if (kind === 'tag') {
        for (const row of await readTags(reports, wanted, days)) note(kind, row.id, row);
        continue;
      }
      const query = those.select(`${kind} as id`).select(sums).where(kind, 'in', wanted).groupBy(kind);
      for (const row of await query.execute()) note(kind, row.id, row);
    }
  }
  const nothing: SpendingSums = { costNanoUsd: days.map(() => 0n), byokNanoUsd: days.map(() => 0n) };
  return scopes.map((scope) => {
    const [kind, id] = columnOf(scope);
    return found.get(`${kind} ${writeTextColumn(id)}`) ?? nothing;
  });
}

/** The sums of days that have the tag. */
const tagLevel = rollupLevels.findIndex(
  ({ dimensions, slots }) => slots === DAY_SLOTS && dimensions.includes('tag') && !dimensions.includes('model'),
);

/** Reads the spending of tags since several days. */
async function readTags(db: Database, tags: readonly string[], days: readonly bigint[]): Promise<{ id: string }[]> {
  const since = (day: bigint, part: 'cost_nano_usd' | 'byok_nano_usd') =>
    sql`cast(coalesce(sum(case when slot >= ${day * BigInt(DAY_SLOTS)} then ${sql.ref(part)} else 0 end), 0) as bigint)`;
  const sums = days.flatMap((day, index) => [
    sql`${since(day, 'cost_nano_usd')} as ${sql.ref(`cost${index}`)}`,
    sql`${since(day, 'byok_nano_usd')} as ${sql.ref(`byok${index}`)}`,
  ]);
  const earliest = days.reduce((min, day) => (day < min ? day : min)) * BigInt(DAY_SLOTS);
  // The condition on the empty text shows that the partial index has the rows.
  const { rows } = await sql<{ id: string }>`
    select tag as id, ${sql.join(sums)} from rollups
    where level = ${sql.lit(tagLevel)} and tag in (${sql.join(tags)}) and tag <> '' and slot >= ${earliest}
    group by tag`.execute(db);
  return rows;
}

/** Rows per transaction, plus the rest of the last key. The embedded store needs some milliseconds for them. */
const rowsPerFold = 100;
/** Bounds the time that writers of the ledger wait for the table. */
const LOCK_MS = 100;
/** PostgreSQL's own maintenance holds the table for a few seconds. */
const MAX_LOCK_ATTEMPTS = 50;
/** PostgreSQL's code of a lock that took too long. */
const LOCK_TIMEOUT = '55P03';

/**
 * Rolls up days that no window needs separately. Moves each day before the last of these times to the latest of them
 * that is not after it. Sums since any of them, and since any later day, stay the same. The next call moves entries and
 * corrections of those days that are recorded afterwards.
 *
 * A clock that is far ahead must not roll up days that are still open. Therefore nothing is rolled up until entries
 * exist on two days that are not before the last of the times.
 *
 * @param startsMs Unix milliseconds of midnights (UTC), the earliest first
 * @returns the number of deleted rows
 */
export async function foldSpendingRows(db: Database, startsMs: readonly number[]): Promise<number> {
  const starts = startsMs.map((ms) => BigInt(dayOf(ms)));
  const end = starts.at(-1)!;
  const since = await db.selectFrom('spending').select('day').distinct().where('day', '>=', end).limit(2).execute();
  if (since.length < 2) return 0;
  let gone = 0;
  for (let from: string | undefined = ''; from !== undefined; await nextTurn()) {
    const found = await db
      .selectFrom('spending')
      .select('key_hash')
      .where('day', '<', end)
      .where('day', 'not in', starts)
      .where('key_hash', '>=', from)
      .orderBy('key_hash')
      .limit(rowsPerFold)
      .execute();
    const keys = [...new Set(found.map(({ key_hash }) => key_hash))];
    if (keys.length > 0) gone += await withLock(() => foldKeys(db, keys, starts));
    from = found.length < rowsPerFold ? undefined : keys.at(-1);
  }
  return gone;
}

/** Tries again while another transaction holds the table, so that writers can go before it. */
async function withLock(fold: () => Promise<number>): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await fold();
    } catch (error) {
      if ((error as { code?: unknown }).code !== LOCK_TIMEOUT || attempt === MAX_LOCK_ATTEMPTS) throw error;
      await delay(LOCK_MS);
    }
  }
}

function foldKeys(db: Database, keys: readonly string[], starts: readonly bigint[]): Promise<number> {
  return db.transaction().execute(async (trx) => {
    if (trx.getExecutor().adapter instanceof PostgresAdapter) {
      // Writers of many days of one key lock its rows in another order, which could cause a deadlock.
      await sql`set local lock_timeout = ${sql.lit(LOCK_MS)}`.execute(trx);
      await sql`lock table spending in share row exclusive mode`.execute(trx);
    }
    const rows = await trx
      .deleteFrom('spending')
      .where('key_hash', 'in', keys)
      .where('day', '<', starts.at(-1)!)
      .where('day', 'not in', starts)
      .returningAll()
      .execute();
    const spent = createSpendingSum();
    for (const row of rows) {
      const day = starts.findLast((start) => start <= row.day)!; // the first is 0
      const booked = { ...row, created_at_ms: Number(day) * DAY_MS };
      spent.add({ ...booked, is_byok: 0n });
      spent.add({ ...booked, is_byok: 1n, cost_nano_usd: row.byok_nano_usd });
    }
    await addSpending(trx, spent.rows());
    return rows.length;
  });
}

// PostgreSQL adds bigints up to a numeric. Both dialects cast back to 64 bits, and fail above that.
const sumSince = (day: bigint, part: 'cost_nano_usd' | 'byok_nano_usd') =>
  sql<bigint>`cast(coalesce(sum(case when day >= ${day} then ${sql.ref(part)} else 0 end), 0) as bigint)`;

type Kind = 'key_hash' | 'member_id' | 'workspace_id' | 'tag' | 'everything';

function groupByKind(scopes: readonly SpendingScope[]): [Kind, string[]][] {
  const ids = new Map<Kind, Set<string>>();
  for (const [kind, id] of scopes.map(columnOf)) {
    const known = ids.get(kind);
    if (known) known.add(id);
    else ids.set(kind, new Set([id]));
  }
  return [...ids].map(([kind, known]) => [kind, [...known]]);
}

/** Returns the column of a scope, and its value. */
function columnOf(scope: SpendingScope): [Kind, string] {
  if (scope === 'everything') return ['everything', ''];
  if ('keyHash' in scope) return ['key_hash', scope.keyHash];
  if ('tag' in scope) return ['tag', scope.tag];
  return 'memberId' in scope ? ['member_id', scope.memberId] : ['workspace_id', scope.workspaceId];
}
