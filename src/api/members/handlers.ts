import { getMember } from '../../management/members/find-member.ts';
import { checkUpdateMember } from '../../management/members/schema.ts';
import { updateMember } from '../../management/members/update-member.ts';
import { writeMember } from '../../management/members/write-member.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { actorOf, type ManagementApiParts, type ManagementHandler, pathParam } from '../management/route-handler.ts';

/** Members of all workspaces and their rate limits. @see docs/reference/management.md#members */
export function createMemberHandlers(
  parts: ManagementApiParts,
): Record<'listMembers' | 'findMember' | 'updateMember', ManagementHandler> {
  const { management } = parts;
  return {
    async listMembers(request) {
      const page = readQuery(request, readPage);
      const { rows, total } = await callStore(() => management.listMembers(page));
      return { data: rows.map(writeMember), total_count: total };
    },

    async findMember(request) {
      const member = await callStore(() => getMember(management, pathParam(request, 'id')));
      return { data: writeMember(member) };
    },

    async updateMember(request) {
      const body = checkUpdateMember(request.body);
      const member = await callStore(() => updateMember(parts, actorOf(request), pathParam(request, 'id'), body));
      return { data: writeMember(member) };
    },
  };
}
