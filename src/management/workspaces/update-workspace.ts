import type { WorkspaceDetails } from '../../platform/storage/ports/workspaces.ts';
import { applyChange } from '../apply-change.ts';
import { findModules, rejectUnknownModules } from '../check-module-plugins.ts';
import { listChanges } from '../list-changes.ts';
import type { Actor, ManagementParts } from '../parts.ts';
import { rejectForeignKeys, rejectTakenNames } from './check-workspace.ts';
import { describeWorkspaceEvent, getWorkspace } from './find-workspace.ts';
import type { UpdateWorkspaceBody } from './schema.ts';
import { readWorkspaceSettings, writeWorkspaceSettings } from './write-workspace.ts';

/**
 * Changes the settings that the body names. If nothing differs, the workspace stays as it is.
 *
 * @param idOrSlug of the workspace
 * @throws {GatewayError} `not_found`; `invalid_request` if the name or the slug is taken
 */
export const updateWorkspace = async (
  parts: ManagementParts,
  actor: Actor,
  idOrSlug: string,
  { name, slug, ...settings }: UpdateWorkspaceBody,
): Promise<WorkspaceDetails> => {
  rejectUnknownModules(settings.default_plugins, await findModules(parts, settings.default_plugins));
  return applyChange(parts, actor, async ({ transaction, nowMs }) => {
    const before = await getWorkspace(transaction, idOrSlug);
    const after: WorkspaceDetails = {
      ...before,
      name: name ?? before.name,
      slug: slug ?? before.slug,
      updatedAtMs: nowMs,
      settings: readWorkspaceSettings(settings, before.settings),
    };
    const changes = listChanges(writeWorkspaceSettings(before), writeWorkspaceSettings(after));
    if (Object.keys(changes).length === 0) return before;
    await rejectTakenNames(transaction, after);
    await rejectForeignKeys(transaction, after, before);
    await transaction.saveWorkspace(after);
    await transaction.record(describeWorkspaceEvent('workspace.update', after, changes));
    return after;
  });
};
