import { createKeyLabel, createKeyText, hashKey } from '../../access/key-text.ts';
import { invalidRequest } from '../../domain/errors.ts';
import type { KeyRecord } from '../../platform/storage/ports/keys.ts';
import { applyChange } from '../apply-change.ts';
import { assignGuardrailTo } from '../guardrails/assign-guardrail.ts';
import type { Actor, ManagementParts } from '../parts.ts';
import { inheritContentLogging } from '../workspaces/inherit-content-logging.ts';
import { requireKey } from './find-key.ts';
import { saveKey, saveNewKey } from './save-key.ts';

export interface RotatedKey {
  /** The old key as it is now. */
  previous: KeyRecord;
  key: KeyRecord;
  /** The text of the new key. Only its hash is stored. */
  text: string;
}

/**
 * Replaces a key with a new one that has the same settings, the same guardrail and the same content logging.
 *
 * @param graceSeconds how long the old key stays valid; 0: it is disabled at once
 * @throws {GatewayError} `not_found`; `invalid_request` if the old key is disabled or has expired
 */
export const rotateKey = (
  parts: ManagementParts,
  actor: Actor,
  hash: string,
  { graceSeconds }: { graceSeconds: number },
): Promise<RotatedKey> =>
  applyChange(parts, actor, async (edit) => {
    const { transaction, nowMs } = edit;
    const old = await requireKey(transaction, actor, hash);
    rejectDead(old, nowMs);
    const text = createKeyText(old.kind === 'management' ? 'management' : 'inference');
    const newHash = hashKey(text);
    const key: KeyRecord = {
      ...old,
      hash: newHash,
      label: createKeyLabel(text),
      createdAtMs: nowMs,
      updatedAtMs: null,
    };
    await saveNewKey(edit, key);
    const guardrailId = await transaction.findAssigned({ kind: 'key', holder: hash });
    if (guardrailId !== undefined) {
      const guardrail = { id: guardrailId, workspaceId: old.workspaceId };
      await assignGuardrailTo(edit, { kind: 'key', holder: newHash }, guardrail);
    }
    await inheritContentLogging(edit, old, newHash);
    const endsAtMs = Math.min(old.expiresAtMs ?? Number.POSITIVE_INFINITY, nowMs + graceSeconds * 1000);
    const ended: KeyRecord = graceSeconds === 0 ? { ...old, disabled: true } : { ...old, expiresAtMs: endsAtMs };
    const more = { replaced_by: { before: null, after: newHash } };
    return { previous: await saveKey(edit, 'key.rotate', { before: old, after: ended, more }), key, text };
  });

/** The new key would inherit that it is disabled or has expired. */
function rejectDead(key: KeyRecord, nowMs: number): void {
  const isOver = key.expiresAtMs !== null && key.expiresAtMs <= nowMs;
  if (!key.disabled && !isOver) return;
  const message = key.disabled
    ? 'The key is disabled: enable it first, or create a new one.'
    : `The key expired on ${new Date(key.expiresAtMs!).toISOString()}: create a new one.`;
  throw invalidRequest([{ path: '', message }]);
}
