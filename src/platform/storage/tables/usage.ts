import { sql } from 'kysely';
import { SLOT_MS, type UsageDimension, type UsageQuery, type UsageRow, usageDimensions } from '../ports/usage.ts';
import { readNumber, writeTextColumn } from './columns.ts';
import type { Database } from './database.ts';
import type { RollupQueue } from './rollup-queue.ts';
import {
  type CountColumn,
  countWrongRollups,
  findRollupLevels,
  DAY_SLOTS,
  type dimensionColumns,
  durationColumns,
  firstOutputColumns,
  isPostgres,
  plainCounts,
  rollupLevels,
  writeRollups,
} from './rollups.ts';

const DAY_MS = DAY_SLOTS * SLOT_MS;

const columnOf = {
  workspace: 'workspace_id',
  model: 'model',
  provider: 'provider',
  key: 'key_hash',
  member: 'member_id',
  tag: 'tag',
} as const satisfies Record<UsageDimension, (typeof dimensionColumns)[number]>;

/** A part of an interval that one level covers. */
interface Piece {
  interval: number;
  level: number;
  /** Slots, the end exclusive. */
  from: number;
  to: number;
}

/** Covers an interval with the coarsest levels. @param candidates levels, the coarsest first */
function cover(interval: number, from: number, to: number, candidates: readonly number[]): Piece[] {
  const [level, ...finer] = candidates;
  if (level === undefined || from >= to) return [];
  const { slots } = rollupLevels[level]!;
  const start = Math.ceil(from / slots) * slots;
  const end = Math.floor(to / slots) * slots;
  if (start >= end) return cover(interval, from, to, finer);
  return [
    ...cover(interval, from, start, finer),
    { interval, level, from: start, to: end },
    ...cover(interval, end, to, finer),
  ];
}

/** @see `UsageStore.readUsage` */
export async function selectUsage(db: Database, query: UsageQuery): Promise<UsageRow[]> {
  const { boundsMs, groupBy, only, tagKey = '', histograms = false, maxRows } = query;
  const filters = usageDimensions.filter((name) => only[name] !== undefined);
  const candidates = findRollupLevels([...groupBy, ...filters].map((name) => columnOf[name]));
  const slots = boundsMs.map((ms) => ms / SLOT_MS);
  const pieces = slots.slice(1).flatMap((to, interval) => cover(interval, slots[interval]!, to, candidates));
  if (pieces.length === 0) return [];

  const counted = histograms ? [...plainCounts, ...durationColumns, ...firstOutputColumns] : plainCounts;
  const names = groupBy.map((dimension) => columnOf[dimension]);
  const sums = [...counted, 'cost_nano_usd', 'byok_nano_usd'].map((name) => `cast(sum(${name}) as bigint) as ${name}`);
  const conditions = filters.map((name) => {
    const column = sql.ref(columnOf[name]);
    const value = writeTextColumn(only[name]!);
    // The second condition shows that the partial index has the rows.
    return value === '' ? sql`and ${column} = ''` : sql`and ${column} = ${value} and ${column} <> ''`;
  });
  // An entry adds to the sums without a tag and to those of each of its tags.
  if (only.tag === undefined) {
    const key = writeTextColumn(tagKey);
    const isOne = sql`tag >= ${`${key}:`} and tag < ${`${key};`}`; // `;` follows `:`
    conditions.push(groupBy.includes('tag') ? sql`and (tag = '' or ${isOne})` : sql`and tag = ''`);
  }
  const values = pieces.map(({ interval, level, from, to }) => `(${interval}, ${level}, ${from}, ${to})`).join(', ');
  const { rows } = await sql<StoredRow>`
    with piece (piece_interval, piece_level, since, until) as (values ${sql.raw(values)})
    select piece_interval, ${sql.raw([...names, ...sums].join(', '))}
    from piece cross join rollups
    where level = piece_level and slot >= since and slot < until ${sql.join(conditions, sql` `)}
    group by ${sql.raw(['piece_interval', ...names].join(', '))}
    ${maxRows === undefined ? sql`` : sql`limit ${sql.lit(maxRows)}`}`.execute(db);
  const found = rows.map((row) => readRow(row, groupBy, histograms));
  // The entries without the tag cannot be computed from a part of the rows.
  const isComplete = maxRows === undefined || rows.length < maxRows;
  return groupBy.includes('tag') && only.tag === undefined && isComplete ? subtractTagged(found, tagKey) : found;
}

type StoredRow = Record<'piece_interval', bigint | number> &
  Record<CountColumn | 'cost_nano_usd' | 'byok_nano_usd', bigint> &
  Record<(typeof dimensionColumns)[number], string>;

function readRow(row: StoredRow, groupBy: readonly UsageDimension[], histograms: boolean): UsageRow {
  const buckets = (names: readonly CountColumn[]) => names.map((name) => readNumber(row[name]!));
  return {
    interval: Number(row.piece_interval),
    of: Object.fromEntries(groupBy.map((dimension) => [dimension, row[columnOf[dimension]] || null])),
    requests: readNumber(row.requests),
    errors: readNumber(row.errors),
    rejected: readNumber(row.rejected),
    cancelled: readNumber(row.cancelled),
    incomplete: readNumber(row.incomplete),
    unpriced: readNumber(row.unpriced),
    inputTokens: row.input_tokens,
    cachedTokens: row.cached_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    outputTokens: row.output_tokens,
    reasoningTokens: row.reasoning_tokens,
    costNanoUsd: row.cost_nano_usd,
    byokNanoUsd: row.byok_nano_usd,
    durationMs: readNumber(row.duration_ms),
    ...(histograms && { durations: buckets(durationColumns), firstOutputs: buckets(firstOutputColumns) }),
  };
}

/** Turns the rows without a tag, which have the sums of all entries, into those of entries that lack the tag. */
function subtractTagged(rows: readonly UsageRow[], tagKey: string): UsageRow[] {
  const nameOf = ({ interval, of }: UsageRow) => JSON.stringify([interval, { ...of, tag: null }]);
  const rest = new Map(rows.filter(({ of }) => of.tag === null).map((row) => [nameOf(row), row]));
  const tagged = rows.filter(({ of }) => of.tag !== null);
  for (const row of tagged) {
    const name = nameOf(row);
    rest.set(name, subtract(rest.get(name)!, row)); // every entry with a tag is in it
  }
  return [
    ...tagged.map((row) => ({ ...row, of: { ...row.of, tag: row.of.tag!.slice(tagKey.length + 1) } })),
    ...[...rest.values()].filter(
      ({ requests, costNanoUsd, byokNanoUsd }) => requests > 0 || costNanoUsd || byokNanoUsd,
    ),
  ];
}

function subtract(all: UsageRow, part: UsageRow): UsageRow {
  const values = Object.entries(all).map(([name, value]) => {
    const other = part[name as keyof UsageRow];
    if (Array.isArray(value)) return [name, value.map((count, index) => count - (other as number[])[index]!)];
    if (typeof value === 'bigint') return [name, value - (other as bigint)];
    return [name, name === 'interval' || name === 'of' ? value : (value as number) - (other as number)];
  });
  return Object.fromEntries(values) as UsageRow;
}

/** @see `UsageStore.verifyUsage` */
export async function verifyUsage(db: Database, queue: RollupQueue, dayMs: number, repair: boolean): Promise<number> {
  const from = Math.floor(dayMs / DAY_MS) * DAY_SLOTS;
  const range = { from, to: from + DAY_SLOTS };
  return db.transaction().execute(async (trx) => {
    await queue.emptyIn(trx); // then no entry is missing
    const wrong = await countWrongRollups(trx, range);
    if (repair && wrong > 0) await writeRollups(trx, range);
    return wrong;
  });
}

/** Fills the table from a ledger that is older than it. Several processes can do so at once. */
export async function fillUsage(db: Database): Promise<void> {
  const isEmpty = async (trx: Database, table: string) =>
    (await sql`select 1 from ${sql.table(table)} limit 1`.execute(trx)).rows.length === 0;
  if (!(await isEmpty(db, 'rollups')) || (await isEmpty(db, 'ledger'))) return;
  await db.transaction().execute(async (trx) => {
    if (isPostgres(trx)) await sql`lock table rollup_queue in share row exclusive mode`.execute(trx);
    if (!(await isEmpty(trx, 'rollups'))) return; // another process has filled it
    await trx.deleteFrom('rollup_queue').execute();
    await writeRollups(trx);
  });
}

/** @see `UsageStore.readUsageDays` */
export async function readUsageDays(db: Database): Promise<{ firstMs: number; lastMs: number } | undefined> {
  const row = await db
    .selectFrom('ledger')
    .select((eb) => [eb.fn.min('created_at_ms').as('first'), eb.fn.max('created_at_ms').as('last')])
    .executeTakeFirst();
  if (row?.first == null || row.last == null) return undefined;
  const dayOf = (ms: bigint) => Math.floor(Number(ms) / DAY_MS) * DAY_MS;
  return { firstMs: dayOf(BigInt(row.first)), lastMs: dayOf(BigInt(row.last)) };
}
