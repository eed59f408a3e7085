import { callStore } from '../../platform/storage/call-store.ts';
import type { WorkspaceDetails } from '../../platform/storage/ports/workspaces.ts';
import { applyChange } from '../management/change.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { type ManagementHandler, type ManagementParts, pathParam } from '../management/route-handler.ts';
import { createWorkspace, deleteWorkspace, updateWorkspace } from '../../management/workspaces/change-workspace.ts';
import { findUnknownModels } from '../../management/workspaces/find-unknown-models.ts';
import { getWorkspace } from '../../management/workspaces/find-workspace.ts';
import {
  checkCreateWorkspace,
  checkUpdateWorkspace,
  type UpdateWorkspaceBody,
} from '../../management/workspaces/schema.ts';
import { writeWorkspace } from '../../management/workspaces/write-workspace.ts';

/** @see docs/reference/management.md#workspaces */
export function createWorkspaceHandlers(
  parts: ManagementParts,
): Record<
  'listWorkspaces' | 'createWorkspace' | 'findWorkspace' | 'updateWorkspace' | 'deleteWorkspace',
  ManagementHandler
> {
  const { management } = parts;
  const write = (workspace: WorkspaceDetails, body: UpdateWorkspaceBody) => {
    const warnings = findUnknownModels(body, workspace.id, parts.routingContext());
    return { data: writeWorkspace(workspace), ...(warnings.length > 0 && { warnings }) };
  };
  return {
    async listWorkspaces(request) {
      const page = readQuery(request, readPage);
      const { rows, total } = await callStore(() => management.listWorkspaces(page));
      return { data: rows.map(writeWorkspace), total_count: total };
    },

    async createWorkspace(request, reply) {
      const body = checkCreateWorkspace(request.body);
      const workspace = await applyChange(parts, request, (transaction, nowMs) =>
        createWorkspace(transaction, body, nowMs),
      );
      reply.code(201);
      return write(workspace, body);
    },

    findWorkspace: (request) =>
      callStore(async () => ({ data: writeWorkspace(await getWorkspace(management, pathParam(request, 'id'))) })),

    async updateWorkspace(request) {
      const body = checkUpdateWorkspace(request.body);
      const workspace = await applyChange(parts, request, async (transaction, nowMs) =>
        updateWorkspace(transaction, await getWorkspace(transaction, pathParam(request, 'id')), body, nowMs),
      );
      return write(workspace, body);
    },

    async deleteWorkspace(request) {
      const confirmed = readQuery(
        request,
        (reader) => reader.word('confirm_default_workspace_deletion', ['true', 'false']) === 'true',
      );
      await applyChange(parts, request, async (transaction) =>
        deleteWorkspace(transaction, await getWorkspace(transaction, pathParam(request, 'id')), confirmed),
      );
      return { deleted: true };
    },
  };
}
