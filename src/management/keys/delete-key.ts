import type { KeyRecord } from '../../platform/storage/ports/keys.ts';
import { applyChange } from '../apply-change.ts';
import { listChanges } from '../list-changes.ts';
import type { Actor, ManagementParts } from '../parts.ts';
import { requireKey } from './find-key.ts';
import { describeKeyEvent } from './save-key.ts';
import { writeKeySettings } from './write-key.ts';

/** Deletes a key. Its ledger entries stay. @returns the key as it was @throws {GatewayError} `not_found` */
export const deleteKey = (parts: ManagementParts, actor: Actor, hash: string): Promise<KeyRecord> =>
  applyChange(parts, actor, async ({ transaction }) => {
    const key = await requireKey(transaction, actor, hash);
    await transaction.deleteKey(hash);
    await transaction.record(describeKeyEvent('key.delete', key, listChanges(writeKeySettings(key), undefined)));
    return key;
  });
