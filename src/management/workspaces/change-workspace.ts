import { randomUUID } from 'node:crypto';
import { DEFAULT_WORKSPACE } from '../../access/bootstrap.ts';
import { deriveKeyNumber } from '../../access/key-text.ts';
import { type Issue, invalidRequest } from '../../domain/errors.ts';
import type { ManagementTransaction } from '../../platform/storage/ports/management.ts';
import { defaultWorkspaceSettings, type WorkspaceDetails } from '../../platform/storage/ports/workspaces.ts';
import { listChanges } from '../list-changes.ts';
import { describeWorkspaceEvent } from './find-workspace.ts';
import type { CreateWorkspaceBody, UpdateWorkspaceBody } from './schema.ts';
import { readWorkspaceSettings, writeWorkspaceSettings } from './write-workspace.ts';

// What the management API and the command line do to workspaces, each with its line in the audit log.

export async function createWorkspace(
  transaction: ManagementTransaction,
  { name, slug, ...settings }: CreateWorkspaceBody,
  nowMs: number,
): Promise<WorkspaceDetails> {
  const created: WorkspaceDetails = {
    id: randomUUID(),
    name,
    slug,
    createdAtMs: nowMs,
    updatedAtMs: null,
    settings: readWorkspaceSettings(settings, defaultWorkspaceSettings),
  };
  await refuseTaken(transaction, created);
  await refuseForeignKeys(transaction, created);
  await transaction.saveWorkspace(created);
  await transaction.record(
    describeWorkspaceEvent('workspace.create', created, listChanges(undefined, writeWorkspaceSettings(created))),
  );
  return created;
}

/** Saves what differs; when nothing does, the workspace stays as it is. */
export async function updateWorkspace(
  transaction: ManagementTransaction,
  before: WorkspaceDetails,
  { name, slug, ...settings }: UpdateWorkspaceBody,
  nowMs: number,
): Promise<WorkspaceDetails> {
  const after: WorkspaceDetails = {
    ...before,
    name: name ?? before.name,
    slug: slug ?? before.slug,
    updatedAtMs: nowMs,
    settings: readWorkspaceSettings(settings, before.settings),
  };
  const changes = listChanges(writeWorkspaceSettings(before), writeWorkspaceSettings(after));
  if (Object.keys(changes).length === 0) return before;
  await refuseTaken(transaction, after);
  await refuseForeignKeys(transaction, after, before);
  await transaction.saveWorkspace(after);
  await transaction.record(describeWorkspaceEvent('workspace.update', after, changes));
  return after;
}

/** @throws {GatewayError} `invalid_request` when it has keys, or is the default one and nobody has `confirmed` that */
export async function deleteWorkspace(
  transaction: ManagementTransaction,
  workspace: WorkspaceDetails,
  confirmed: boolean,
): Promise<void> {
  await refuseDeletion(transaction, workspace, confirmed);
  await transaction.deleteWorkspace(workspace.id);
  await transaction.record(
    describeWorkspaceEvent('workspace.delete', workspace, listChanges(writeWorkspaceSettings(workspace), undefined)),
  );
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

/**
 * A number that is no key's would keep nothing, and seem to. What was in the list before may stay: keys are deleted.
 *
 * @throws {GatewayError} `invalid_request` that names those which are no keys of the workspace
 */
async function refuseForeignKeys(
  transaction: ManagementTransaction,
  { id, settings }: WorkspaceDetails,
  before?: WorkspaceDetails,
): Promise<void> {
  const wanted = settings.ioLoggingApiKeyIds ?? [];
  const known = new Set(before?.settings.ioLoggingApiKeyIds);
  if (wanted.every((number) => known.has(number))) return;
  const page = { workspaceId: id, includeDisabled: true, offset: 0, limit: Number.MAX_SAFE_INTEGER };
  for (const { hash } of await transaction.listKeys(page)) known.add(deriveKeyNumber(hash));
  const issues = wanted.flatMap((number, index): Issue[] => {
    if (known.has(number)) return [];
    const message = `${number} is the \`id\` of no key of this workspace; GET /keys?workspace_id=${id} lists them.`;
    return [{ path: `io_logging_api_key_ids[${index}]`, message }];
  });
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
