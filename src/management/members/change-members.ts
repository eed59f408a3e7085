import { type Issue, invalidRequest } from '../../domain/errors.ts';
import { noRateLimits } from '../../domain/rate-limits.ts';
import type { WorkspaceMemberRecord } from '../../platform/storage/ports/members.ts';
import { applyChange } from '../apply-change.ts';
import { listChanges } from '../list-changes.ts';
import type { Actor, Edit, ManagementParts } from '../parts.ts';
import { getWorkspace } from '../workspaces/find-workspace.ts';
import type { MemberIdsBody } from './schema.ts';

/** Changes to the members of one workspace that apply together or not at all. */
export interface MemberChanges {
  add?: MemberIdsBody | undefined;
  remove?: MemberIdsBody | undefined;
}

export interface ChangedMembers {
  /** The number of members that were not in the workspace before. */
  addedCount: number;
  /** The members to add, whether or not they were in the workspace before. */
  added: WorkspaceMemberRecord[];
  removedCount: number;
}

/**
 * Adds members to a workspace, then removes others. Creates members that do not exist.
 *
 * @param idOrSlug of the workspace
 * @throws {GatewayError} `not_found`; `invalid_request` if a member to remove has a key in the workspace
 */
export const changeMembers = (
  parts: ManagementParts,
  actor: Actor,
  idOrSlug: string,
  { add, remove }: MemberChanges,
): Promise<ChangedMembers> =>
  applyChange(parts, actor, async (edit) => {
    const { id } = await getWorkspace(edit.transaction, idOrSlug);
    const { count, members } = add ? await joinMembers(edit, id, add.user_ids) : { count: 0, members: [] };
    return {
      addedCount: count,
      added: members,
      removedCount: remove ? await leaveMembers(edit, id, remove.user_ids) : 0,
    };
  });

/** @returns the number of members that were not in the workspace before, and all members that were named */
export async function joinMembers(
  { transaction, nowMs }: Edit,
  workspaceId: string,
  userIds: readonly string[],
): Promise<{ count: number; members: WorkspaceMemberRecord[] }> {
  const wanted = [...new Set(userIds)];
  const there = new Set((await transaction.findWorkspaceMembers(workspaceId, wanted)).map((one) => one.memberId));
  const added = wanted.filter((userId) => !there.has(userId));
  for (const memberId of added) {
    if (!(await transaction.findMember(memberId))) {
      await transaction.saveMember({ id: memberId, createdAtMs: nowMs, rateLimits: noRateLimits });
      await transaction.record({
        action: 'member.create',
        objectKind: 'member',
        objectId: memberId,
        workspaceId: null,
        changes: {},
      });
    }
    await transaction.joinWorkspace({ workspaceId, memberId, role: 'member', createdAtMs: nowMs });
    const changes = listChanges(undefined, { role: 'member' });
    await transaction.record({
      action: 'member.add',
      objectKind: 'member',
      objectId: memberId,
      workspaceId,
      changes,
    });
  }
  return { count: added.length, members: await transaction.findWorkspaceMembers(workspaceId, wanted) };
}

async function leaveMembers({ transaction }: Edit, workspaceId: string, userIds: readonly string[]): Promise<number> {
  const owners = new Set(await transaction.findKeyOwners(workspaceId, userIds));
  const issues = userIds.flatMap((userId, index): Issue[] => {
    if (!owners.has(userId)) return [];
    const message = `${JSON.stringify(userId)} has a key in this workspace; disable or delete it first.`;
    return [{ path: `user_ids[${index}]`, message }];
  });
  if (issues.length > 0) throw invalidRequest(issues);
  const members = await transaction.findWorkspaceMembers(workspaceId, userIds);
  for (const { memberId, role } of members) {
    await transaction.leaveWorkspace(workspaceId, memberId);
    const changes = listChanges({ role }, undefined);
    await transaction.record({
      action: 'member.remove',
      objectKind: 'member',
      objectId: memberId,
      workspaceId,
      changes,
    });
  }
  return members.length;
}
