import type { FastifyRequest } from 'fastify';
import { assignGuardrail, unassignGuardrail } from '../../management/guardrails/assign-guardrail.ts';
import { getGuardrail } from '../../management/guardrails/find-guardrail.ts';
import { checkKeyHashes, checkMemberUserIds } from '../../management/guardrails/schema.ts';
import { writeKeyAssignment, writeMemberAssignment } from '../../management/guardrails/write-guardrail.ts';
import { pageQuery } from '../../openapi/parameters.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { GuardrailAssignee } from '../../platform/storage/ports/guardrails.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { actorOf, type ManagementApiParts, managementRoutes } from '../management/route.ts';
import { assigned, keyAssignmentList, memberAssignmentList, unassigned } from './shapes.ts';

const route = managementRoutes('Guardrails');

async function list(
  { management }: ManagementApiParts,
  request: FastifyRequest,
  kind: GuardrailAssignee['kind'],
  guardrailId?: string,
) {
  const page = readQuery(request, readPage);
  return callStore(async () => {
    if (guardrailId !== undefined) await getGuardrail(management, guardrailId);
    return management.listAssignments({ ...page, kind, guardrailId });
  });
}

const keyRoutes = [
  route('GET', '/guardrails/assignments/keys', {
    id: 'listKeyAssignments',
    summary: 'List the guardrails of all keys',
    query: pageQuery,
    response: { description: 'A page of assignments.', schema: keyAssignmentList },
    handle: async (parts, { request }) => {
      const { rows, total } = await list(parts, request, 'key');
      return { data: rows.map(writeKeyAssignment), total_count: total };
    },
  }),
  route('GET', '/guardrails/:id/assignments/keys', {
    id: 'listGuardrailKeys',
    summary: 'List the keys of a guardrail',
    query: pageQuery,
    response: { description: 'A page of assignments.', schema: keyAssignmentList },
    handle: async (parts, { request, params }) => {
      const { rows, total } = await list(parts, request, 'key', params.id);
      return { data: rows.map(writeKeyAssignment), total_count: total };
    },
  }),
  route('POST', '/guardrails/:id/assignments/keys', {
    id: 'assignKeys',
    summary: 'Assign a guardrail to keys',
    body: { check: checkKeyHashes, example: { key_hashes: ['0'.repeat(64)] } },
    response: { description: 'The number of assigned keys.', schema: assigned },
    statuses: [409],
    handle: async (parts, { request, params, body }) => {
      const keys = { kind: 'key', field: 'key_hashes', ids: body.key_hashes } as const;
      return { assigned_count: await callStore(() => assignGuardrail(parts, actorOf(request), params.id, [keys])) };
    },
  }),
  route('POST', '/guardrails/:id/assignments/keys/remove', {
    id: 'unassignKeys',
    summary: 'Take a guardrail from keys',
    body: { check: checkKeyHashes, example: { key_hashes: ['0'.repeat(64)] } },
    response: { description: 'The number of keys without it.', schema: unassigned },
    handle: async (parts, { request, params, body }) => {
      const keys = { kind: 'key', ids: body.key_hashes } as const;
      return {
        unassigned_count: await callStore(() => unassignGuardrail(parts, actorOf(request), params.id, [keys])),
      };
    },
  }),
];

const memberRoutes = [
  route('GET', '/guardrails/assignments/members', {
    id: 'listMemberAssignments',
    summary: 'List the guardrails of all members',
    query: pageQuery,
    response: { description: 'A page of assignments.', schema: memberAssignmentList },
    handle: async (parts, { request }) => {
      const { rows, total } = await list(parts, request, 'member');
      return { data: rows.map(writeMemberAssignment), total_count: total };
    },
  }),
  route('GET', '/guardrails/:id/assignments/members', {
    id: 'listGuardrailMembers',
    summary: 'List the members of a guardrail',
    query: pageQuery,
    response: { description: 'A page of assignments.', schema: memberAssignmentList },
    handle: async (parts, { request, params }) => {
      const { rows, total } = await list(parts, request, 'member', params.id);
      return { data: rows.map(writeMemberAssignment), total_count: total };
    },
  }),
  route('POST', '/guardrails/:id/assignments/members', {
    id: 'assignMembers',
    summary: 'Assign a guardrail to members',
    body: { check: checkMemberUserIds, example: { member_user_ids: ['ada'] } },
    response: { description: 'The number of assigned members.', schema: assigned },
    statuses: [409],
    handle: async (parts, { request, params, body }) => {
      const members = { kind: 'member', field: 'member_user_ids', ids: body.member_user_ids } as const;
      return {
        assigned_count: await callStore(() => assignGuardrail(parts, actorOf(request), params.id, [members])),
      };
    },
  }),
  route('POST', '/guardrails/:id/assignments/members/remove', {
    id: 'unassignMembers',
    summary: 'Take a guardrail from members',
    body: { check: checkMemberUserIds, example: { member_user_ids: ['ada'] } },
    response: { description: 'The number of members without it.', schema: unassigned },
    handle: async (parts, { request, params, body }) => {
      const members = { kind: 'member', ids: body.member_user_ids } as const;
      return {
        unassigned_count: await callStore(() => unassignGuardrail(parts, actorOf(request), params.id, [members])),
      };
    },
  }),
];

/** The guardrail of a key or a member: at most one. */
export const assignmentRoutes = [...keyRoutes, ...memberRoutes];
