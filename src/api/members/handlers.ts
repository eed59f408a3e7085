import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../../domain/errors.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { MemberRecord } from '../../platform/storage/ports/members.ts';
import { applyChange } from '../management/change.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { type ManagementHandler, type ManagementParts, pathParam } from '../management/route-handler.ts';
import { updateMember } from '../../management/members/change-member.ts';
import { checkUpdateMember } from '../../management/members/schema.ts';
import { writeMember } from '../../management/members/write-member.ts';

/** Members of all workspaces and their rate limits. @see docs/reference/management.md#members */
export function createMemberHandlers(
  parts: ManagementParts,
): Record<'listMembers' | 'findMember' | 'updateMember', ManagementHandler> {
  const { management } = parts;
  return {
    async listMembers(request) {
      const page = readQuery(request, readPage);
      const { rows, total } = await callStore(() => management.listMembers(page));
      return { data: rows.map(writeMember), total_count: total };
    },

    findMember: (request) => callStore(async () => ({ data: writeMember(await getMember(management, request)) })),

    async updateMember(request) {
      const body = checkUpdateMember(request.body);
      const member = await applyChange(parts, request, async (transaction) =>
        updateMember(transaction, await getMember(transaction, request), body),
      );
      return { data: writeMember(member) };
    },
  };
}

/** @throws {GatewayError} `not_found` */
async function getMember(
  from: { findMember(id: string): Promise<MemberRecord | undefined> },
  request: FastifyRequest,
): Promise<MemberRecord> {
  const id = pathParam(request, 'id');
  const member = await from.findMember(id);
  if (!member) throw new GatewayError('not_found', `There is no member with the id ${id.slice(0, 100)}.`);
  return member;
}
