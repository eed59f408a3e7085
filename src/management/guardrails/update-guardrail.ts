import type { GuardrailRecord } from '../../platform/storage/ports/guardrails.ts';
import { applyChange } from '../apply-change.ts';
import { listChanges } from '../list-changes.ts';
import type { Actor, ManagementParts } from '../parts.ts';
import { rejectBadFilters } from './check-filters.ts';
import { getGuardrail } from './find-guardrail.ts';
import { rejectHalfLimit, storeGuardrail } from './save-guardrail.ts';
import type { UpdateGuardrailBody } from './schema.ts';
import { rejectUnsupportedFields } from './unsupported-fields.ts';
import { readGuardrailSettings, writeGuardrailSettings } from './write-guardrail.ts';

/**
 * Changes what the body names. If nothing differs, the guardrail stays as it is. The first change of a default
 * guardrail stores it.
 *
 * @throws {GatewayError} `not_found`; `invalid_request` for an incomplete limit or a filter that cannot work; `not_offered`
 */
export const updateGuardrail = async (
  parts: ManagementParts,
  actor: Actor,
  id: string,
  body: UpdateGuardrailBody,
): Promise<GuardrailRecord> => {
  rejectUnsupportedFields(body);
  await rejectBadFilters(parts, body);
  return applyChange(parts, actor, async (edit) => {
    const before = await getGuardrail(edit.transaction, id);
    const after = readGuardrailSettings(body, before);
    rejectHalfLimit(after);
    const changes = listChanges(writeGuardrailSettings(before), writeGuardrailSettings(after));
    if (Object.keys(changes).length === 0) return before;
    const saved = { ...after, updatedAtMs: edit.nowMs };
    await storeGuardrail(edit, 'guardrail.update', saved, changes);
    return saved;
  });
};
