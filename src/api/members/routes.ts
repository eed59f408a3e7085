import { getMember } from '../../management/members/find-member.ts';
import { checkUpdateMember } from '../../management/members/schema.ts';
import { updateMember } from '../../management/members/update-member.ts';
import { writeMember } from '../../management/members/write-member.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { actorOf, managementRoutes } from '../management/route.ts';
import { pageQuery } from '../../openapi/parameters.ts';
import { memberList, oneMember } from './shapes.ts';

const route = managementRoutes('Members');

/** Members of all workspaces and their rate limits. @see docs/reference/management.md#members */
export const memberRoutes = [
  route('GET', '/members', {
    id: 'listMembers',
    summary: 'List the members',
    query: pageQuery,
    response: { description: 'A page of members.', schema: memberList },
    handle: async (parts, { request }) => {
      const page = readQuery(request, readPage);
      const { rows, total } = await callStore(() => parts.management.listMembers(page));
      return { data: rows.map(writeMember), total_count: total };
    },
  }),
  route('GET', '/members/:id', {
    id: 'findMember',
    summary: 'Find a member',
    response: { description: 'The member.', schema: oneMember },
    handle: async (parts, { params }) => {
      const member = await callStore(() => getMember(parts.management, params.id));
      return { data: writeMember(member) };
    },
  }),
  route('PATCH', '/members/:id', {
    id: 'updateMember',
    summary: 'Change a member',
    body: { check: checkUpdateMember, example: { requests_per_minute: 60 } },
    response: { description: 'The member.', schema: oneMember },
    handle: async (parts, { request, params, body }) => {
      const member = await callStore(() => updateMember(parts, actorOf(request), params.id, body));
      return { data: writeMember(member) };
    },
  }),
];
