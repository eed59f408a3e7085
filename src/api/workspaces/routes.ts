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
import { actorOf, type ManagementApiParts, managementRoutes } from '../management/route.ts';
import { pageQuery, wordParameter } from '../../openapi/parameters.ts';
import { deleted } from '../../openapi/shapes.ts';
import { oneWorkspace, savedWorkspace, workspaceList } from './shapes.ts';

const route = managementRoutes('Workspaces');

/** @see docs/reference/management.md#workspaces */
export const workspaceRoutes = [
  route('GET', '/workspaces', {
    id: 'listWorkspaces',
    summary: 'List the workspaces',
    query: pageQuery,
    response: { description: 'A page of workspaces.', schema: workspaceList },
    handle: async (parts, { request }) => {
      const page = readQuery(request, readPage);
      const { rows, total } = await callStore(() => parts.management.listWorkspaces(page));
      return { data: rows.map(writeWorkspace), total_count: total };
    },
  }),
  route('POST', '/workspaces', {
    id: 'createWorkspace',
    summary: 'Create a workspace',
    body: { check: checkCreateWorkspace, example: { name: 'Research', slug: 'research' } },
    response: { status: 201, description: 'The workspace.', schema: savedWorkspace },
    statuses: [409],
    handle: async (parts, { request, body }) => {
      const workspace = await callStore(() => createWorkspace(parts, actorOf(request), body));
      return write(parts, workspace, body);
    },
  }),
  route('GET', '/workspaces/:id', {
    id: 'findWorkspace',
    summary: 'Find a workspace',
    response: { description: 'The workspace.', schema: oneWorkspace },
    handle: async (parts, { params }) => {
      const workspace = await callStore(() => getWorkspace(parts.management, params.id));
      return { data: writeWorkspace(workspace) };
    },
  }),
  route('PATCH', '/workspaces/:id', {
    id: 'updateWorkspace',
    summary: 'Change a workspace',
    body: { check: checkUpdateWorkspace, example: { default_text_model: 'simulator/echo' } },
    response: { description: 'The workspace.', schema: savedWorkspace },
    statuses: [409],
    handle: async (parts, { request, params, body }) => {
      const workspace = await callStore(() => updateWorkspace(parts, actorOf(request), params.id, body));
      return write(parts, workspace, body);
    },
  }),
  route('DELETE', '/workspaces/:id', {
    id: 'deleteWorkspace',
    summary: 'Delete a workspace',
    query: {
      confirm_default_workspace_deletion: wordParameter('`true` is required for the default one.', 'true', 'false'),
    },
    response: deleted,
    statuses: [409],
    handle: async (parts, { request, params }) => {
      const isDefaultConfirmed = readQuery(
        request,
        (reader) => reader.word('confirm_default_workspace_deletion', ['true', 'false']) === 'true',
      );
      const howToConfirm = 'send confirm_default_workspace_deletion=true';
      await callStore(() => deleteWorkspace(parts, actorOf(request), params.id, { isDefaultConfirmed, howToConfirm }));
      return { deleted: true as const };
    },
  }),
];

function write(parts: ManagementApiParts, workspace: WorkspaceDetails, body: WorkspaceSettingsBody) {
  const context = parts.routingContext();
  const warnings = context ? findUnknownModels(body, workspace.id, context) : [];
  return { data: writeWorkspace(workspace), ...(warnings.length > 0 && { warnings }) };
}
