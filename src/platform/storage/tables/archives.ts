import { type Selectable, type SqlBool, sql } from 'kysely';
import {
  archiveColumns,
  type ArchiveFiles,
  type ArchiveRange,
  type ArchiveRecord,
  type ArchiveRow,
  type ArchiveStore,
  type ArchiveUnit,
  type ArchiveRowQuery,
  type RowType,
  type RowValue,
} from '../ports/archives.ts';
import { readNumber, writeTextColumn } from './columns.ts';
import type { Database, LedgerArchiveTable, LedgerTable } from './database.ts';
import { UTC_DAY_MS, readLateEntry } from './late-entries.ts';
import { isBeforePosition } from './entry-feed.ts';
import { recordEntries } from './ledger.ts';
import { selectLines } from './ledger-lines.ts';
import type { RollupQueue } from './rollup-queue.ts';
import { DAY_SLOTS, findRollupLevels, isPostgres } from './rollups.ts';
import { runUnsynced } from './unsynced.ts';

archiveColumns satisfies Record<keyof LedgerTable, RowType>; // an archive loses no column
const columnNames = Object.keys(archiveColumns) as (keyof LedgerTable)[];

export interface ArchiveParts {
  db: Database;
  /** The connection for reports. */
  reports: Database;
  rollups: RollupQueue;
}

/** Creates the store of archives over either dialect. */
export function createArchiveStore({ db, reports, rollups }: ArchiveParts): ArchiveStore {
  return {
    async listUnits(range) {
      await rollups.drain();
      return selectUnits(reports, range);
    },
    async listUnarchived(beforeDay) {
      await rollups.drain();
      const isUnarchived = sql<SqlBool>`not exists (
        select 1 from ledger_archives archive
        where archive.day = rollups.slot / ${sql.lit(DAY_SLOTS)} and archive.workspace_id = rollups.workspace_id)`;
      return selectUnits(reports, { fromDay: 0, toDay: beforeDay }, isUnarchived);
    },
    async listArchives({ fromDay, toDay, workspaceId }) {
      let query = selectArchives(db).where('day', '>=', BigInt(fromDay)).where('day', '<', BigInt(toDay));
      if (workspaceId !== undefined) query = query.where('workspace_id', '=', workspaceId);
      return (await query.execute()).map(readArchive);
    },
    listUnfinished: async () => (await selectArchives(db).where('state', '<>', 'deleted').execute()).map(readArchive),
    async begin(unit) {
      await db.transaction().execute(async (trx) => {
        await lockArchives(trx);
        await insertArchive(trx, unit, 1);
      });
      return count(unit);
    },
    readRows: (query) => readArchiveRows(reports, query),
    async saveFiles(archive, files) {
      await updateArchive(db, archive)
        .set({ state: 'written', files: JSON.stringify(files) })
        .where('state', '=', 'begun')
        .execute();
    },
    deleteRows: (archive, places, limit) => deleteArchivedRows({ db, reports }, archive, places, limit),
    async listLateUnits() {
      const rows = await db
        .selectFrom('late_entries')
        .select(['day', 'workspace_id'])
        .distinct()
        .orderBy('day')
        .orderBy('workspace_id')
        .execute();
      return rows.map(readUnit);
    },
    async findLate(ids) {
      const rows = await db.selectFrom('late_entries').select('id').where('id', 'in', ids).execute();
      return rows.map(({ id }) => id);
    },
    async dropLate(ids) {
      await db.deleteFrom('late_entries').where('id', 'in', ids).execute();
    },
    async admitLate(unit, limit) {
      const { isAdmitted, batch } = await db.transaction().execute((trx) => admitEntries(trx, unit, limit));
      rollups.keep(batch);
      return isAdmitted ? count(unit) : undefined;
    },
  };

  /** Counts the rows of the last archive of a unit once, when they are final and the sums have all of them. */
  async function count(unit: ArchiveUnit): Promise<ArchiveRecord> {
    const last = await findLast(db, unit);
    if (last.row_count !== null) return readArchive(last);
    await rollups.empty();
    const { rows } = await selectRows(reports, unit)
      .select(({ fn }) => fn.countAll<bigint>().as('rows'))
      .executeTakeFirstOrThrow();
    await updateArchive(db, readArchive(last)).set({ row_count: rows }).where('row_count', 'is', null).execute();
    return readArchive(await findLast(db, unit));
  }
}

const nothingYet = {
  row_count: null,
  files: null,
  deleted_rows: 0,
  deleted_entries: 0,
  deleted_input_tokens: 0,
  deleted_output_tokens: 0,
  deleted_cost_nano_usd: 0,
};

/** Waits for transactions that record entries or corrections of old days, and blocks later ones. */
async function lockArchives(trx: Database): Promise<void> {
  if (isPostgres(trx)) await sql`lock table ledger_archives in share row exclusive mode`.execute(trx);
}

async function insertArchive(trx: Database, { day, workspaceId }: ArchiveUnit, part: number): Promise<void> {
  await trx
    .insertInto('ledger_archives')
    .values({ day, workspace_id: workspaceId, part, state: 'begun', ...nothingYet })
    .onConflict((oc) => oc.columns(['day', 'workspace_id', 'part']).doNothing())
    .execute();
}

const selectArchives = (db: Database) =>
  db.selectFrom('ledger_archives').selectAll().orderBy('day').orderBy('workspace_id').orderBy('part');

const findLast = (db: Database, { day, workspaceId }: ArchiveUnit) =>
  db
    .selectFrom('ledger_archives')
    .selectAll()
    .where('day', '=', BigInt(day))
    .where('workspace_id', '=', workspaceId)
    .orderBy('part', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow();

const updateArchive = (db: Database, { day, workspaceId, part }: ArchiveRecord) =>
  db
    .updateTable('ledger_archives')
    .where('day', '=', BigInt(day))
    .where('workspace_id', '=', workspaceId)
    .where('part', '=', BigInt(part));

const readUnit = (row: { day: bigint; workspace_id: string }): ArchiveUnit => ({
  day: readNumber(row.day),
  workspaceId: row.workspace_id,
});

const readArchive = (row: Selectable<LedgerArchiveTable>): ArchiveRecord => ({
  ...readUnit(row),
  part: readNumber(row.part),
  state: row.state,
  rows: readNumber(row.row_count ?? 0n),
  files: row.files === null ? null : (JSON.parse(row.files) as ArchiveFiles), // `saveFiles` wrote it
  deleted: {
    rows: readNumber(row.deleted_rows),
    entries: readNumber(row.deleted_entries),
    inputTokens: row.deleted_input_tokens,
    outputTokens: row.deleted_output_tokens,
    costNanoUsd: row.deleted_cost_nano_usd,
  },
});

async function selectUnits(
  db: Database,
  { fromDay, toDay, workspaceId }: ArchiveRange,
  condition = sql<SqlBool>`1 = 1`,
): Promise<ArchiveUnit[]> {
  const [level] = findRollupLevels(['workspace_id']); // whole days
  const slotOf = (day: number) => BigInt(day * DAY_SLOTS);
  let query = db
    .selectFrom('rollups')
    .select([sql<bigint>`rollups.slot / ${sql.lit(DAY_SLOTS)}`.as('day'), 'workspace_id'])
    .distinct()
    .where('level', '=', BigInt(level!))
    .where('slot', '>=', slotOf(fromDay))
    .where('slot', '<', slotOf(toDay))
    .where(condition);
  if (workspaceId !== undefined) query = query.where('workspace_id', '=', writeTextColumn(workspaceId));
  return (await query.orderBy('day').orderBy('workspace_id').execute()).map(readUnit);
}

/** Selects the entries and corrections of a unit, with an index. */
const selectRows = (db: Database, { day, workspaceId }: ArchiveUnit) =>
  db
    .selectFrom('ledger')
    .where('workspace_id', '=', workspaceId)
    .where('created_at_ms', '>=', BigInt(day * UTC_DAY_MS))
    .where('created_at_ms', '<', BigInt((day + 1) * UTC_DAY_MS));

async function readArchiveRows(db: Database, query: ArchiveRowQuery): Promise<ArchiveRow[]> {
  const { after, fromMs, toMs, limit } = query;
  let selected = selectRows(db, query).select(columnNames);
  if (fromMs !== undefined) selected = selected.where('created_at_ms', '>=', BigInt(Math.ceil(fromMs)));
  if (toMs !== undefined) selected = selected.where('created_at_ms', '<', BigInt(Math.ceil(toMs)));
  if (after) {
    const at = BigInt(after.createdAtMs);
    selected = selected
      .where('created_at_ms', '>=', at)
      .where((row) => row.or([row('created_at_ms', '>', at), row('id', '>', after.id)]));
  }
  const rows = await selected.orderBy('created_at_ms').orderBy('id').limit(limit).execute();
  if (rows.length === 0) return [];
  const lines = Map.groupBy(
    await selectLines(
      db,
      rows.map(({ id }) => id),
    ),
    (line) => line.entry_id,
  );
  return rows.map((values) => ({
    values: values as Record<string, RowValue>,
    lines: (lines.get(values.id) ?? []).map(
      ({ entry_id: _, position: __, ...line }) => line as Record<string, RowValue>,
    ),
  }));
}

async function deleteArchivedRows(
  { db, reports }: Pick<ArchiveParts, 'db' | 'reports'>,
  archive: ArchiveRecord,
  places: readonly string[],
  limit: number,
): Promise<number> {
  // Positions of the feed need the highest number of a row. @see entry-feed.ts
  const isDeletable = isPostgres(db)
    ? sql<SqlBool>`1 = 1`
    : sql<SqlBool>`ledger.rowid <> (select max(newest.rowid) from ledger as newest)`;
  const found = await selectRows(reports, archive)
    .select('id')
    .where((row) => row.and([isDeletable, ...places.map((place) => isBeforePosition(reports, place))]))
    .orderBy('created_at_ms')
    .orderBy('id')
    .limit(limit)
    .execute();
  const ids = found.map(({ id }) => id);
  // A power failure can undo a step. The next one deletes the same rows.
  return runUnsynced(db, async (trx) => {
    const held = await updateArchive(trx, archive)
      .set((eb) => ({ deleted_rows: eb.ref('deleted_rows') })) // locks the row
      .where('state', '=', 'written')
      .returning('part')
      .executeTakeFirst();
    if (!held) return 0;
    if (ids.length === 0) {
      const rest = await selectRows(trx, archive).select('id').limit(1).executeTakeFirst();
      if (!rest) await updateArchive(trx, archive).set({ state: 'deleted' }).execute();
      return 0;
    }
    const rows = await trx
      .deleteFrom('ledger')
      .where('id', 'in', ids)
      .returning(['corrects', 'input_tokens', 'output_tokens', 'cost_nano_usd'])
      .execute();
    const sum = (read: (row: (typeof rows)[number]) => bigint) => rows.reduce((total, row) => total + read(row), 0n);
    await updateArchive(trx, archive)
      .set((eb) => ({
        deleted_rows: eb('deleted_rows', '+', BigInt(rows.length)),
        deleted_entries: eb(
          'deleted_entries',
          '+',
          sum((row) => (row.corrects === null ? 1n : 0n)),
        ),
        deleted_input_tokens: eb(
          'deleted_input_tokens',
          '+',
          sum((row) => row.input_tokens),
        ),
        deleted_output_tokens: eb(
          'deleted_output_tokens',
          '+',
          sum((row) => row.output_tokens),
        ),
        deleted_cost_nano_usd: eb(
          'deleted_cost_nano_usd',
          '+',
          sum((row) => row.cost_nano_usd),
        ),
      }))
      .execute();
    return rows.length;
  });
}

/** Records late entries, and begins an archive of them. */
async function admitEntries(trx: Database, unit: ArchiveUnit, limit: number) {
  await lockArchives(trx);
  const last = readArchive(await findLast(trx, unit)); // an entry is late only if its unit has one
  if (last.state !== 'deleted') return { isAdmitted: false, batch: undefined };
  const rows = await trx
    .selectFrom('late_entries')
    .select(['id', 'entry'])
    .where('day', '=', BigInt(unit.day))
    .where('workspace_id', '=', unit.workspaceId)
    .orderBy('id')
    .limit(limit)
    .execute();
  if (rows.length === 0) return { isAdmitted: false, batch: undefined };
  await insertArchive(trx, unit, last.part + 1);
  const batch = await recordEntries(
    trx,
    rows.map(({ entry }) => readLateEntry(entry)),
  );
  await trx
    .deleteFrom('late_entries')
    .where(
      'id',
      'in',
      rows.map(({ id }) => id),
    )
    .execute();
  return { isAdmitted: true, batch };
}
