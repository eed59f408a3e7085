import { sql } from 'kysely';
import { currentTimeMs } from '../../../domain/clock.ts';
import type { LedgerEntry } from '../../../domain/ledger-entry.ts';
import type { ArchiveUnit } from '../ports/archives.ts';
import type { Database } from './database.ts';
import { isPostgres } from './rollups.ts';

export const UTC_DAY_MS = 86_400_000;

/**
 * Age from which an entry can belong to an archived day. A day is archived at least a day after its end, and the clocks of
 * hosts differ by less than the rest.
 */
const OLD_MS = UTC_DAY_MS / 2;

/** Whether the day of an entry may be archived. */
export const isOld = ({ createdAtMs }: Pick<LedgerEntry, 'createdAtMs'>): boolean =>
  createdAtMs < currentTimeMs() - OLD_MS;

type Dated = Pick<LedgerEntry, 'createdAtMs' | 'workspaceId'>;

export const unitOf = ({ createdAtMs, workspaceId }: Dated): ArchiveUnit => ({
  day: Math.floor(Math.round(createdAtMs) / UTC_DAY_MS),
  workspaceId,
});

/** Returns a text that names the unit of an entry. */
export const unitNameOf = (dated: Dated): string => nameUnit(unitOf(dated));
const nameUnit = ({ day, workspaceId }: ArchiveUnit): string => `${day} ${workspaceId}`;

/** Writes an entry of an archived day as a row. */
export const writeLateRow = (entry: LedgerEntry) => {
  const { day, workspaceId } = unitOf(entry);
  return { id: entry.id, day, workspace_id: workspaceId, entry: serialize(entry) };
};

const serialize = (entry: LedgerEntry): string =>
  JSON.stringify(entry, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));

/** @param text from `writeLateRow` */
export const readLateEntry = (text: string): LedgerEntry =>
  JSON.parse(text, (name, value: unknown) =>
    name === 'costNanoUsd' || name === 'inputCostNanoUsd' ? BigInt(value as string) : value,
  ) as LedgerEntry;

/** Rows of an insert of four columns. */
const MAX_ROWS = 1000;

/**
 * Finds which of the units have an archive. In PostgreSQL, no archive can begin until the transaction ends.
 *
 * @returns their names
 */
export async function findArchivedUnits(trx: Database, dated: readonly Dated[]): Promise<Set<string>> {
  if (isPostgres(trx)) await sql`lock table ledger_archives in row exclusive mode`.execute(trx);
  const units = [...new Map(dated.map((each) => [unitNameOf(each), unitOf(each)])).values()];
  const archived = new Set<string>();
  for (let start = 0; start < units.length; start += MAX_ROWS) {
    const some = units.slice(start, start + MAX_ROWS);
    const rows = await trx
      .selectFrom('ledger_archives')
      .select(['day', 'workspace_id'])
      .where('day', 'in', [...new Set(some.map(({ day }) => BigInt(day)))])
      .where('workspace_id', 'in', [...new Set(some.map(({ workspaceId }) => workspaceId))])
      .execute();
    for (const row of rows) archived.add(nameUnit({ day: Number(row.day), workspaceId: row.workspace_id }));
  }
  return archived;
}

/** Stores entries of archived days elsewhere, because the ledger may have had them before. @returns the others */
export async function divertLate(trx: Database, entries: readonly LedgerEntry[]): Promise<readonly LedgerEntry[]> {
  const old = entries.filter(isOld);
  if (old.length === 0) return entries;
  const archived = await findArchivedUnits(trx, old);
  if (archived.size === 0) return entries;
  const isLate = (entry: LedgerEntry) => archived.has(unitNameOf(entry));
  const rows = old.filter(isLate).map(writeLateRow);
  for (let start = 0; start < rows.length; start += MAX_ROWS) {
    await trx
      .insertInto('late_entries')
      .values(rows.slice(start, start + MAX_ROWS))
      .onConflict((oc) => oc.column('id').doNothing())
      .execute();
  }
  return entries.filter((entry) => !isLate(entry));
}
