import { type Issue, invalidRequest } from '../../domain/errors.ts';
import { noRateLimits } from '../../domain/rate-limits.ts';
import type { ManagementTransaction } from '../../platform/storage/ports/management.ts';
import type { WorkspaceMemberRecord } from '../../platform/storage/ports/members.ts';
import { listChanges } from '../list-changes.ts';

// What the management API and the command line do to memberships, each with its line in the audit log.

/**
 * Adds members; one that nobody knows is made.
 *
 * @returns how many were not there before, and all that were named
 */
export async function addMembers(
  transaction: ManagementTransaction,
  workspaceId: string,
  userIds: readonly string[],
  nowMs: number,
): Promise<{ count: number; members: WorkspaceMemberRecord[] }> {
  const wanted = [...new Set(userIds)];
  const there = new Set((await transaction.findWorkspaceMembers(workspaceId, wanted)).map((one) => one.memberId));
  const added = wanted.filter((userId) => !there.has(userId));
  for (const memberId of added) {
    if (!(await transaction.findMember(memberId))) {
      await transaction.saveMember({ id: memberId, createdAtMs: nowMs, rateLimits: noRateLimits });
      await transaction.record({
        ...{ action: 'member.create', objectKind: 'member', objectId: memberId, workspaceId: null, changes: {} },
      });
    }
    await transaction.joinWorkspace({ workspaceId, memberId, role: 'member', createdAtMs: nowMs });
    const changes = listChanges(undefined, { role: 'member' });
    await transaction.record({
      ...{ action: 'member.add', objectKind: 'member', objectId: memberId, workspaceId, changes },
    });
  }
  return { count: added.length, members: await transaction.findWorkspaceMembers(workspaceId, wanted) };
}

/**
 * Removes members.
 *
 * @returns how many were there
 * @throws {GatewayError} `invalid_request` when one of them has a key there; then nobody is removed
 */
export async function removeMembers(
  transaction: ManagementTransaction,
  workspaceId: string,
  userIds: readonly string[],
): Promise<number> {
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
      ...{ action: 'member.remove', objectKind: 'member', objectId: memberId, workspaceId, changes },
    });
  }
  return members.length;
}
