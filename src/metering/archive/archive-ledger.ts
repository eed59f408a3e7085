import type { Objects } from '../../platform/objects/objects.ts';
import type {
  ArchiveFiles,
  ArchiveRecord,
  ArchiveRow,
  ArchiveStore,
  ArchiveUnit,
  RowPosition,
} from '../../platform/storage/ports/archives.ts';
import { readArchive, writeArchiveFile, writeDay } from './archive-files.ts';
import { DAY_MS } from '../windows.ts';

/** How long entries stay in the ledger, in days after the end of their day (UTC). */
export interface LedgerRetention {
  /** Undefined: for ever. */
  days: number | undefined;
  /** Workspaces that differ. 0: for ever. */
  ofWorkspaces: ReadonlyMap<string, number>;
}

export interface ArchivingParts {
  archives: ArchiveStore;
  objects: Pick<Objects, 'put' | 'open'>;
  readRetention(): Promise<LedgerRetention>;
  /** Unix milliseconds. */
  now(): number;
  /** Reads the places of the ledger's feed up to which rows were exported. Later rows stay in the ledger. */
  readExportedPlaces(): Promise<string[]>;
  /** Called when entries and corrections were deleted from the ledger. */
  onDeleted?(rows: number): void;
}

/** Rows of a page. */
export const PAGE_ROWS = 500;
/** Rows of a transaction. The embedded store needs one or two milliseconds. */
const DELETED_ROWS = 50;
/** Late entries of an archive. */
const MAX_LATE = 5000;

/** The ledger does not have the rows of an archive, or no longer all of them. */
class ChangedRowsError extends Error {
  override readonly name = 'ChangedRowsError';
}

/**
 * Moves the days that are older than the retention from the ledger to the store of files. Continues what another process
 * has begun. A process can be killed at any time: nothing is deleted before its files were read again, and a file that is
 * written twice has the same content.
 *
 * Several processes can do so at once, but only one should.
 *
 * @returns the number of archives whose files were written
 * @throws the first error; the days after it wait for the next call. No row of a day with an error is deleted
 */
export async function archiveLedger(parts: ArchivingParts, signal: AbortSignal): Promise<number> {
  const { archives } = parts;
  let written = 0;
  let changed: ChangedRowsError | undefined;
  const finish = async (archive: ArchiveRecord): Promise<void> => {
    try {
      if (await finishArchive(parts, archive, signal)) written++;
    } catch (error) {
      if (!(error instanceof ChangedRowsError)) throw error;
      changed ??= error; // other days are not affected
    }
  };
  for (const { state, ...unit } of await archives.listUnfinished()) {
    await finish(state === 'begun' ? await archives.begin(unit) : { ...unit, state });
  }
  for (const unit of await listDue(parts)) {
    signal.throwIfAborted();
    await finish(await archives.begin(unit));
  }
  for (const unit of await archives.listLateUnits()) {
    if (!(await dropKnown(parts, unit, signal))) continue;
    for (let archive = await archives.admitLate(unit, MAX_LATE); archive; ) {
      await finish(archive);
      archive = await archives.admitLate(unit, MAX_LATE);
    }
  }
  if (changed) throw changed;
  return written;
}

/** Lists the units whose retention has ended, the oldest first. */
async function listDue({ archives, readRetention, now }: ArchivingParts): Promise<ArchiveUnit[]> {
  const { days, ofWorkspaces } = await readRetention();
  const daysOf = (workspaceId: string): number => (ofWorkspaces.get(workspaceId) ?? days) || Number.POSITIVE_INFINITY;
  const limits = [days ?? 0, ...ofWorkspaces.values()].filter((each) => each > 0);
  if (limits.length === 0) return [];
  const today = Math.floor(now() / DAY_MS);
  const units = await archives.listUnarchived(today - Math.min(...limits));
  return units.filter(({ day, workspaceId }) => day < today - daysOf(workspaceId));
}

/** Writes the files of an archive, unless they are written, and deletes its rows. @returns whether it wrote them */
async function finishArchive(
  { archives, objects, readExportedPlaces, onDeleted }: ArchivingParts,
  archive: ArchiveRecord,
  signal: AbortSignal,
): Promise<boolean> {
  signal.throwIfAborted();
  if (archive.state === 'begun') {
    const write = (format: keyof ArchiveFiles) =>
      writeArchiveFile(objects, archive, format, readAll(archives, archive, signal));
    await archives.saveFiles(archive, { jsonl: await write('jsonl'), parquet: await write('parquet') });
  }
  const places = await readExportedPlaces();
  for (let rows = 1; rows > 0; ) {
    signal.throwIfAborted();
    rows = await archives.deleteRows(archive, places, DELETED_ROWS);
    onDeleted?.(rows);
  }
  return archive.state === 'begun';
}

/**
 * Reads all rows of an archive whose files are not written.
 *
 * @throws {ChangedRowsError} if there are more or fewer, or another process has written the files and may have deleted some
 */
async function* readAll(
  archives: Pick<ArchiveStore, 'readRows' | 'listArchives'>,
  archive: ArchiveRecord,
  signal: AbortSignal,
): AsyncGenerator<ArchiveRow[]> {
  let rows = 0;
  for (let after: RowPosition | undefined; ; ) {
    signal.throwIfAborted();
    const page = await archives.readRows({ ...archive, after, limit: PAGE_ROWS });
    rows += page.length;
    if (page.length > 0) yield page;
    if (page.length < PAGE_ROWS) break;
    after = positionOf(page.at(-1)!);
  }
  const { day, workspaceId, part } = archive;
  const name = `${writeDay(day)} in workspace ${workspaceId}`;
  // A process that was paused can read the rows of a later part. So this is checked after the last row was read.
  const parts = await archives.listArchives({ fromDay: day, toDay: day + 1, workspaceId });
  if (parts.find((each) => each.part === part)?.state !== 'begun') {
    throw new ChangedRowsError(`Another process has archived ${name}.`);
  }
  if (rows !== archive.rows) {
    throw new ChangedRowsError(
      `The ledger has ${rows} rows of ${name}, and had ${archive.rows} when their archive began.`,
    );
  }
}

export const positionOf = ({ values }: ArchiveRow): RowPosition => ({
  createdAtMs: Number(values['created_at_ms']),
  id: String(values['id']),
});

/**
 * Removes late entries that an archive of their unit has: a journal can contain entries that were stored before.
 *
 * @returns whether the rest can be recorded
 */
async function dropKnown(
  { archives, objects }: ArchivingParts,
  { day, workspaceId }: ArchiveUnit,
  signal: AbortSignal,
): Promise<boolean> {
  const parts = await archives.listArchives({ fromDay: day, toDay: day + 1, workspaceId });
  if (parts.some(({ state }) => state !== 'deleted')) return false;
  for (const part of parts) {
    for await (const rows of readArchive(objects, part)) {
      signal.throwIfAborted();
      const known = await archives.findLate(rows.map((row) => positionOf(row).id));
      if (known.length > 0) await archives.dropLate(known);
    }
  }
  return true;
}
