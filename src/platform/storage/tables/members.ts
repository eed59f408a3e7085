import { type Selectable, sql } from 'kysely';
import type { Listed, MemberRecord, Page, WorkspaceMemberRecord } from '../storage.ts';
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
  role: WorkspaceMemberRecord['role'];
  created_at_ms: Integer;
}

/** Oldest first. */
export async function listMembers(db: Database): Promise<MemberRecord[]> {
  const rows = await db.selectFrom('members').selectAll().orderBy('created_at_ms').orderBy('id').execute();
  return rows.map((row) => ({ id: row.id, createdAtMs: readNumber(row.created_at_ms) }));
}

/** Inserts; a member who is there stays as they are. */
export async function putMember(db: Database, member: MemberRecord): Promise<void> {
  await changeAccess(db, (trx) => insertMemberRow(trx, member));
}

/** `putMember` as a part of a change. @returns whether it changed anything */
export async function insertMemberRow(trx: Database, member: MemberRecord): Promise<boolean> {
  const result = await trx
    .insertInto('members')
    .values({ id: member.id, created_at_ms: member.createdAtMs })
    .onConflict((oc) => oc.column('id').doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows !== 0n;
}

export async function hasMember(db: Database, id: string): Promise<boolean> {
  return (await db.selectFrom('members').select('id').where('id', '=', id).executeTakeFirst()) !== undefined;
}

/** Oldest first. */
export async function listWorkspaceMembers(
  db: Database,
  workspaceId: string,
  { offset, limit }: Page,
): Promise<Listed<WorkspaceMemberRecord>> {
  const all = db.selectFrom('memberships').where('workspace_id', '=', workspaceId);
  const { total } = await all.select(sql<bigint>`count(*)`.as('total')).executeTakeFirstOrThrow();
  const rows = await all
    .selectAll()
    .orderBy('created_at_ms')
    .orderBy('member_id')
    .limit(limit)
    .offset(offset)
    .execute();
  return { rows: rows.map(readMembership), total: readNumber(total) };
}

/** Those of the members who belong to the workspace, oldest first. */
export async function findWorkspaceMembers(
  db: Database,
  workspaceId: string,
  memberIds: readonly string[],
): Promise<WorkspaceMemberRecord[]> {
  const rows = await db
    .selectFrom('memberships')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('member_id', 'in', memberIds)
    .orderBy('created_at_ms')
    .orderBy('member_id')
    .execute();
  return rows.map(readMembership);
}

/** Inserts; who belongs to it already stays as they are. */
export async function joinWorkspace(trx: Database, membership: WorkspaceMemberRecord): Promise<void> {
  await trx
    .insertInto('memberships')
    .values({
      member_id: membership.memberId,
      workspace_id: membership.workspaceId,
      role: membership.role,
      created_at_ms: membership.createdAtMs,
    })
    .onConflict((oc) => oc.columns(['member_id', 'workspace_id']).doNothing())
    .execute();
}

export async function leaveWorkspace(trx: Database, workspaceId: string, memberId: string): Promise<void> {
  await trx
    .deleteFrom('memberships')
    .where('workspace_id', '=', workspaceId)
    .where('member_id', '=', memberId)
    .execute();
}

const readMembership = (row: Selectable<MembershipTable>): WorkspaceMemberRecord => ({
  workspaceId: row.workspace_id,
  memberId: row.member_id,
  role: row.role,
  createdAtMs: readNumber(row.created_at_ms),
});

/** By member, then workspace. */
export async function listMemberships(db: Database): Promise<{ memberId: string; workspaceId: string }[]> {
  const rows = await db.selectFrom('memberships').selectAll().orderBy('member_id').orderBy('workspace_id').execute();
  return rows.map((row) => ({ memberId: row.member_id, workspaceId: row.workspace_id }));
}

/** Rejects, and changes nothing, when the member or one of the workspaces does not exist. */
export async function setMemberships(db: Database, memberId: string, workspaceIds: readonly string[]): Promise<void> {
  const now = Date.now();
  await changeAccess(db, async (trx) => {
    let left = trx.deleteFrom('memberships').where('member_id', '=', memberId);
    if (workspaceIds.length > 0) left = left.where('workspace_id', 'not in', workspaceIds);
    const { numDeletedRows } = await left.executeTakeFirst();
    if (workspaceIds.length === 0) return numDeletedRows !== 0n;

    const joined = await trx
      .insertInto('memberships')
      .values(
        workspaceIds.map((workspaceId) => ({
          member_id: memberId,
          workspace_id: workspaceId,
          role: 'member' as const,
          created_at_ms: now,
        })),
      )
      .onConflict((oc) => oc.columns(['member_id', 'workspace_id']).doNothing())
      .executeTakeFirst();
    return numDeletedRows !== 0n || joined.numInsertedOrUpdatedRows !== 0n;
  });
}
