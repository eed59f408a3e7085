import { GatewayError } from '../../domain/errors.ts';
import type { FieldChange, WorkspaceDetails } from '../../platform/storage/storage.ts';

/** A workspace by its id or slug. @throws {GatewayError} `not_found` */
export async function getWorkspace(
  from: { findWorkspace(id: string): Promise<WorkspaceDetails | undefined> },
  id: string,
): Promise<WorkspaceDetails> {
  const workspace = await from.findWorkspace(id);
  if (!workspace) throw new GatewayError('not_found', `There is no workspace with the id or slug ${id.slice(0, 100)}.`);
  return workspace;
}

export const happeningOf = (action: string, { id }: WorkspaceDetails, changes: Record<string, FieldChange>) => ({
  ...{ action, objectKind: 'workspace', objectId: id, workspaceId: id, changes },
});
