import { changeMembers } from '../../management/members/change-members.ts';
import { listMembersOfWorkspace } from '../../management/members/find-member.ts';
import { checkMemberIds } from '../../management/members/schema.ts';
import { writeWorkspaceMember } from '../../management/members/write-member.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { actorOf, managementRoutes } from '../management/route.ts';
import { pageQuery } from '../../openapi/parameters.ts';
import { addedMembers, removedMembers, workspaceMemberList } from './shapes.ts';

const route = managementRoutes('Workspaces');

/** Members of a workspace. A member is an id without a login. @see docs/reference/management.md#members */
export const workspaceMemberRoutes = [
  route('GET', '/workspaces/:id/members', {
    id: 'listWorkspaceMembers',
    summary: 'List the members of a workspace',
    query: pageQuery,
    response: { description: 'A page of members.', schema: workspaceMemberList },
    handle: async (parts, { request, params }) => {
      const page = readQuery(request, readPage);
      const { rows, total } = await callStore(() => listMembersOfWorkspace(parts, params.id, page));
      return { data: rows.map(writeWorkspaceMember), total_count: total };
    },
  }),
  route('POST', '/workspaces/:id/members/add', {
    id: 'addMembers',
    summary: 'Add members to a workspace',
    body: { check: checkMemberIds, example: { user_ids: ['ada'] } },
    response: { description: 'The members of the body.', schema: addedMembers },
    handle: async (parts, { request, params, body: add }) => {
      const changed = await callStore(() => changeMembers(parts, actorOf(request), params.id, { add }));
      return { added_count: changed.addedCount, data: changed.added.map(writeWorkspaceMember) };
    },
  }),
  route('POST', '/workspaces/:id/members/remove', {
    id: 'removeMembers',
    summary: 'Remove members from a workspace',
    body: { check: checkMemberIds, example: { user_ids: ['ada'] } },
    response: { description: 'The number of removed members.', schema: removedMembers },
    statuses: [409],
    handle: async (parts, { request, params, body: remove }) => {
      const changed = await callStore(() => changeMembers(parts, actorOf(request), params.id, { remove }));
      return { removed_count: changed.removedCount };
    },
  }),
];
