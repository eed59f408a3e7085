import type { Insertable, Selectable } from 'kysely';
import type { RecordedEntry, LedgerEntry } from '../../../domain/ledger-entry.ts';
import type { Tags } from '../../../domain/tags.ts';
import type { Correction, EntryQuery, LedgerRow } from '../ports/entries.ts';
import { readFlag, readNullableNumber, readNumber, writeFlag, writeNullableText, writeTextColumn } from './columns.ts';
import type { Database, LedgerTable } from './database.ts';
import { divertLate, findArchivedUnits, unitNameOf } from './late-entries.ts';
import { addLines, insertLines } from './ledger-lines.ts';
import { readPart } from './part-columns.ts';
import { queueBatch, type RollupBatch } from './rollups.ts';
import { writeImageCounts } from './image-columns.ts';
import { countReduction } from './revisions.ts';
import { writeSpecialCounts } from './special-counts.ts';
import { addSpending, createSpendingSum } from './spending.ts';

/** 51 columns each, those of corrections included: SQLite binds 32,766 values to a statement, PostgreSQL 65,535. */
const maxRowsPerInsert = 600;

/**
 * Records new entries, all or none of them, and adds them to the sums of their days. Entries of archived days wait
 * elsewhere.
 *
 * @returns the entries that were new, for the queue of sums
 */
export async function appendEntries(db: Database, entries: readonly LedgerEntry[]): Promise<RollupBatch | undefined> {
  if (entries.length === 0) return undefined;
  return db.transaction().execute(async (trx) => recordEntries(trx, await divertLate(trx, entries)));
}

/** Records new entries, and adds them to the sums. @see appendEntries */
export async function recordEntries(trx: Database, entries: readonly LedgerEntry[]): Promise<RollupBatch | undefined> {
  // Two hosts may replay overlapping journals. The fixed order of rows prevents deadlocks.
  const rows = entries.map(writeLedgerRow).sort((a, b) => (a.id < b.id ? -1 : 1));
  // If two entries have the same id, the first one counts.
  const byId = new Map(entries.toReversed().map((entry) => [entry.id, entry]));
  const spent = createSpendingSum();
  const ids = await insertRows(trx, rows, spent, byId);
  await addSpending(trx, spent.rows());
  return queueBatch(
    trx,
    [...ids].map((id) => ({ id, entry: byId.get(id)! })),
  );
}

/**
 * Inserts entries.
 *
 * @param spent collects the costs of new entries, for the end of the transaction
 * @param byId entries by id, at least those that have lines
 * @returns the ids of new entries
 */
async function insertRows(
  trx: Database,
  rows: readonly Insertable<LedgerTable>[],
  spent: ReturnType<typeof createSpendingSum>,
  byId: ReadonlyMap<string, LedgerEntry> = new Map(),
): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let start = 0; start < rows.length; start += maxRowsPerInsert) {
    const recorded = await trx
      .insertInto('ledger')
      .values(rows.slice(start, start + maxRowsPerInsert))
      .onConflict((oc) => oc.column('id').doNothing())
      .returning(['id', 'workspace_id', 'key_hash', 'member_id', 'created_at_ms', 'cost_nano_usd', 'is_byok'])
      .execute();
    for (const row of recorded) {
      spent.add(row, byId.get(row.id)?.lines);
      ids.add(row.id);
    }
    await insertLines(
      trx,
      recorded.flatMap(({ id }) => byId.get(id) ?? []),
    );
  }
  return ids;
}

/**
 * Records corrections, all or none of them. The id of a correction consists of the entry's id and the number of earlier
 * corrections. If two corrections are made from the same state, only one is recorded. None is recorded for an archived
 * day.
 *
 * @returns the number of recorded corrections, and their costs for the queue of sums
 */
export async function correctEntries(
  db: Database,
  corrections: readonly Correction[],
  atMs: number,
): Promise<{ count: number; batch?: RollupBatch | undefined }> {
  if (corrections.length === 0) return { count: 0 };
  const corrected = new Map(corrections.map(({ entry }) => [entry.id, entry]));
  return db.transaction().execute(async (trx) => {
    const archived = await findArchivedUnits(
      trx,
      corrections.map(({ entry }) => entry),
    );
    const rows = corrections
      .filter(({ entry }) => !archived.has(unitNameOf(entry)))
      .map((correction) => writeCorrection(correction, atMs))
      .sort(([a], [b]) => (a.id < b.id ? -1 : 1));
    // This runs first, so that the lock of its row orders concurrent corrections.
    if (rows.flat().some((row) => row.cost_nano_usd < 0n)) await countReduction(trx);
    const spent = createSpendingSum();
    const firsts = rows.map(([first]) => first);
    const recorded = await insertRows(trx, firsts, spent);
    const seconds = rows.flatMap(([first, second]) => (second && recorded.has(first.id) ? second : []));
    await insertRows(trx, seconds, spent);
    await addSpending(trx, spent.rows());
    const added = [...firsts.filter(({ id }) => recorded.has(id)), ...seconds].map((row) => ({
      id: row.id,
      entry: corrected.get(row.corrects)!,
      correction: { costNanoUsd: row.cost_nano_usd, isByok: row.is_byok === 1 },
    }));
    return { count: recorded.size, batch: await queueBatch(trx, added) };
  });
}

/**
 * @returns the row of the correction, and a second row for lines of the other kind of key, which is recorded with the
 * first or not at all
 */
function writeCorrection({ entry: corrected, otherKeysNanoUsd, ...all }: Correction, atMs: number) {
  const { special: _, lines: __, pictures: ___, history: ____, correction, ...entry } = corrected;
  const count = correction?.count ?? 0;
  const write = (number: number, part: Pick<LedgerEntry, 'isByok' | 'costNanoUsd' | 'inputCostNanoUsd'>) => ({
    ...writeLedgerRow({ ...entry, ...noCounts, ...part }),
    id: `${entry.id}${behind}${count + number}`,
    corrects: entry.id,
    corrected_at_ms: atMs,
  });
  const { isByok } = entry;
  if (otherKeysNanoUsd === undefined) return [write(1, { isByok, ...all })] as const;
  return [
    write(1, { isByok, ...all, costNanoUsd: all.costNanoUsd - otherKeysNanoUsd }),
    write(2, { isByok: !isByok, costNanoUsd: otherKeysNanoUsd, inputCostNanoUsd: 0n }),
  ] as const;
}

/** Sorts corrections directly after their entry. No id of an entry contains this character. */
const behind = '.';
const firstAfter = '/'; // the character after it

/** The counts of a correction are all zero. */
const noCounts = {
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  upstreamCostNanoUsd: null,
};

/** @returns undefined also if the entry belongs to another workspace */
export async function findEntry(
  db: Database,
  workspaceId: string | undefined,
  id: string,
): Promise<RecordedEntry | undefined> {
  const known = writeTextColumn(id);
  let query = db
    .selectFrom('ledger')
    .selectAll()
    .where('id', '>=', known)
    .where('id', '<', `${known}${firstAfter}`)
    .where((row) => row.or([row('id', '=', known), row('corrects', '=', known)]));
  if (workspaceId !== undefined) query = query.where('workspace_id', '=', writeTextColumn(workspaceId));
  const [found] = readRecorded(await query.orderBy('id').execute());
  if (found?.id !== known) return undefined;
  await addLines(db, [found]);
  return found;
}

/**
 * Reads entries with their corrections, the oldest first.
 *
 * @param after id of the last entry of the previous read
 */
export async function listEntries(db: Database, { after, limit, ...query }: EntryQuery): Promise<RecordedEntry[]> {
  const { fromMs, toMs, model, provider } = query;
  let asked = db.selectFrom('ledger').select('id').where('corrects', 'is', null).orderBy('id').limit(limit);
  if (after !== undefined) asked = asked.where('id', '>', after);
  if (fromMs !== undefined) asked = asked.where('created_at_ms', '>=', BigInt(Math.round(fromMs)));
  if (toMs !== undefined) asked = asked.where('created_at_ms', '<', BigInt(Math.round(toMs)));
  if (model !== undefined) asked = asked.where('model', '=', writeTextColumn(model));
  if (provider !== undefined) {
    asked = asked.where((row) =>
      row.or([
        row('provider_id', '=', writeTextColumn(provider.id)),
        row.and([row('provider_id', 'is', null), row('provider', '=', writeTextColumn(provider.name))]),
      ]),
    );
  }
  return readEntries(
    db,
    (await asked.execute()).map((row) => row.id),
  );
}

/** Reads entries and corrections for the sums. One that was deleted is left out. */
export async function readEntriesById(db: Database, ids: readonly string[]): Promise<RollupBatch['added']> {
  const rows = await db.selectFrom('ledger').selectAll().where('id', 'in', ids).execute();
  const found = rows.map((row) => ({ row, entry: readEntry(row) }));
  await addLines(
    db,
    found.flatMap(({ row, entry }) => (row.corrects === null ? [entry] : [])),
  );
  return found.map(({ row, entry }) =>
    row.corrects === null ? { id: row.id, entry } : { id: row.id, entry, correction: entry },
  );
}

/** Reads entries with their corrections, in the order of their ids. */
export async function readEntries(db: Database, ids: readonly string[]): Promise<RecordedEntry[]> {
  if (ids.length === 0) return [];
  const rows = await readRows(db, ids);
  // Corrections have consecutive numbers. Nearly all entries have none.
  for (let number = 1, left = ids; left.length > 0; number++) {
    const found = await readRows(
      db,
      left.map((id) => `${id}${behind}${number}`),
    );
    rows.push(...found);
    left = found.map(({ corrects }) => corrects!); // it is a correction
  }
  rows.sort((a, b) => (a.id < b.id ? -1 : 1));
  const recorded = readRecorded(rows);
  await addLines(db, recorded);
  return recorded;
}

const readRows = (db: Database, ids: readonly string[]) =>
  db.selectFrom('ledger').selectAll().where('id', 'in', ids).execute();

/** @param rows entries, each followed by its corrections */
function readRecorded(rows: readonly Selectable<LedgerTable>[]): RecordedEntry[] {
  const recorded: RecordedEntry[] = [];
  for (const row of rows) {
    const last = recorded.at(-1);
    if (row.corrects === null) recorded.push(readEntry(row));
    else if (last?.id === row.corrects) last.correction = addCorrection(last, row);
  }
  return recorded;
}

function addCorrection(
  { isByok, correction }: RecordedEntry,
  row: Selectable<LedgerTable>,
): NonNullable<RecordedEntry['correction']> {
  const isOther = readFlag(row.is_byok) !== isByok;
  const otherKeysNanoUsd = (correction?.otherKeysNanoUsd ?? 0n) + (isOther ? row.cost_nano_usd : 0n);
  return {
    costNanoUsd: (correction?.costNanoUsd ?? 0n) + row.cost_nano_usd,
    inputCostNanoUsd: (correction?.inputCostNanoUsd ?? 0n) + row.input_cost_nano_usd,
    ...(otherKeysNanoUsd !== 0n && { otherKeysNanoUsd }),
    count: (correction?.count ?? 0) + 1,
  };
}

/** Writes an entry as a row, with the same columns in the same order. */
export const writeLedgerRow = (entry: LedgerEntry) => ({ ...writeCommonColumns(entry), ...writeRareColumns(entry) });

/** Whether the rare columns of an entry have their default values, as in nearly all entries. */
export const hasCommonColumnsOnly = ({
  special,
  pictures: images,
  upstreamCostNanoUsd,
  apiType,
  parentId,
  tags,
  history,
}: LedgerEntry): boolean =>
  special === undefined &&
  images === undefined &&
  upstreamCostNanoUsd === null &&
  (apiType ?? null) === null &&
  parentId === undefined &&
  tags === undefined &&
  history === undefined;

const writeRareColumns = (entry: LedgerEntry) => ({
  ...writeSpecialCounts(entry.special),
  ...writeImageCounts(entry.pictures),
  upstream_cost_nano_usd: entry.upstreamCostNanoUsd,
  api_type: entry.apiType ?? null,
  parent_id: entry.parentId ?? null,
  tags: entry.tags ? JSON.stringify(entry.tags) : null,
  history: writeNullableText(entry.history ?? null),
});

export function writeCommonColumns(entry: LedgerEntry) {
  return {
    id: entry.id,
    created_at_ms: Math.round(entry.createdAtMs),
    workspace_id: entry.workspaceId,
    key_hash: entry.keyHash,
    member_id: entry.memberId,
    requested_model: writeTextColumn(entry.requestedModel),
    model: writeNullableText(entry.model),
    provider: writeNullableText(entry.provider),
    outcome: entry.outcome,
    status: entry.status,
    error_type: writeNullableText(entry.errorType),
    streamed: writeFlag(entry.streamed),
    input_tokens: entry.inputTokens,
    cached_tokens: entry.cachedTokens,
    cache_write_tokens: entry.cacheWriteTokens,
    output_tokens: entry.outputTokens,
    reasoning_tokens: entry.reasoningTokens,
    cost_nano_usd: entry.costNanoUsd,
    priced: writeFlag(entry.priced),
    estimated: writeFlag(entry.estimated),
    first_output_ms: entry.firstOutputMs === null ? null : Math.round(entry.firstOutputMs),
    duration_ms: Math.round(entry.durationMs),
    session_id: writeNullableText(entry.sessionId),
    end_user: writeNullableText(entry.endUser),
    router: writeNullableText(entry.router),
    task: writeNullableText(entry.task),
    input_cost_nano_usd: entry.inputCostNanoUsd,
    provider_id: writeNullableText(entry.providerId),
    endpoint_id: writeNullableText(entry.endpointId),
    tier: writeNullableText(entry.tier),
    is_byok: writeFlag(entry.isByok),
  };
}

/** Reads a row as it was recorded, without its lines. */
export function readLedgerRow(row: Selectable<LedgerTable>): Omit<LedgerRow, 'position'> {
  const entry = readEntry(row);
  if (row.corrects === null) return { entry };
  return {
    entry,
    correction: { of: row.corrects, atMs: readNullableNumber(row.corrected_at_ms) ?? entry.createdAtMs },
  };
}

function readEntry(row: Selectable<LedgerTable>): RecordedEntry {
  return {
    id: row.id,
    createdAtMs: readNumber(row.created_at_ms),
    workspaceId: row.workspace_id,
    keyHash: row.key_hash,
    memberId: row.member_id,
    requestedModel: row.requested_model,
    router: row.router,
    task: row.task,
    outcome: row.outcome,
    status: readNumber(row.status),
    errorType: row.error_type,
    streamed: readFlag(row.streamed),
    ...readPart(row),
    firstOutputMs: readNullableNumber(row.first_output_ms),
    durationMs: readNumber(row.duration_ms),
    sessionId: row.session_id,
    endUser: row.end_user,
    ...(row.api_type && { apiType: row.api_type }),
    ...(row.parent_id && { parentId: row.parent_id }),
    ...(row.tags && { tags: JSON.parse(row.tags) as Tags }), // `writeRareColumns` wrote it
    ...(row.history !== null && { history: row.history }),
  };
}
