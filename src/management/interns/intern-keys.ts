import { createKeyLabel, createKeyText, hashKey } from '../../access/key-text.ts';
import type { Intern } from '../../domain/intern.ts';
import { defaultKeySettings, type KeyRecord } from '../../platform/storage/ports/keys.ts';
import type { JobLease } from '../../platform/storage/ports/jobs.ts';
import { applyChange } from '../apply-change.ts';
import { describeKeyEvent, saveNewKey } from '../keys/save-key.ts';
import { writeKeySettings } from '../keys/write-key.ts';
import { listChanges } from '../list-changes.ts';
import type { Actor, Edit, ManagementParts } from '../parts.ts';

/** The gateway itself. */
const noActor: Actor = { keyHash: null };

/**
 * Creates the inference key of an intern, and deletes its earlier ones. Budgets, limits and guardrails of its creator and
 * its workspace apply to it.
 *
 * @returns the text of the key, which is not stored; undefined: the lease is lost
 */
export const issueInternKey = (
  parts: ManagementParts,
  intern: Intern,
  lease: JobLease,
): Promise<{ apiKey: string } | undefined> =>
  applyChange(parts, noActor, async (edit) => {
    if (!(await edit.transaction.lockJob(lease))) return undefined;
    await deleteKeys(edit, intern.id);
    const apiKey = createKeyText('inference');
    const key: KeyRecord = {
      ...defaultKeySettings,
      hash: hashKey(apiKey),
      name: `intern ${intern.name}`,
      label: createKeyLabel(apiKey),
      kind: 'member',
      workspaceId: intern.workspaceId,
      memberId: intern.creatorId,
      disabled: false,
      createdAtMs: edit.nowMs,
      creatorUserId: intern.creatorId,
      internId: intern.id,
    };
    await saveNewKey(edit, key);
    return { apiKey };
  });

/** Deletes the keys of an intern. @returns whether the lease is valid */
export const revokeInternKeys = (parts: ManagementParts, internId: string, lease: JobLease): Promise<boolean> =>
  applyChange(parts, noActor, async (edit) => {
    if (!(await edit.transaction.lockJob(lease))) return false;
    await deleteKeys(edit, internId);
    return true;
  });

async function deleteKeys({ transaction }: Edit, internId: string): Promise<void> {
  for (const key of await transaction.deleteInternKeys(internId)) {
    await transaction.record(describeKeyEvent('key.delete', key, listChanges(writeKeySettings(key), undefined)));
  }
}
