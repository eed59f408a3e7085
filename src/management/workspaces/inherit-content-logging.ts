import { deriveKeyNumber } from '../../access/key-text.ts';
import { listChanges } from '../list-changes.ts';
import type { Edit } from '../parts.ts';
import { describeWorkspaceEvent } from './find-workspace.ts';
import { writeWorkspaceSettings } from './write-workspace.ts';

/** If the workspace keeps the contents of certain keys and this is one of them, keeps those of its replacement, too. */
export async function inheritContentLogging(
  { transaction, nowMs }: Edit,
  { workspaceId, hash }: { workspaceId: string; hash: string },
  newHash: string,
): Promise<void> {
  const before = await transaction.findWorkspace(workspaceId);
  const ids = before?.settings.ioLoggingApiKeyIds;
  if (!before || !ids?.includes(deriveKeyNumber(hash))) return;
  const settings = { ...before.settings, ioLoggingApiKeyIds: [...ids, deriveKeyNumber(newHash)] };
  const after = { ...before, updatedAtMs: nowMs, settings };
  await transaction.saveWorkspace(after);
  await transaction.record(
    describeWorkspaceEvent(
      'workspace.update',
      after,
      listChanges(writeWorkspaceSettings(before), writeWorkspaceSettings(after)),
    ),
  );
}
