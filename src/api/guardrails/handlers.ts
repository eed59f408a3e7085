import type { FastifyRequest } from 'fastify';
import { assignGuardrail, unassignGuardrail } from '../../management/guardrails/assign-guardrail.ts';
import { createGuardrail } from '../../management/guardrails/create-guardrail.ts';
import { deleteGuardrail } from '../../management/guardrails/delete-guardrail.ts';
import { getGuardrail } from '../../management/guardrails/find-guardrail.ts';
import { findUnknownEntries } from '../../management/guardrails/find-unknown.ts';
import { listGuardrailBudgets } from '../../management/guardrails/list-budgets.ts';
import {
  checkCreateGuardrail,
  checkKeyHashes,
  checkMemberUserIds,
  checkTestGuardrail,
  checkUpdateGuardrail,
  type GuardrailSettingsBody,
} from '../../management/guardrails/schema.ts';
import { testFilters } from '../../management/guardrails/test-filters.ts';
import { updateGuardrail } from '../../management/guardrails/update-guardrail.ts';
import {
  writeGuardrail,
  writeKeyAssignment,
  writeMemberAssignment,
} from '../../management/guardrails/write-guardrail.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { GuardrailAssignee, GuardrailRecord, ListedAssignment } from '../../platform/storage/ports/guardrails.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { actorOf, type ManagementApiParts, type ManagementHandler, pathParam } from '../management/route-handler.ts';

/** Guardrails: what keys and members may use and spend. @see docs/reference/management.md#guardrails */
export function createGuardrailHandlers(
  parts: ManagementApiParts,
): Record<
  | 'listGuardrails'
  | 'createGuardrail'
  | 'findGuardrail'
  | 'updateGuardrail'
  | 'deleteGuardrail'
  | 'listGuardrailBudgets'
  | 'testGuardrail',
  ManagementHandler
> {
  const { management } = parts;
  const write = (guardrail: GuardrailRecord, body: GuardrailSettingsBody) => {
    const warnings = findUnknownEntries(body, parts.routingContext().catalog);
    return { data: writeGuardrail(guardrail), ...(warnings.length > 0 && { warnings }) };
  };
  return {
    async listGuardrails(request) {
      const query = readQuery(request, (reader) => ({
        ...readPage(reader),
        workspaceId: reader.text('workspace_id'),
      }));
      const { rows, total } = await callStore(() => management.listGuardrails(query));
      return { data: rows.map(writeGuardrail), total_count: total };
    },

    async createGuardrail(request, reply) {
      const body = checkCreateGuardrail(request.body);
      const guardrail = await callStore(() => createGuardrail(parts, actorOf(request), body));
      reply.code(201);
      return write(guardrail, body);
    },

    async testGuardrail(request) {
      const body = checkTestGuardrail(request.body);
      return { data: await callStore(() => testFilters(parts, body)) };
    },

    async findGuardrail(request) {
      const guardrail = await callStore(() => getGuardrail(management, pathParam(request, 'id')));
      return { data: writeGuardrail(guardrail) };
    },

    async updateGuardrail(request) {
      const body = checkUpdateGuardrail(request.body);
      const guardrail = await callStore(() => updateGuardrail(parts, actorOf(request), pathParam(request, 'id'), body));
      return write(guardrail, body);
    },

    async deleteGuardrail(request) {
      await callStore(() => deleteGuardrail(parts, actorOf(request), pathParam(request, 'id')));
      return { deleted: true };
    },

    async listGuardrailBudgets(request) {
      const page = readQuery(request, readPage);
      return callStore(async () => {
        const guardrail = await getGuardrail(management, pathParam(request, 'id'));
        const { rows, total } = await listGuardrailBudgets(parts, guardrail.id, page);
        return { data: rows, total_count: total, include_byok_in_budgets: guardrail.includeByokInBudgets };
      });
    },
  };
}

/** The difference between keys and members. */
interface Side {
  kind: GuardrailAssignee['kind'];
  /** The list in the body. */
  field: string;
  read: (body: unknown) => readonly string[];
  write: (assignment: ListedAssignment) => Record<string, unknown>;
}
const keySide: Side = {
  kind: 'key',
  field: 'key_hashes',
  read: (body) => checkKeyHashes(body).key_hashes,
  write: writeKeyAssignment,
};
const memberSide: Side = {
  kind: 'member',
  field: 'member_user_ids',
  read: (body) => checkMemberUserIds(body).member_user_ids,
  write: writeMemberAssignment,
};

/** The guardrail of a key or a member: at most one. */
export function createAssignmentHandlers(
  parts: ManagementApiParts,
): Record<
  | 'listKeyAssignments'
  | 'listGuardrailKeys'
  | 'assignKeys'
  | 'unassignKeys'
  | 'listMemberAssignments'
  | 'listGuardrailMembers'
  | 'assignMembers'
  | 'unassignMembers',
  ManagementHandler
> {
  const { management } = parts;
  const list = async (request: FastifyRequest, { kind, write }: Side, guardrailId?: string) => {
    const page = readQuery(request, readPage);
    return callStore(async () => {
      if (guardrailId !== undefined) await getGuardrail(management, guardrailId);
      const { rows, total } = await management.listAssignments({ ...page, kind, guardrailId });
      return { data: rows.map(write), total_count: total };
    });
  };
  const assign = async (request: FastifyRequest, { kind, field, read }: Side) => {
    const assignees = [{ kind, field, ids: read(request.body) }];
    const id = pathParam(request, 'id');
    return { assigned_count: await callStore(() => assignGuardrail(parts, actorOf(request), id, assignees)) };
  };
  const unassign = async (request: FastifyRequest, { kind, read }: Side) => {
    const assignees = [{ kind, ids: read(request.body) }];
    const id = pathParam(request, 'id');
    return { unassigned_count: await callStore(() => unassignGuardrail(parts, actorOf(request), id, assignees)) };
  };
  return {
    listKeyAssignments: (request) => list(request, keySide),
    listGuardrailKeys: (request) => list(request, keySide, pathParam(request, 'id')),
    assignKeys: (request) => assign(request, keySide),
    unassignKeys: (request) => unassign(request, keySide),
    listMemberAssignments: (request) => list(request, memberSide),
    listGuardrailMembers: (request) => list(request, memberSide, pathParam(request, 'id')),
    assignMembers: (request) => assign(request, memberSide),
    unassignMembers: (request) => unassign(request, memberSide),
  };
}
