import { callStore } from '../../platform/storage/call-store.ts';
import { applyChange } from '../management/change.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { type ManagementHandler, type ManagementParts, pathParam } from '../management/route-handler.ts';
import { addMembers, removeMembers } from '../../management/members/change-members.ts';
import { getWorkspace } from '../../management/workspaces/find-workspace.ts';
import { checkMembers } from '../../management/workspaces/schema.ts';
import { writeWorkspaceMember } from '../../management/workspaces/write-workspace.ts';

/** Members of workspaces: names without a login. @see docs/reference/management.md#members */
export function createWorkspaceMemberHandlers(
  parts: ManagementParts,
): Record<'listWorkspaceMembers' | 'addMembers' | 'removeMembers', ManagementHandler> {
  const { management } = parts;
  return {
    async listWorkspaceMembers(request) {
      const page = readQuery(request, readPage);
      return callStore(async () => {
        const { id } = await getWorkspace(management, pathParam(request, 'id'));
        const { rows, total } = await management.listWorkspaceMembers(id, page);
        return { data: rows.map(writeWorkspaceMember), total_count: total };
      });
    },

    async addMembers(request) {
      const { user_ids: userIds } = checkMembers(request.body);
      return applyChange(parts, request, async (transaction, nowMs) => {
        const { id } = await getWorkspace(transaction, pathParam(request, 'id'));
        const { count, members } = await addMembers(transaction, id, userIds, nowMs);
        return { added_count: count, data: members.map(writeWorkspaceMember) };
      });
    },

    async removeMembers(request) {
      const { user_ids: userIds } = checkMembers(request.body);
      return applyChange(parts, request, async (transaction) => {
        const { id } = await getWorkspace(transaction, pathParam(request, 'id'));
        return { removed_count: await removeMembers(transaction, id, userIds) };
      });
    },
  };
}
