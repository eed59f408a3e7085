import type { Selectable } from 'kysely';
import type { ContentRecord } from '../../../domain/content-record.ts';
import { readFlag, readNumber, writeFlag, writeTextColumn } from './columns.ts';
import type { Database, ContentTable } from './database.ts';

/** Stores contents that are not stored yet, all or none of them. The caller limits the size of a batch. */
export async function appendContents(db: Database, contents: readonly ContentRecord[]): Promise<void> {
  if (contents.length === 0) return;
  await db
    .insertInto('contents')
    .values(contents.map(writeContent))
    .onConflict((oc) => oc.column('id').doNothing())
    .execute();
}

/** @returns undefined also if the workspace was deleted: its contents are hidden until they expire */
export async function findContent(db: Database, id: string): Promise<ContentRecord | undefined> {
  const row = await db
    .selectFrom('contents')
    .innerJoin('workspaces', 'workspaces.id', 'contents.workspace_id')
    .selectAll('contents')
    .where('contents.id', '=', writeTextColumn(id))
    .executeTakeFirst();
  return row && readContent(row);
}

/** Finds the ids that have contents. */
export async function listKeptContents(db: Database, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom('contents')
    .innerJoin('workspaces', 'workspaces.id', 'contents.workspace_id')
    .select('contents.id')
    .where('contents.id', 'in', ids)
    .execute();
  return rows.map(({ id }) => id);
}

/** Deletes at most `max` older contents. */
export async function deleteContentsBefore(db: Database, beforeMs: number, max: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('contents')
    .where('id', 'in', (old) =>
      old
        .selectFrom('contents')
        .select('id')
        .where('created_at_ms', '<', BigInt(Math.round(beforeMs)))
        .orderBy('created_at_ms')
        .limit(max),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

// JSON escapes characters that no database stores (NUL, half surrogates), so the three texts need no `writeTextColumn`.
const writeContent = (content: ContentRecord) => ({
  id: content.id,
  workspace_id: content.workspaceId,
  created_at_ms: Math.round(content.createdAtMs),
  input: content.input,
  output: content.output,
  error: content.error,
  is_cut: writeFlag(content.isCut),
});

const readContent = (row: Selectable<ContentTable>): ContentRecord => ({
  id: row.id,
  workspaceId: row.workspace_id,
  createdAtMs: readNumber(row.created_at_ms),
  input: row.input,
  output: row.output,
  error: row.error,
  isCut: readFlag(row.is_cut),
});
