import type { Objects } from '../../platform/objects/objects.ts';
import type {
  ArchiveRecord,
  ArchiveRow,
  ArchiveStore,
  ArchiveUnit,
  RowPosition,
} from '../../platform/storage/ports/archives.ts';
import { readArchive } from './archive-files.ts';
import { PAGE_ROWS, positionOf } from './archive-ledger.ts';
import { DAY_MS } from '../windows.ts';

export interface RowExportParts {
  archives: Pick<ArchiveStore, 'listUnits' | 'listArchives' | 'readRows'>;
  objects: Pick<Objects, 'open'>;
}

export interface RowExportQuery {
  /** Unix milliseconds, inclusive. */
  fromMs: number;
  /** Unix milliseconds, exclusive. */
  toMs: number;
  workspaceId?: string | undefined;
  /** Whether rows are read that are only in the store of files. */
  includesArchived: boolean;
  /** Called for each day of a workspace that has archived rows, if they are left out. */
  onOmitted(unit: ArchiveUnit): void;
}

/**
 * Reads the entries and corrections of a range by day, workspace and time, in pages. Each row is read once, also if days are
 * archived meanwhile. Entries that are recorded meanwhile may be missing.
 *
 * @throws {Error} if the file of an archived day is missing
 */
export async function* exportRows(parts: RowExportParts, query: RowExportQuery): AsyncGenerator<ArchiveRow[]> {
  const { fromMs, toMs, workspaceId, includesArchived, onOmitted } = query;
  const days = { fromDay: Math.floor(fromMs / DAY_MS), toDay: Math.ceil(toMs / DAY_MS) };
  for (const unit of await parts.archives.listUnits({ ...days, workspaceId })) {
    const archives = await listParts(parts, unit);
    const stored = archives.filter(({ state }) => state !== 'begun');
    if (includesArchived) for (const archive of stored) yield* readStored(parts, archive, query);
    else if (stored.length > 0) onOmitted(unit);
    if (archives.at(-1)?.state !== 'written') yield* readLedger(parts, unit, stored.length + 1, query);
  }
}

const listParts = ({ archives }: RowExportParts, { day, workspaceId }: ArchiveUnit): Promise<ArchiveRecord[]> =>
  archives.listArchives({ fromDay: day, toDay: day + 1, workspaceId });

/**
 * Reads the rows of the ledger.
 *
 * @param part the archive that these rows belong to, if it exists. When its files are written, its rows are deleted, so
 * that the rest is read from a file
 */
async function* readLedger(
  parts: RowExportParts,
  unit: ArchiveUnit,
  part: number,
  query: RowExportQuery,
): AsyncGenerator<ArchiveRow[]> {
  const { fromMs, toMs } = query;
  for (let after: RowPosition | undefined; ; ) {
    const page = await parts.archives.readRows({ ...unit, fromMs, toMs, after, limit: PAGE_ROWS });
    const archive = (await listParts(parts, unit)).find((each) => each.part === part);
    if (archive && archive.state !== 'begun') {
      yield* readStored(parts, archive, query, after);
      return;
    }
    if (page.length > 0) yield page;
    if (page.length < PAGE_ROWS) return;
    after = positionOf(page.at(-1)!);
  }
}

async function* readStored(
  { objects }: RowExportParts,
  archive: ArchiveRecord,
  { fromMs, toMs }: RowExportQuery,
  after?: RowPosition,
): AsyncGenerator<ArchiveRow[]> {
  for await (const rows of readArchive(objects, archive)) {
    const wanted = rows.filter((row) => {
      const { createdAtMs, id } = positionOf(row);
      if (createdAtMs < fromMs || createdAtMs >= toMs) return false;
      return !after || createdAtMs > after.createdAtMs || (createdAtMs === after.createdAtMs && id > after.id);
    });
    if (wanted.length > 0) yield wanted;
  }
}
