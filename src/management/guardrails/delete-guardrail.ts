import type { GuardrailRecord } from '../../platform/storage/ports/guardrails.ts';
import { applyChange } from '../apply-change.ts';
import { listChanges } from '../list-changes.ts';
import type { Actor, ManagementParts } from '../parts.ts';
import { getGuardrail } from './find-guardrail.ts';
import { describeGuardrailEvent } from './save-guardrail.ts';
import { writeGuardrailSettings } from './write-guardrail.ts';

/**
 * Deletes a guardrail. A default guardrail is empty afterwards.
 *
 * @returns the guardrail as it was
 * @throws {GatewayError} `not_found`
 */
export const deleteGuardrail = (parts: ManagementParts, actor: Actor, id: string): Promise<GuardrailRecord> =>
  applyChange(parts, actor, async ({ transaction }) => {
    const guardrail = await getGuardrail(transaction, id);
    if (!(await transaction.findGuardrail(id))) return guardrail; // a default guardrail that was never changed
    await transaction.deleteGuardrail(id);
    const changes = listChanges(writeGuardrailSettings(guardrail), undefined);
    await transaction.record(describeGuardrailEvent('guardrail.delete', guardrail, changes));
    return guardrail;
  });
