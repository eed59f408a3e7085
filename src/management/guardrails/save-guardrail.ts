import { invalidRequest } from '../../domain/errors.ts';
import type { FieldChange } from '../../platform/storage/ports/audit.ts';
import type { GuardrailRecord } from '../../platform/storage/ports/guardrails.ts';
import type { Edit } from '../parts.ts';

/** Stores a guardrail, with its audit entry. */
export async function storeGuardrail(
  { transaction }: Edit,
  action: string,
  guardrail: GuardrailRecord,
  changes: Record<string, FieldChange>,
): Promise<void> {
  await transaction.saveGuardrail(guardrail);
  await transaction.record(describeGuardrailEvent(action, guardrail, changes));
}

/**
 * Rejects an amount without a window, and a window without an amount.
 *
 * @throws {GatewayError} `invalid_request`
 * @see docs/guides/guardrails.md#rules
 */
export function rejectHalfLimit({ limitNanoUsd, resetInterval }: GuardrailRecord): void {
  if ((limitNanoUsd === null) === (resetInterval === null)) return;
  const [given, missing] = limitNanoUsd === null ? ['reset_interval', 'limit_usd'] : ['limit_usd', 'reset_interval'];
  throw invalidRequest([
    { path: missing!, message: `\`${missing}\` is missing beside \`${given}\`: send both, or null for both.` },
  ]);
}

export const describeGuardrailEvent = (
  action: string,
  { id, workspaceId }: GuardrailRecord,
  changes: Record<string, FieldChange>,
) => ({
  action,
  objectKind: 'guardrail',
  objectId: id,
  workspaceId,
  changes,
});
