import type { MemberRecord } from '../storage.ts';
import { type Integer, readNumber } from './columns.ts';
import type { Database } from './database.ts';
import { changeAccess } from './revisions.ts';

export interface MemberTable {
  id: string;
  created_at_ms: Integer;
}
/** Which member belongs to which workspaces. */
export interface MembershipTable {
  member_id: string;
  workspace_id: string;
}

/** Oldest first. */
export async function listMembers(db: Database): Promise<MemberRecord[]> {
  const rows = await db.selectFrom('members').selectAll().orderBy('created_at_ms').orderBy('id').execute();
  return rows.map((row) => ({ id: row.id, createdAtMs: readNumber(row.created_at_ms) }));
}

/** Inserts; a member who is there stays as they are. */
export async function putMember(db: Database, member: MemberRecord): Promise<void> {
  await changeAccess(db, async (trx) => {
    const result = await trx
      .insertInto('members')
      .values({ id: member.id, created_at_ms: member.createdAtMs })
      .onConflict((oc) => oc.column('id').doNothing())
      .executeTakeFirst();
    return result.numInsertedOrUpdatedRows !== 0n;
  });
}

/** By member, then workspace. */
export async function listMemberships(db: Database): Promise<{ memberId: string; workspaceId: string }[]> {
  const rows = await db.selectFrom('memberships').selectAll().orderBy('member_id').orderBy('workspace_id').execute();
  return rows.map((row) => ({ memberId: row.member_id, workspaceId: row.workspace_id }));
}

/** Rejects, and changes nothing, when the member or one of the workspaces does not exist. */
export async function setMemberships(db: Database, memberId: string, workspaceIds: readonly string[]): Promise<void> {
  await changeAccess(db, async (trx) => {
    let left = trx.deleteFrom('memberships').where('member_id', '=', memberId);
    if (workspaceIds.length > 0) left = left.where('workspace_id', 'not in', workspaceIds);
    const { numDeletedRows } = await left.executeTakeFirst();
    if (workspaceIds.length === 0) return numDeletedRows !== 0n;

    const joined = await trx
      .insertInto('memberships')
      .values(workspaceIds.map((workspaceId) => ({ member_id: memberId, workspace_id: workspaceId })))
      .onConflict((oc) => oc.columns(['member_id', 'workspace_id']).doNothing())
      .executeTakeFirst();
    return numDeletedRows !== 0n || joined.numInsertedOrUpdatedRows !== 0n;
  });
}
