import { type Selectable, sql } from 'kysely';
import type { FileListQuery, FileRecord, FileRefusal, FileUsage } from '../ports/files.ts';
import type { Change } from '../ports/management.ts';
import { appendNextAudit } from './audit.ts';
import { readFlag, readNumber, writeFlag, writeNullableText, writeTextColumn } from './columns.ts';
import type { Database, FileTable } from './database.ts';
import { queueFile } from './passages.ts';
import { isInFolder } from './select-files.ts';
import { serializeChanges } from './revisions.ts';

/** Inserts a file and its audit entry, unless a limit forbids it. */
export function addFile(
  db: Database,
  file: FileRecord,
  limits: FileUsage,
  change: Change,
): Promise<FileRefusal | undefined> {
  return db.transaction().execute(async (trx) => {
    await serializeChanges(trx);
    const refusal = await findRefusal(trx, file, limits);
    if (refusal !== undefined) return refusal;
    await trx.insertInto('files').values(writeFile(file)).execute();
    await queueFile(trx, file);
    await appendNextAudit(trx, change, describeFile('file.create', file));
    return undefined;
  });
}

async function findRefusal(trx: Database, file: FileRecord, limits: FileUsage): Promise<FileRefusal | undefined> {
  const workspace = await trx
    .selectFrom('workspaces')
    .select('id')
    .where('id', '=', file.workspaceId)
    .executeTakeFirst();
  if (!workspace) return 'workspace';
  const used = await readFileUsage(trx, file.workspaceId);
  if (used.files + 1 > limits.files) return 'files';
  return used.bytes + file.bytes > limits.bytes ? 'bytes' : undefined;
}

export async function findFileRow(db: Database, workspaceId: string, id: string): Promise<FileRecord | undefined> {
  const row = await db
    .selectFrom('files')
    .selectAll()
    .where('id', '=', writeTextColumn(id))
    .where('workspace_id', '=', writeTextColumn(workspaceId))
    .executeTakeFirst();
  return row && readFile(row);
}

/** Finds the newest file of this name. */
export async function findFileByName(
  db: Database,
  workspaceId: string,
  filename: string,
): Promise<FileRecord | undefined> {
  const row = await db
    .selectFrom('files')
    .selectAll()
    .where('workspace_id', '=', writeTextColumn(workspaceId))
    .where('filename', '=', writeTextColumn(filename))
    .orderBy('id', 'desc')
    .executeTakeFirst();
  return row && readFile(row);
}

/** Lists the oldest first. */
export async function listFileRows(
  db: Database,
  { workspaceId, after, filter, folder, purpose, order = 'asc', limit }: FileListQuery,
): Promise<FileRecord[]> {
  let query = db.selectFrom('files').selectAll().where('workspace_id', '=', writeTextColumn(workspaceId));
  if (after !== undefined) query = query.where('id', order === 'asc' ? '>' : '<', writeTextColumn(after));
  if (filter !== undefined) {
    const pattern = `%${writeTextColumn(filter)
      .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
      .replaceAll(/[\\%_]/g, '\\$&')}%`;
    query = query.where(sql<boolean>`lower(filename) like ${pattern} escape '\\'`);
  }
  if (folder !== undefined) query = query.where(isInFolder(folder));
  if (purpose !== undefined)
    query = query.where(sql<boolean>`coalesce(purpose, 'user_data') = ${writeTextColumn(purpose)}`);
  return (await query.orderBy('id', order).limit(limit).execute()).map(readFile);
}

export async function readFileUsage(db: Database, workspaceId: string): Promise<FileUsage> {
  const row = await db
    .selectFrom('files')
    .select([sql<bigint>`count(*)`.as('files'), sql<bigint>`cast(coalesce(sum(bytes), 0) as bigint)`.as('bytes')])
    .where('workspace_id', '=', writeTextColumn(workspaceId))
    .executeTakeFirstOrThrow();
  return { files: readNumber(row.files), bytes: readNumber(row.bytes) };
}

/** Deletes a file, and records it. */
export function deleteFileRow(
  db: Database,
  workspaceId: string,
  id: string,
  change: Change,
): Promise<FileRecord | undefined> {
  return db.transaction().execute(async (trx) => {
    await serializeChanges(trx);
    const found = await findFileRow(trx, workspaceId, id);
    if (!found) return undefined;
    await trx.deleteFrom('files').where('id', '=', found.id).execute();
    await queueFile(trx, found);
    await appendNextAudit(trx, change, describeFile('file.delete', found));
    return found;
  });
}

/** Returns those of the ids that exist. */
export async function listExistingFiles(db: Database, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await db.selectFrom('files').select('id').where('id', 'in', ids.map(writeTextColumn)).execute();
  return rows.map(({ id }) => id);
}

function describeFile(action: 'file.create' | 'file.delete', file: FileRecord) {
  const fields = { filename: file.filename, mime_type: file.mimeType, size_bytes: file.bytes };
  const changes = Object.entries(fields).map(([name, value]) => [
    name,
    action === 'file.create' ? { before: null, after: value } : { before: value, after: null },
  ]);
  return {
    action,
    objectKind: 'file',
    objectId: file.id,
    workspaceId: file.workspaceId,
    changes: Object.fromEntries(changes),
  };
}

const writeFile = (file: FileRecord) => ({
  id: file.id,
  workspace_id: file.workspaceId,
  filename: writeTextColumn(file.filename),
  mime_type: file.mimeType,
  bytes: file.bytes,
  sha256: file.sha256,
  downloadable: writeFlag(file.downloadable),
  purpose: writeNullableText(file.purpose),
  created_at_ms: Math.round(file.createdAtMs),
});

const readFile = (row: Selectable<FileTable>): FileRecord => ({
  id: row.id,
  workspaceId: row.workspace_id,
  filename: row.filename,
  mimeType: row.mime_type,
  bytes: readNumber(row.bytes),
  sha256: row.sha256,
  downloadable: readFlag(row.downloadable),
  purpose: row.purpose,
  createdAtMs: readNumber(row.created_at_ms),
});
