import { PostgresAdapter, sql } from 'kysely';
import { createTimedId, timedPrefix } from '../../../domain/ids.ts';
import type { LedgerEntry } from '../../../domain/ledger-entry.ts';
import { durationBoundsMs, SLOT_MS } from '../ports/usage.ts';
import { writeTextColumn } from './columns.ts';
import type { Database } from './database.ts';

/*
 * Sums over the ledger. There are rows at several levels: with all dimensions or with some, for a quarter of an hour, an
 * hour, six hours or a day in UTC. A report reads the coarsest levels that have its dimensions and cover its intervals, so
 * its cost depends on the number of its rows.
 */

export const HOUR_SLOTS = 3_600_000 / SLOT_MS;
export const DAY_SLOTS = 24 * HOUR_SLOTS;
/** A quarter of a day. A day of another zone than UTC is three of them and some hours. */
const SHIFT_SLOTS = 6 * HOUR_SLOTS;
const allLengths = [1, HOUR_SLOTS, SHIFT_SLOTS, DAY_SLOTS];

/** Columns that name a row, besides `level` and `slot`. An empty text stands for none. */
export const dimensionColumns = ['workspace_id', 'model', 'provider', 'key_hash', 'member_id', 'tag'] as const;
export type RollupDimension = (typeof dimensionColumns)[number];

/** Sets of dimensions, and the lengths of time for which there are rows. A report uses the first set that has its dimensions. */
const dimensionSets: { dimensions: readonly RollupDimension[]; slots: readonly number[] }[] = [
  { dimensions: ['model', 'provider'], slots: allLengths },
  { dimensions: ['workspace_id', 'model', 'provider'], slots: allLengths },
  { dimensions: ['workspace_id', 'key_hash', 'member_id', 'tag'], slots: [SHIFT_SLOTS, DAY_SLOTS] },
  { dimensions: dimensionColumns, slots: [1, DAY_SLOTS] },
];

/** The levels. The index of each is the value of the column. The first one has everything, and the others are sums of it. */
export const rollupLevels = dimensionSets
  .toReversed()
  .flatMap(({ dimensions, slots }) => slots.map((length) => ({ dimensions, slots: length })));

/**
 * Finds the levels with the fewest dimensions that have all of these. The first level has the quarters of an hour that the
 * others lack: with many keys, a row of theirs is for few requests.
 *
 * @returns the longest first
 */
export function findRollupLevels(dimensions: readonly RollupDimension[]): number[] {
  const set = dimensionSets.find((each) => dimensions.every((name) => each.dimensions.includes(name)))!;
  const found = [...rollupLevels.keys()]
    .filter((level) => rollupLevels[level]!.dimensions === set.dimensions)
    .reverse();
  return set.slots[0] === 1 ? found : [...found, 0];
}

const bucketNames = [...durationBoundsMs.keys(), durationBoundsMs.length];
export const durationColumns = bucketNames.map((bucket) => `duration_${bucket}` as const);
export const firstOutputColumns = bucketNames.map((bucket) => `first_output_${bucket}` as const);

/** SQL of a count of entries, which leaves out corrections. */
const count = (condition: string): string => `case when ledger.corrects is null and ${condition} then 1 else 0 end`;
const countBucket = (column: string) => (bucket: number) => {
  const from = bucket === 0 ? `${column} is not null` : `${column} >= ${durationBoundsMs[bucket - 1]}`;
  const to = bucket === durationBoundsMs.length ? '' : ` and ${column} < ${durationBoundsMs[bucket]}`;
  return count(from + to);
};

/** Columns of counts, each with its value for a row of the ledger in SQL. */
const counts = {
  requests: count('true'),
  errors: count("outcome = 'failed' and status >= 500"),
  rejected: count("outcome = 'failed' and status < 500"),
  cancelled: count("outcome = 'cancelled'"),
  incomplete: count("outcome = 'incomplete'"),
  unpriced: count('priced = 0'),
  input_tokens: 'input_tokens',
  cached_tokens: 'cached_tokens',
  cache_write_tokens: 'cache_write_tokens',
  output_tokens: 'output_tokens',
  reasoning_tokens: 'reasoning_tokens',
  duration_ms: 'case when corrects is null then duration_ms else 0 end',
};
export type CountColumn = keyof typeof counts | (typeof durationColumns)[number] | (typeof firstOutputColumns)[number];
export const plainCounts = Object.keys(counts) as (keyof typeof counts)[];
/** In the order of `RollupSum.counts`. */
const countColumns: readonly CountColumn[] = [...plainCounts, ...durationColumns, ...firstOutputColumns];
const countSql: readonly string[] = [
  ...Object.values(counts),
  ...bucketNames.map(countBucket('duration_ms')),
  ...bucketNames.map(countBucket('first_output_ms')),
];
const firstDuration = plainCounts.length;
const firstOutput = firstDuration + bucketNames.length;

/** Columns that are added up. */
const addedColumns = [...countColumns, 'cost_nano_usd', 'byok_nano_usd'] as const;
const columns = ['level', 'slot', ...dimensionColumns, ...addedColumns] as const;

/** The values of a row, in the order of `columns`. */
export type RollupRow = (string | bigint)[];
const FIRST_SUM = columns.length - addedColumns.length;

/** The sum of some entries with the same slot and dimensions. */
interface RollupSum {
  slot: number;
  /** In the order of `dimensionColumns`. */
  dimensions: readonly string[];
  /** In the order of `countColumns`. A batch is small enough for exact sums. */
  counts: Float64Array;
  costNanoUsd: bigint;
  byokNanoUsd: bigint;
}

/** An entry with a larger count has a sum of its own, because a double is exact up to 2^53 only. */
const LARGE = 2 ** 34;

/** Sums entries, so that each row of the table is written once. At most 500,000 of them. */
export function createRollupSum() {
  const sums = new Map<string, RollupSum>();

  function sumOf(name: string, slot: number, dimensions: readonly string[]): RollupSum {
    let sum = sums.get(name);
    if (!sum) {
      sum = { slot, dimensions, counts: new Float64Array(countColumns.length), costNanoUsd: 0n, byokNanoUsd: 0n };
      sums.set(name, sum);
    }
    return sum;
  }

  return {
    /** @param correction the cost that is added to a recorded entry. Absent: the entry is new */
    add(entry: LedgerEntry, correction?: RollupCost): void {
      const { workspaceId, keyHash, provider } = entry;
      const slot = Math.floor(Math.round(entry.createdAtMs) / SLOT_MS);
      const model = modelOf(entry);
      const memberId = entry.memberId ?? '';
      const name = `${slot}\0${keyHash}\0${memberId}\0${model}\0${provider ?? ''}\0${workspaceId}\0`;
      for (const tag of tagsOf(entry)) {
        const dimensions = [
          workspaceId,
          writeTextColumn(model),
          writeTextColumn(provider ?? ''),
          keyHash,
          memberId,
          tag,
        ];
        const sum = sumOf(hasLargeCount(entry) ? `${name}${tag}\0${entry.id}` : name + tag, slot, dimensions);
        if (!correction) addCounts(sum.counts, entry);
        for (const { costNanoUsd, isByok } of correction ? [correction] : (entry.lines ?? [entry])) {
          if (isByok) sum.byokNanoUsd += costNanoUsd;
          else sum.costNanoUsd += costNanoUsd;
        }
      }
    },
    /** Returns the rows of all levels in a fixed order, so that two hosts cannot deadlock. */
    rows(): RollupRow[] {
      const rows = new Map<string, RollupRow>();
      for (const sum of sums.values()) for (const level of rollupLevels.keys()) addToLevel(rows, level, sum);
      return [...rows.keys()].sort().map((name) => rows.get(name)!);
    },
  };
}

/** A cost that is added without a request. */
export type RollupCost = Pick<LedgerEntry, 'costNanoUsd' | 'isByok'>;

/**
 * The model of a row. A failure of all providers counts for the requested model. After other failures that name may be
 * any text of the caller.
 */
const modelOf = ({ model, status, requestedModel }: LedgerEntry): string =>
  model ?? (status >= 500 ? requestedModel : '');
const modelSql = `coalesce(ledger.model, case when ledger.status >= 500 then ledger.requested_model else '' end)`;

/** An entry adds to the sums without a tag, and to those of each of its tags. */
const tagsOf = ({ tags }: LedgerEntry): string[] =>
  tags ? ['', ...Object.entries(tags).map(([key, value]) => `${key}:${value}`)] : noTag;
const noTag = [''];

const hasLargeCount = (entry: LedgerEntry): boolean =>
  Math.max(entry.inputTokens, entry.cachedTokens, entry.cacheWriteTokens, entry.outputTokens, entry.reasoningTokens) >
    LARGE || entry.durationMs > LARGE;

function addCounts(sum: Float64Array, entry: LedgerEntry): void {
  const { outcome, status, firstOutputMs } = entry;
  const durationMs = Math.round(entry.durationMs);
  const hasFailed = outcome === 'failed';
  const values = [
    1,
    hasFailed && status >= 500 ? 1 : 0,
    hasFailed && status < 500 ? 1 : 0,
    outcome === 'cancelled' ? 1 : 0,
    outcome === 'incomplete' ? 1 : 0,
    entry.priced ? 0 : 1,
    entry.inputTokens,
    entry.cachedTokens,
    entry.cacheWriteTokens,
    entry.outputTokens,
    entry.reasoningTokens,
    durationMs,
  ]; // in the order of `counts`
  for (let index = 0; index < values.length; index++) sum[index]! += values[index]!;
  sum[firstDuration + bucketOf(durationMs)]! += 1;
  if (firstOutputMs !== null) sum[firstOutput + bucketOf(Math.round(firstOutputMs))]! += 1;
}

function bucketOf(ms: number): number {
  let bucket = 0;
  while (bucket < durationBoundsMs.length && ms >= durationBoundsMs[bucket]!) bucket++;
  return bucket;
}

function addToLevel(rows: Map<string, RollupRow>, level: number, sum: RollupSum): void {
  const { slots, dimensions: kept } = rollupLevels[level]!;
  const { slot, dimensions, counts } = sum;
  if (dimensions.at(-1) !== '' && !kept.includes('tag')) return;
  const start = Math.floor(slot / slots) * slots;
  const values = dimensions.map((value, index) => (kept.includes(dimensionColumns[index]!) ? value : ''));
  const name = `${level}\0${start}\0${values.join('\0')}`;
  let row = rows.get(name);
  if (!row) {
    row = [BigInt(level), BigInt(start), ...values, ...noSums];
    rows.set(name, row);
  }
  for (let index = 0; index < counts.length; index++) {
    if (counts[index] !== 0) addAt(row, FIRST_SUM + index, BigInt(counts[index]!));
  }
  addAt(row, COST, sum.costNanoUsd);
  addAt(row, COST + 1, sum.byokNanoUsd);
}

const noSums: readonly bigint[] = addedColumns.map(() => 0n);
const COST = FIRST_SUM + countColumns.length;

function addAt(row: RollupRow, index: number, value: bigint): void {
  row[index] = (row[index] as bigint) + value;
}

const keyColumns = ['level', 'slot', ...dimensionColumns] as ('level' | 'slot' | (typeof dimensionColumns)[number])[];
/** The statement of SQLite that inserts a row, or adds to it. Its parameters are the values of the row. */
export const raiseRollup = `
  insert into rollups (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})
  on conflict (${keyColumns.join(', ')}) do update set
    ${addedColumns.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`;

/** Each has 50 values. @see maxRowsPerInsert of the ledger */
const MAX_ROWS = 600;

/** Raises the sums. */
export async function addRollups(trx: Database, rows: readonly RollupRow[]): Promise<void> {
  for (let start = 0; start < rows.length; start += MAX_ROWS) {
    const values = rows.slice(start, start + MAX_ROWS).map((row) => sql`(${sql.join(row)})`);
    const sums = addedColumns.map((name) => `${name} = rollups.${name} + excluded.${name}`);
    await sql`
      insert into rollups (${sql.raw(columns.join(', '))}) values ${sql.join(values)}
      on conflict (${sql.raw(keyColumns.join(', '))}) do update set ${sql.raw(sums.join(', '))}`.execute(trx);
  }
}

/** Recorded entries that the sums lack. */
export interface RollupBatch {
  id: string;
  /** With a correction, the cost that it adds to the entry. */
  added: { id: string; entry: LedgerEntry; correction?: RollupCost }[];
}

export const createRollupBatch = (added: RollupBatch['added']): RollupBatch => ({ id: createTimedId(''), added });

/** Writes the row of a batch. */
export const writeBatch = ({ id, added }: RollupBatch) => ({
  id,
  entry_ids: JSON.stringify(added.map((one) => one.id)),
});

/** Adds the batch to the queue, in the transaction of its entries. */
export async function queueBatch(trx: Database, added: RollupBatch['added']): Promise<RollupBatch | undefined> {
  if (added.length === 0) return undefined;
  const batch = createRollupBatch(added);
  await trx.insertInto('rollup_queue').values(writeBatch(batch)).execute();
  return batch;
}

export const isPostgres = (db: Database): boolean => db.getExecutor().adapter instanceof PostgresAdapter;

/** A range of slots, the end exclusive. */
export interface SlotRange {
  from: number;
  to: number;
}

/** Maximum difference between the time in an id and that of its entry. @see slices.ts */
const ID_SKEW_MS = 3_600_000;

/**
 * Writes a query for the rows of the finest level, from the entries of the ledger.
 *
 * @param range absent: all entries
 */
function selectFromLedger(isPostgres: boolean, range?: SlotRange) {
  const dimensions = [
    `ledger.created_at_ms / ${SLOT_MS}`,
    'ledger.workspace_id',
    modelSql,
    "coalesce(ledger.provider, '')",
    'ledger.key_hash',
    "coalesce(ledger.member_id, '')",
  ].join(', ');
  const sumOf = (values: readonly string[]) => values.map((value) => `cast(sum(${value}) as bigint)`).join(', ');
  const shared = 'case when ledger.is_byok = 0 then ledger.cost_nano_usd else 0 end';
  const byok = 'case when ledger.is_byok = 0 then 0 else ledger.cost_nano_usd end';
  // The whole cost of an entry counts for its kind of key. The cost of lines of the other kind of key is moved.
  const moved = 'case when line.is_byok = 0 then line.cost_nano_usd else -line.cost_nano_usd end';
  const toLines = 'join ledger_lines line on line.entry_id = ledger.id and line.is_byok <> ledger.is_byok';
  const toTags = isPostgres
    ? 'cross join lateral json_each_text(ledger.tags::json) as tagged (key, value)'
    : 'join json_each(ledger.tags) tagged';
  const none = countColumns.map(() => '0');
  const where = range
    ? `where ${isNotArchived('ledger.created_at_ms / 86400000', 'ledger.workspace_id')}
       and ledger.created_at_ms >= ${range.from * SLOT_MS} and ledger.created_at_ms < ${range.to * SLOT_MS}
       and ledger.id >= '${timedPrefix('gen-', range.from * SLOT_MS - ID_SKEW_MS)}'
       and ledger.id < '${timedPrefix('gen-', range.to * SLOT_MS + ID_SKEW_MS)}'`
    : '';
  const selects = [
    ['', "''", dimensions],
    [toTags, "tagged.key || ':' || tagged.value", `${dimensions}, tagged.key, tagged.value`],
  ].flatMap(([join, tag, group]) => [
    `select ${dimensions}, ${tag} as tag, ${sumOf([...countSql, shared, byok])}
     from ledger ${join} ${where} group by ${group}`,
    `select ${dimensions}, ${tag} as tag, ${sumOf([...none, moved, `-(${moved})`])}
     from ledger ${toLines} ${join} ${where} group by ${group}`,
  ]);
  return sql.raw(selects.join(' union all '));
}

/** Writes a query for the rows of a coarser level, from those of the finest. */
function selectFromFinest(level: number, range?: SlotRange) {
  const { slots, dimensions } = rollupLevels[level]!;
  const start = `slot - slot % ${slots}`;
  const where = ['level = 0'];
  if (!dimensions.includes('tag')) where.push("tag = ''");
  if (range) where.push(`slot >= ${range.from} and slot < ${range.to}`);
  return sql.raw(`
    select ${level}, ${start}, ${dimensionColumns.map((name) => (dimensions.includes(name) ? name : "''")).join(', ')},
      ${addedColumns.map((name) => `cast(sum(${name}) as bigint)`).join(', ')}
    from rollups where ${where.join(' and ')} group by ${[start, ...dimensions].join(', ')}`);
}

/** Writes a condition that leaves out rows of archived days. The ledger may have no rows of them. */
const isNotArchived = (day: string, workspaceId: string): string => `not exists (
  select 1 from ledger_archives archive where archive.day = ${day} and archive.workspace_id = ${workspaceId})`;

/** A condition on the finest rows that can be compared with the ledger. */
const isComparable = isNotArchived(`rollups.slot / ${DAY_SLOTS}`, 'rollups.workspace_id');

/** Writes a query for the rows of a level as they should be: the finest from the ledger, the others from the finest. */
function selectLevel(isPostgres: boolean, level: number, range?: SlotRange) {
  if (level > 0) return selectFromFinest(level, range);
  const names = ['slot', ...dimensionColumns, ...addedColumns].join(', ');
  const sums = addedColumns.map((name) => `cast(sum(${name}) as bigint)`);
  const keys = keyColumns.slice(1).join(', ');
  return sql`
    select 0, ${sql.raw([keys, ...sums].join(', '))}
    from (with found (${sql.raw(names)}) as (${selectFromLedger(isPostgres, range)}) select * from found) found
    group by ${sql.raw(keys)}`;
}

/**
 * @param range absent: all rows, which must not exist; otherwise whole days, whose rows are replaced. The finest rows of
 * archived days stay
 */
export async function writeRollups(trx: Database, range?: SlotRange): Promise<void> {
  if (range) {
    for (const level of rollupLevels.keys()) {
      await sql`delete from rollups where ${isIn(range, level)} ${sql.raw(level === 0 ? `and ${isComparable}` : '')}`.execute(
        trx,
      );
    }
  }
  for (const level of rollupLevels.keys()) {
    await sql`insert into rollups (${sql.raw(columns.join(', '))}) ${selectLevel(isPostgres(trx), level, range)}`.execute(
      trx,
    );
  }
}

const isIn = ({ from, to }: SlotRange, level: number) =>
  sql.raw(`level = ${level} and slot >= ${from} and slot < ${to}`);

/**
 * Counts the rows that differ from the ledger. The finest rows of archived days cannot be compared, but the others can.
 *
 * @param range whole days
 */
export async function countWrongRollups(db: Database, range: SlotRange): Promise<number> {
  const names = sql.raw(columns.join(', '));
  let wrong = 0;
  for (const level of rollupLevels.keys()) {
    // One statement sees one state of the database.
    const { rows } = await sql<{ wrong: bigint }>`
      with expected (${names}) as (${selectLevel(isPostgres(db), level, range)}),
        stored (${names}) as (
          select ${names} from rollups where ${isIn(range, level)} ${sql.raw(level === 0 ? `and ${isComparable}` : '')}
        ),
        missing as (select * from expected except select * from stored),
        extra as (select * from stored except select * from expected)
      select count(*) as wrong from (
        select ${sql.raw(keyColumns.join(', '))} from missing union select ${sql.raw(keyColumns.join(', '))} from extra
      ) wrong_rows`.execute(db);
    wrong += Number(rows[0]!.wrong);
  }
  return wrong;
}
