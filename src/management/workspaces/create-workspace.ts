import { randomUUID } from 'node:crypto';
import { type WorkspaceDetails, defaultWorkspaceSettings } from '../../platform/storage/ports/workspaces.ts';
import { applyChange } from '../apply-change.ts';
import { findModules, rejectUnknownModules } from '../check-module-plugins.ts';
import { listChanges } from '../list-changes.ts';
import type { Actor, Edit, ManagementParts } from '../parts.ts';
import { rejectForeignKeys, rejectTakenNames } from './check-workspace.ts';
import { describeWorkspaceEvent } from './find-workspace.ts';
import type { CreateWorkspaceBody } from './schema.ts';
import { readWorkspaceSettings, writeWorkspaceSettings } from './write-workspace.ts';

/** @throws {GatewayError} `invalid_request` if the name or the slug is taken */
export const createWorkspace = async (
  parts: ManagementParts,
  actor: Actor,
  body: CreateWorkspaceBody,
): Promise<WorkspaceDetails> => {
  rejectUnknownModules(body.default_plugins, await findModules(parts, body.default_plugins));
  return applyChange(parts, actor, (edit) => insertWorkspace(edit, body));
};

/**
 * Creates a workspace as a step of a change.
 *
 * @throws {GatewayError} `invalid_request` if the name or the slug is taken
 */
export async function insertWorkspace(
  { transaction, nowMs }: Edit,
  { name, slug, ...settings }: CreateWorkspaceBody,
): Promise<WorkspaceDetails> {
  const created: WorkspaceDetails = {
    id: randomUUID(),
    name,
    slug,
    createdAtMs: nowMs,
    updatedAtMs: null,
    settings: readWorkspaceSettings(settings, defaultWorkspaceSettings),
  };
  await rejectTakenNames(transaction, created);
  await rejectForeignKeys(transaction, created);
  await transaction.saveWorkspace(created);
  await transaction.record(
    describeWorkspaceEvent('workspace.create', created, listChanges(undefined, writeWorkspaceSettings(created))),
  );
  return created;
}
