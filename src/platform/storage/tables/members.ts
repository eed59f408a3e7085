import { isDeepStrictEqual } from 'node:util';
import { type Selectable, sql } from 'kysely';
import { noRateLimits, type RateLimits } from '../../../domain/rate-limits.ts';
import { currentTimeMs } from '../../../domain/clock.ts';
import type { MemberRecord, WorkspaceMemberRecord } from '../ports/members.ts';
import type { Listed, Page } from '../ports/page.ts';
import { readNumber, writeTextColumn } from './columns.ts';
import type { Database, MembershipTable, MemberTable } from './database.ts';
import { readRates, writeRates } from './rate-columns.ts';
import { changeAccess } from './revisions.ts';

/** Lists the oldest first. */
export async function listMembers(db: Database): Promise<MemberRecord[]> {
  const rows = await selectOldest(db).execute();
  return rows.map(readMember);
}

const selectOldest = (db: Database) => db.selectFrom('members').selectAll().orderBy('created_at_ms').orderBy('id');

/** Lists the oldest first. */
export async function listMemberPage(db: Database, { offset, limit }: Page): Promise<Listed<MemberRecord>> {
  const { total } = await db.selectFrom('members').select(sql<bigint>`count(*)`.as('total')).executeTakeFirstOrThrow();
  const rows = await selectOldest(db).limit(limit).offset(offset).execute();
  return { rows: rows.map(readMember), total: readNumber(total) };
}

const readMember = (row: Selectable<MemberTable>): MemberRecord => ({
  id: row.id,
  createdAtMs: readNumber(row.created_at_ms),
  rateLimits: readRates(row),
});

/** Inserts a member. Does not change an existing one. */
export async function putMember(
  db: Database,
  { id, createdAtMs }: Pick<MemberRecord, 'id' | 'createdAtMs'>,
): Promise<void> {
  await changeAccess(db, async (trx) => {
    const result = await insertMember(trx, { id, createdAtMs, rateLimits: noRateLimits })
      .onConflict((oc) => oc.column('id').doNothing())
      .executeTakeFirst();
    return result.numInsertedOrUpdatedRows !== 0n;
  });
}

/** Inserts, or replaces all columns except `created_at_ms`. */
export async function saveMember(trx: Database, member: MemberRecord): Promise<void> {
  await insertMember(trx, member)
    .onConflict((oc) => oc.column('id').doUpdateSet(writeRates(member.rateLimits)))
    .execute();
}

const insertMember = (trx: Database, { id, createdAtMs, rateLimits }: MemberRecord) =>
  trx.insertInto('members').values({ id, created_at_ms: createdAtMs, ...writeRates(rateLimits) });

/** Replaces the given limits. Identical limits are not a change. */
export async function setMemberRates(db: Database, id: string, limits: Partial<RateLimits>): Promise<void> {
  await changeAccess(db, async (trx) => {
    const known = await findMember(trx, id);
    if (!known) return false;
    const wanted = { ...known.rateLimits, ...limits };
    if (isDeepStrictEqual(wanted, known.rateLimits)) return false;
    await saveMember(trx, { ...known, rateLimits: wanted });
    return true;
  });
}

export async function findMember(db: Database, id: string): Promise<MemberRecord | undefined> {
  const row = await db.selectFrom('members').selectAll().where('id', '=', writeTextColumn(id)).executeTakeFirst();
  return row && readMember(row);
}

/** Lists the oldest first. */
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

/** Finds the given members that belong to the workspace, oldest first. */
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

/** Inserts a membership. Does not change an existing one. */
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

/** Lists by member, then workspace. */
export async function listMemberships(db: Database): Promise<{ memberId: string; workspaceId: string }[]> {
  const rows = await db.selectFrom('memberships').selectAll().orderBy('member_id').orderBy('workspace_id').execute();
  return rows.map((row) => ({ memberId: row.member_id, workspaceId: row.workspace_id }));
}

/** Rejects and changes nothing if the member or one of the workspaces does not exist. */
export async function setMemberships(db: Database, memberId: string, workspaceIds: readonly string[]): Promise<void> {
  const now = currentTimeMs();
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
