import { type Issue, invalidRequest } from '../../domain/errors.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { askStore, type Handler, listChanges, type ManagementParts, makeChange } from '../management/store.ts';
import { getWorkspace } from './find-workspace.ts';
import { checkMembers } from './schema.ts';
import { writeMember } from './write-workspace.ts';

/** Members of workspaces: names without a login. @see platform.md sections 2 and 7 */
export function createMemberHandlers(
  parts: ManagementParts,
): Record<'listMembers' | 'addMembers' | 'removeMembers', Handler> {
  const { management } = parts;
  return {
    async listMembers(request) {
      const page = readQuery(request, readPage);
      return askStore(async () => {
        const { id } = await getWorkspace(management, request);
        const { rows, total } = await management.listWorkspaceMembers(id, page);
        return { data: rows.map(writeMember), total_count: total };
      });
    },

    async addMembers(request) {
      const userIds = [...new Set(checkMembers(request.body).user_ids)];
      return makeChange(parts, request, async (transaction, nowMs) => {
        const { id: workspaceId } = await getWorkspace(transaction, request);
        const there = new Set(
          (await transaction.findWorkspaceMembers(workspaceId, userIds)).map((one) => one.memberId),
        );
        const added = userIds.filter((userId) => !there.has(userId));
        for (const memberId of added) {
          if (!(await transaction.hasMember(memberId))) {
            await transaction.putMember({ id: memberId, createdAtMs: nowMs });
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
        const data = await transaction.findWorkspaceMembers(workspaceId, userIds);
        return { added_count: added.length, data: data.map(writeMember) };
      });
    },

    async removeMembers(request) {
      const sent = checkMembers(request.body).user_ids;
      return makeChange(parts, request, async (transaction) => {
        const { id: workspaceId } = await getWorkspace(transaction, request);
        const owners = new Set(await transaction.findKeyOwners(workspaceId, sent));
        const issues = sent.flatMap((userId, index): Issue[] => {
          if (!owners.has(userId)) return [];
          const message = `${JSON.stringify(userId)} has a key in this workspace; disable or delete it first.`;
          return [{ path: `user_ids[${index}]`, message }];
        });
        if (issues.length > 0) throw invalidRequest(issues);
        const members = await transaction.findWorkspaceMembers(workspaceId, sent);
        for (const { memberId, role } of members) {
          await transaction.leaveWorkspace(workspaceId, memberId);
          const changes = listChanges({ role }, undefined);
          await transaction.record({
            ...{ action: 'member.remove', objectKind: 'member', objectId: memberId, workspaceId, changes },
          });
        }
        return { removed_count: members.length };
      });
    },
  };
}
