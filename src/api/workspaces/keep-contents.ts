import { numberKey } from '../../access/key-text.ts';
import type { ManagementTransaction } from '../../platform/storage/storage.ts';
import { listChanges } from '../management/change.ts';
import { happeningOf } from './find-workspace.ts';
import { writeSettings } from './write-workspace.ts';

/** Where a workspace keeps contents of certain keys and a key of them is replaced, those of the new one are kept, too. */
export async function handOnContents(
  transaction: ManagementTransaction,
  { workspaceId, hash }: { workspaceId: string; hash: string },
  newHash: string,
  nowMs: number,
): Promise<void> {
  const before = await transaction.findWorkspace(workspaceId);
  const ids = before?.settings.ioLoggingApiKeyIds;
  if (!before || !ids?.includes(numberKey(hash))) return;
  const settings = { ...before.settings, ioLoggingApiKeyIds: [...ids, numberKey(newHash)] };
  const after = { ...before, updatedAtMs: nowMs, settings };
  await transaction.saveWorkspace(after);
  await transaction.record(
    happeningOf('workspace.update', after, listChanges(writeSettings(before), writeSettings(after))),
  );
}
