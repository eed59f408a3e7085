import type { WorkspaceRecord } from '../storage.ts';
import { type Integer, readNumber, writeText } from './columns.ts';
import type { Database } from './database.ts';
import { changeAccess } from './revisions.ts';

export interface WorkspaceTable {
  id: string;
  name: string;
  created_at_ms: Integer;
}

/** Oldest first. */
export async function listWorkspaces(db: Database): Promise<WorkspaceRecord[]> {
  const rows = await db.selectFrom('workspaces').selectAll().orderBy('created_at_ms').orderBy('id').execute();
  return rows.map((row) => ({ id: row.id, name: row.name, createdAtMs: readNumber(row.created_at_ms) }));
}

/** Inserts, or renames. The same name again is no change. */
export async function putWorkspace(db: Database, workspace: WorkspaceRecord): Promise<void> {
  await changeAccess(db, async (trx) => {
    const result = await trx
      .insertInto('workspaces')
      .values({ id: workspace.id, name: writeText(workspace.name), created_at_ms: workspace.createdAtMs })
      .onConflict((oc) =>
        oc
          .column('id')
          .doUpdateSet((eb) => ({ name: eb.ref('excluded.name') }))
          .whereRef('workspaces.name', '<>', 'excluded.name'),
      )
      .executeTakeFirst();
    return result.numInsertedOrUpdatedRows !== 0n;
  });
}
