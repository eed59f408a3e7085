import { randomUUID } from 'node:crypto';
import { DEFAULT_WORKSPACE } from '../../access/bootstrap.ts';
import { type Issue, invalidRequest } from '../../domain/errors.ts';
import {
  defaultWorkspaceSettings,
  type ManagementTransaction,
  type WorkspaceDetails,
} from '../../platform/storage/storage.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { askStore, type Handler, listChanges, type ManagementParts, makeChange } from '../management/store.ts';
import { getWorkspace, happeningOf } from './find-workspace.ts';
import { checkCreateWorkspace, checkUpdateWorkspace } from './schema.ts';
import { readSettings, writeSettings, writeWorkspace } from './write-workspace.ts';

/** @see platform.md section 7, "Workspaces" */
export function createWorkspaceHandlers(
  parts: ManagementParts,
): Record<'listWorkspaces' | 'createWorkspace' | 'findWorkspace' | 'updateWorkspace' | 'deleteWorkspace', Handler> {
  const { management } = parts;
  return {
    async listWorkspaces(request) {
      const page = readQuery(request, readPage);
      const { rows, total } = await askStore(() => management.listWorkspaces(page));
      return { data: rows.map(writeWorkspace), total_count: total };
    },

    async createWorkspace(request, reply) {
      const { name, slug, ...settings } = checkCreateWorkspace(request.body);
      const workspace = await makeChange(parts, request, async (transaction, nowMs) => {
        const created: WorkspaceDetails = {
          id: randomUUID(),
          name,
          slug,
          createdAtMs: nowMs,
          updatedAtMs: null,
          settings: readSettings(settings, defaultWorkspaceSettings),
        };
        await refuseTaken(transaction, created);
        await transaction.saveWorkspace(created);
        const changes = listChanges(undefined, writeSettings(created));
        await transaction.record(happeningOf('workspace.create', created, changes));
        return created;
      });
      reply.code(201);
      return { data: writeWorkspace(workspace) };
    },

    findWorkspace: (request) =>
      askStore(async () => ({ data: writeWorkspace(await getWorkspace(management, request)) })),

    async updateWorkspace(request) {
      const { name, slug, ...settings } = checkUpdateWorkspace(request.body);
      const workspace = await makeChange(parts, request, async (transaction, nowMs) => {
        const before = await getWorkspace(transaction, request);
        const after: WorkspaceDetails = {
          ...before,
          name: name ?? before.name,
          slug: slug ?? before.slug,
          updatedAtMs: nowMs,
          settings: readSettings(settings, before.settings),
        };
        const changes = listChanges(writeSettings(before), writeSettings(after));
        if (Object.keys(changes).length === 0) return before;
        await refuseTaken(transaction, after);
        await transaction.saveWorkspace(after);
        await transaction.record(happeningOf('workspace.update', after, changes));
        return after;
      });
      return { data: writeWorkspace(workspace) };
    },

    async deleteWorkspace(request) {
      const confirmed = readQuery(
        request,
        (reader) => reader.word('confirm_default_workspace_deletion', ['true', 'false']) === 'true',
      );
      await makeChange(parts, request, async (transaction) => {
        const workspace = await getWorkspace(transaction, request);
        await refuseDeletion(transaction, workspace, confirmed);
        await transaction.deleteWorkspace(workspace.id);
        const changes = listChanges(writeSettings(workspace), undefined);
        await transaction.record(happeningOf('workspace.delete', workspace, changes));
      });
      return { deleted: true };
    },
  };
}

/** @throws {GatewayError} `invalid_request` when another workspace has the name or the slug */
async function refuseTaken(transaction: ManagementTransaction, { id, name, slug }: WorkspaceDetails): Promise<void> {
  const issues: Issue[] = [];
  const named = await transaction.findWorkspaceByName(name);
  if (named && named.id !== id) {
    issues.push({ path: 'name', message: `\`name\` belongs to another workspace: ${JSON.stringify(name)}.` });
  }
  const found = await transaction.findWorkspace(slug);
  if (found && found.id !== id) {
    issues.push({ path: 'slug', message: `\`slug\` belongs to another workspace: ${JSON.stringify(slug)}.` });
  }
  if (issues.length > 0) throw invalidRequest(issues);
}

async function refuseDeletion(
  transaction: ManagementTransaction,
  workspace: WorkspaceDetails,
  confirmed: boolean,
): Promise<void> {
  const issues: Issue[] = [];
  const keys = await transaction.countKeys(workspace.id);
  if (keys > 0) {
    const count = keys === 1 ? '1 key' : `${keys} keys`;
    issues.push({
      path: '',
      message: `The workspace ${workspace.slug} has ${count}, disabled ones included; delete them first.`,
    });
  }
  const standard = await transaction.findDefaultWorkspace(DEFAULT_WORKSPACE);
  if (standard?.id === workspace.id && !confirmed) {
    const message = `${workspace.slug} is the default workspace; send confirm_default_workspace_deletion=true to delete it.`;
    issues.push({ path: 'confirm_default_workspace_deletion', message });
  }
  if (issues.length > 0) throw invalidRequest(issues);
}
