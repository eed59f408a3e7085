import type { KeyRecord } from '../../platform/storage/ports/keys.ts';
import { applyChange } from '../apply-change.ts';
import type { Actor, ManagementParts } from '../parts.ts';
import { requireKey } from './find-key.ts';
import { readKeySettings } from './read-key-settings.ts';
import { rejectManagementLimits, saveKey } from './save-key.ts';
import type { UpdateKeyBody } from './schema.ts';

/**
 * Changes the settings that the body names. If nothing differs, `after` is `before`.
 *
 * @throws {GatewayError} `not_found`; `invalid_request` if a management key gets a limit
 */
export const updateKey = (
  parts: ManagementParts,
  actor: Actor,
  hash: string,
  body: UpdateKeyBody,
): Promise<{ before: KeyRecord; after: KeyRecord }> =>
  applyChange(parts, actor, async (edit) => {
    const before = await requireKey(edit.transaction, actor, hash);
    const changed: KeyRecord = {
      ...before,
      ...readKeySettings(body, before),
      name: body.name ?? before.name,
      disabled: body.disabled ?? before.disabled,
    };
    rejectManagementLimits(changed);
    return { before, after: await saveKey(edit, 'key.update', { before, after: changed }) };
  });
