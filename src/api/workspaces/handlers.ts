import { createWorkspace } from '../../management/workspaces/create-workspace.ts';
import { deleteWorkspace } from '../../management/workspaces/delete-workspace.ts';
import { findUnknownModels } from '../../management/workspaces/find-unknown-models.ts';
import { getWorkspace } from '../../management/workspaces/find-workspace.ts';
import {
  checkCreateWorkspace,
  checkUpdateWorkspace,
  type WorkspaceSettingsBody,
} from '../../management/workspaces/schema.ts';
import { updateWorkspace } from '../../management/workspaces/update-workspace.ts';
import { writeWorkspace } from '../../management/workspaces/write-workspace.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { WorkspaceDetails } from '../../platform/storage/ports/workspaces.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { actorOf, type ManagementApiParts, type ManagementHandler, pathParam } from '../management/route-handler.ts';

/** @see docs/reference/management.md#workspaces */
export function createWorkspaceHandlers(
  parts: ManagementApiParts,
): Record<
  'listWorkspaces' | 'createWorkspace' | 'findWorkspace' | 'updateWorkspace' | 'deleteWorkspace',
  ManagementHandler
> {
  const { management } = parts;
  const write = (workspace: WorkspaceDetails, body: WorkspaceSettingsBody) => {
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
      const workspace = await callStore(() => createWorkspace(parts, actorOf(request), body));
      reply.code(201);
      return write(workspace, body);
    },

    async findWorkspace(request) {
      const workspace = await callStore(() => getWorkspace(management, pathParam(request, 'id')));
      return { data: writeWorkspace(workspace) };
    },

    async updateWorkspace(request) {
      const body = checkUpdateWorkspace(request.body);
      const workspace = await callStore(() => updateWorkspace(parts, actorOf(request), pathParam(request, 'id'), body));
      return write(workspace, body);
    },

    async deleteWorkspace(request) {
      const isDefaultConfirmed = readQuery(
        request,
        (reader) => reader.word('confirm_default_workspace_deletion', ['true', 'false']) === 'true',
      );
      const howToConfirm = 'send confirm_default_workspace_deletion=true';
      await callStore(() =>
        deleteWorkspace(parts, actorOf(request), pathParam(request, 'id'), { isDefaultConfirmed, howToConfirm }),
      );
      return { deleted: true };
    },
  };
}
