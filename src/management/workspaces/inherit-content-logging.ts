import { deriveKeyNumber } from '../../access/key-text.ts';
import type { ManagementTransaction } from '../../platform/storage/ports/management.ts';
import { listChanges } from '../list-changes.ts';
import { describeWorkspaceEvent } from './find-workspace.ts';
import { writeWorkspaceSettings } from './write-workspace.ts';

/** Where a workspace keeps contents of certain keys and a key of them is replaced, those of the new one are kept, too. */
export async function inheritContentLogging(
  transaction: ManagementTransaction,
  { workspaceId, hash }: { workspaceId: string; hash: string },
  newHash: string,
  nowMs: number,
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
