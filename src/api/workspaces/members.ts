import { changeMembers } from '../../management/members/change-members.ts';
import { listMembersOfWorkspace } from '../../management/members/find-member.ts';
import { checkMemberIds } from '../../management/members/schema.ts';
import { writeWorkspaceMember } from '../../management/members/write-member.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { actorOf, type ManagementApiParts, type ManagementHandler, pathParam } from '../management/route-handler.ts';

/** Members of a workspace. A member is an id without a login. @see docs/reference/management.md#members */
export function createWorkspaceMemberHandlers(
  parts: ManagementApiParts,
): Record<'listWorkspaceMembers' | 'addMembers' | 'removeMembers', ManagementHandler> {
  return {
    async listWorkspaceMembers(request) {
      const page = readQuery(request, readPage);
      const { rows, total } = await callStore(() => listMembersOfWorkspace(parts, pathParam(request, 'id'), page));
      return { data: rows.map(writeWorkspaceMember), total_count: total };
    },

    async addMembers(request) {
      const add = checkMemberIds(request.body);
      const changed = await callStore(() => changeMembers(parts, actorOf(request), pathParam(request, 'id'), { add }));
      return { added_count: changed.addedCount, data: changed.added.map(writeWorkspaceMember) };
    },

    async removeMembers(request) {
      const remove = checkMemberIds(request.body);
      const changed = await callStore(() =>
        changeMembers(parts, actorOf(request), pathParam(request, 'id'), { remove }),
      );
      return { removed_count: changed.removedCount };
    },
  };
}
