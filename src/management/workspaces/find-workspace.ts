import { GatewayError } from '../../domain/errors.ts';
import type { FieldChange } from '../../platform/storage/ports/audit.ts';
import type { WorkspaceDetails } from '../../platform/storage/ports/workspaces.ts';

/** Returns a workspace by its id or slug. @throws {GatewayError} `not_found` */
export async function getWorkspace(
  from: { findWorkspace(id: string): Promise<WorkspaceDetails | undefined> },
  id: string,
): Promise<WorkspaceDetails> {
  const workspace = await from.findWorkspace(id);
  if (!workspace) throw new GatewayError('not_found', `There is no workspace with the id or slug ${id.slice(0, 100)}.`);
  return workspace;
}

/**
 * Explains why a `workspace_id` of a body names no workspace. Paths accept slugs, bodies do not.
 *
 * @param found the workspace with that id or slug
 */
export function explainUnknownWorkspace(sent: string, found: WorkspaceDetails | undefined): string {
  const shown = JSON.stringify(sent);
  if (!found) return `\`workspace_id\` names no workspace: ${shown}.`;
  return `\`workspace_id\` must be an id, and ${shown} is a slug; send ${JSON.stringify(found.id)}.`;
}

export const describeWorkspaceEvent = (
  action: string,
  { id }: WorkspaceDetails,
  changes: Record<string, FieldChange>,
) => ({
  action,
  objectKind: 'workspace',
  objectId: id,
  workspaceId: id,
  changes,
});
