import { DEFAULT_WORKSPACE } from '../../access/bootstrap.ts';
import { type Issue, invalidRequest } from '../../domain/errors.ts';
import type { ManagementTransaction } from '../../platform/storage/ports/management.ts';
import type { WorkspaceDetails } from '../../platform/storage/ports/workspaces.ts';
import { applyChange } from '../apply-change.ts';
import { listChanges } from '../list-changes.ts';
import type { Actor, ManagementParts } from '../parts.ts';
import { describeWorkspaceEvent, getWorkspace } from './find-workspace.ts';
import { writeWorkspaceSettings } from './write-workspace.ts';

export interface DeletionOptions {
  /** Whether the workspace may be the default one. */
  isDefaultConfirmed: boolean;
  /** How to confirm it, for the message, such as `say --yes`. */
  howToConfirm: string;
}

/**
 * Deletes a workspace.
 *
 * @param idOrSlug of the workspace
 * @returns the workspace as it was
 * @throws {GatewayError} `not_found`; `invalid_request` if it has keys or interns, or is the default workspace and unconfirmed
 */
export const deleteWorkspace = (
  parts: ManagementParts,
  actor: Actor,
  idOrSlug: string,
  options: DeletionOptions,
): Promise<WorkspaceDetails> =>
  applyChange(parts, actor, async ({ transaction }) => {
    const workspace = await getWorkspace(transaction, idOrSlug);
    await rejectDeletion(transaction, workspace, options);
    await transaction.deleteWorkspace(workspace.id);
    await transaction.record(
      describeWorkspaceEvent('workspace.delete', workspace, listChanges(writeWorkspaceSettings(workspace), undefined)),
    );
    return workspace;
  });

async function rejectDeletion(
  transaction: ManagementTransaction,
  workspace: WorkspaceDetails,
  { isDefaultConfirmed, howToConfirm }: DeletionOptions,
): Promise<void> {
  const issues: Issue[] = [];
  const keys = await transaction.countKeys(workspace.id);
  if (keys > 0) {
    const count = keys === 1 ? '1 key' : `${keys} keys`;
    issues.push({
      path: '',
      message: `The workspace "${workspace.slug}" has ${count}, disabled ones included; delete them first.`,
    });
  }
  const interns = await transaction.countInterns(workspace.id);
  if (interns > 0) {
    const count = interns === 1 ? '1 intern' : `${interns} interns`;
    issues.push({ path: '', message: `The workspace "${workspace.slug}" has ${count}; delete them first.` });
  }
  const standard = await transaction.findDefaultWorkspace(DEFAULT_WORKSPACE);
  if (standard?.id === workspace.id && !isDefaultConfirmed) {
    const message = `${workspace.slug} is the default workspace; ${howToConfirm} to delete it.`;
    issues.push({ path: 'confirm_default_workspace_deletion', message });
  }
  if (issues.length > 0) throw invalidRequest(issues);
}
