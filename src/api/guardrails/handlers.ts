import type { FastifyRequest } from 'fastify';
import { currentTimeMs } from '../../domain/clock.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { GuardrailAssignee, GuardrailRecord, ListedAssignment } from '../../platform/storage/ports/guardrails.ts';
import { applyChange } from '../management/change.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { type ManagementHandler, type ManagementParts, pathParam } from '../management/route-handler.ts';
import {
  assignGuardrail,
  createGuardrail,
  deleteGuardrail,
  unassignGuardrail,
  updateGuardrail,
} from '../../management/guardrails/change-guardrail.ts';
import { getGuardrail } from '../../management/guardrails/find-guardrail.ts';
import { findUnknownEntries } from '../../management/guardrails/find-unknown.ts';
import { listGuardrailBudgets } from '../../management/guardrails/list-budgets.ts';
import {
  checkCreateGuardrail,
  checkKeyHashes,
  checkMemberIds,
  checkUpdateGuardrail,
  type UpdateGuardrailBody,
} from '../../management/guardrails/schema.ts';
import { rejectUnsupportedFields } from '../../management/guardrails/unsupported-fields.ts';
import {
  writeGuardrail,
  writeKeyAssignment,
  writeMemberAssignment,
} from '../../management/guardrails/write-guardrail.ts';

/** What keys and members may use. @see docs/reference/management.md#guardrails */
export function createGuardrailHandlers(
  parts: ManagementParts,
): Record<
  | 'listGuardrails'
  | 'createGuardrail'
  | 'findGuardrail'
  | 'updateGuardrail'
  | 'deleteGuardrail'
  | 'listGuardrailBudgets',
  ManagementHandler
> {
  const { management } = parts;
  const write = (guardrail: GuardrailRecord, body: UpdateGuardrailBody) => {
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
      rejectUnsupportedFields(body);
      const guardrail = await applyChange(parts, request, (transaction, nowMs) =>
        createGuardrail(transaction, body, nowMs),
      );
      reply.code(201);
      return write(guardrail, body);
    },

    findGuardrail: (request) =>
      callStore(async () => ({ data: writeGuardrail(await getGuardrail(management, pathParam(request, 'id'))) })),

    async updateGuardrail(request) {
      const body = checkUpdateGuardrail(request.body);
      rejectUnsupportedFields(body);
      const guardrail = await applyChange(parts, request, async (transaction, nowMs) =>
        updateGuardrail(transaction, await getGuardrail(transaction, pathParam(request, 'id')), body, nowMs),
      );
      return write(guardrail, body);
    },

    async deleteGuardrail(request) {
      await applyChange(parts, request, async (transaction) =>
        deleteGuardrail(transaction, await getGuardrail(transaction, pathParam(request, 'id'))),
      );
      return { deleted: true };
    },

    async listGuardrailBudgets(request) {
      const page = readQuery(request, readPage);
      return callStore(async () => {
        const guardrail = await getGuardrail(management, pathParam(request, 'id'));
        const { rows, total } = await listGuardrailBudgets(parts, guardrail.id, page, currentTimeMs());
        return { data: rows, total_count: total, include_byok_in_budgets: guardrail.includeByokInBudgets };
      });
    },
  };
}

/** Where keys and members differ. */
interface Side {
  kind: GuardrailAssignee['kind'];
  /** Of the body. */
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
  read: (body) => checkMemberIds(body).member_user_ids,
  write: writeMemberAssignment,
};

/** Which guardrail a key or a member has: at most one. */
export function createAssignmentHandlers(
  parts: ManagementParts,
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
    const ids = read(request.body);
    const count = await applyChange(parts, request, async (transaction, nowMs) => {
      const guardrail = await getGuardrail(transaction, pathParam(request, 'id'));
      return assignGuardrail(transaction, guardrail, { kind, field, ids }, nowMs);
    });
    return { assigned_count: count };
  };
  const unassign = async (request: FastifyRequest, { kind, read }: Side) => {
    const ids = read(request.body);
    const count = await applyChange(parts, request, async (transaction) =>
      unassignGuardrail(transaction, await getGuardrail(transaction, pathParam(request, 'id')), kind, ids),
    );
    return { unassigned_count: count };
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
